// A prompt as the KV cache sees it: two prompts share cells as far as their keys agree.
#pragma once

#include <cstddef>
#include <vector>

#include "core/digest.h"
#include "core/ids.h"
#include "core/in_flight.h"
#include "core/prompt.h"

namespace tessera::generate {

/// One segment: text by its tokens, a visual one by the key of its features, which says file,
/// frame, size, tile and encoder.
struct PromptPiece {
  std::vector<TokenId> tokens;  // empty for a visual one
  Digest features;
  int n_tokens = 0;
  Position begin = 0;  // of its first token
  Position end = 0;    // of the token after it
};

struct PromptKey {
  TenantId tenant;
  bool shares = false;              // with other requests of its tenant
  std::vector<PromptPiece> pieces;  // one a segment of the prompt

  int n_tokens() const;
};

/// A place between two tokens of a prompt; never inside a visual segment.
struct PromptPlace {
  std::size_t piece = 0;  // the one that goes on here
  int n_in_piece = 0;     // tokens of it that lie before the place
  int n_tokens = 0;       // of the prompt that lie before it
  Position position = 0;  // of the token after it
};

PromptKey key_of(const InFlight& request);

/// Where two prompts part, at the latest before the last token of `prompt`: the scores of its first
/// output token come from there. The beginning for prompts of two tenants.
PromptPlace common_prefix(const PromptKey& prompt, const PromptKey& other);

/// As many tokens as two keys have in common, to their ends.
int n_common_tokens(const PromptKey& one, const PromptKey& other);

}  // namespace tessera::generate
