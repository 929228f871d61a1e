#include "generate/prompt_key.h"

#include <algorithm>

namespace tessera::generate {
namespace {

Position begin_of(const Segment& segment) {
  if (const auto* text = std::get_if<TextSegment>(&segment)) return text->first_position;
  const auto& positions = std::get<VisualSegment>(segment).positions;
  return positions.empty() ? 0 : positions.front()[0];
}

/// Tokens at the beginning of two pieces that are the same. A visual piece is the same or not.
int n_common(const PromptPiece& one, const PromptPiece& other) {
  if (one.tokens.empty() || other.tokens.empty()) {
    const bool same = one.tokens.empty() && other.tokens.empty() &&
                      one.features == other.features && one.n_tokens == other.n_tokens;
    return same ? one.n_tokens : 0;
  }
  const auto part = std::ranges::mismatch(one.tokens, other.tokens);
  return static_cast<int>(part.in1 - one.tokens.begin());
}

PromptPlace place_of_difference(const PromptKey& prompt, const PromptKey& other) {
  PromptPlace place;
  if (prompt.tenant != other.tenant || prompt.pieces.empty()) return place;
  place.position = prompt.pieces.front().begin;
  while (place.piece < prompt.pieces.size() && place.piece < other.pieces.size()) {
    const PromptPiece& piece = prompt.pieces[place.piece];
    const PromptPiece& beside = other.pieces[place.piece];
    const int n = n_common(piece, beside);
    place.n_tokens += n;
    if (n < piece.n_tokens || n < beside.n_tokens) {
      place.n_in_piece = n;
      place.position = n < piece.n_tokens ? piece.begin + n : piece.end;
      break;
    }
    ++place.piece;
    place.position = piece.end;
  }
  return place;
}

}  // namespace

int PromptKey::n_tokens() const {
  int n = 0;
  for (const PromptPiece& piece : pieces) n += piece.n_tokens;
  return n;
}

PromptKey key_of(const InFlight& request) {
  PromptKey key;
  key.tenant = request.tenant;
  key.shares = request.request.cache.scope == CachePolicy::Scope::kTenant;
  const auto& segments = request.prompt.segments;
  std::size_t n_visual = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    PromptPiece piece;
    piece.n_tokens = segment_tokens(segments[i]);
    piece.begin = begin_of(segments[i]);
    piece.end = i + 1 < segments.size() ? begin_of(segments[i + 1]) : request.prompt.n_positions;
    if (const auto* text = std::get_if<TextSegment>(&segments[i])) {
      piece.tokens = text->tokens;
    } else if (n_visual < request.feature_keys.size()) {
      piece.features = request.feature_keys[n_visual++];
    } else {
      key.shares = false;  // whose image it is nobody can say
    }
    key.pieces.push_back(std::move(piece));
  }
  return key;
}

PromptPlace common_prefix(const PromptKey& prompt, const PromptKey& other) {
  PromptPlace place = place_of_difference(prompt, other);
  if (place.n_tokens < prompt.n_tokens()) return place;
  // All of it: one token back, which is text.
  const PromptPiece& last = prompt.pieces.back();
  place.piece = prompt.pieces.size() - 1;
  place.n_in_piece = last.n_tokens - 1;
  place.position = last.begin + place.n_in_piece;
  --place.n_tokens;
  return place;
}

int n_common_tokens(const PromptKey& one, const PromptKey& other) {
  return place_of_difference(one, other).n_tokens;
}

}  // namespace tessera::generate
