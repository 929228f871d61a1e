// What a request would cost, without running it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/prompt.h"

namespace tessera {

struct PlanReport {
  std::vector<ImagePlan> images;  // in order of appearance; each frame of a video is one
  int n_text_tokens = 0;
  int n_visual_tokens = 0;
  double encode_flops = 0;   // vision tower, all tiles
  double prefill_flops = 0;  // language model, visual + text tokens
  double kv_bytes = 0;       // f16 keys and values of the prompt

  /// What the stages would take on an idle server, without what is known already, by the rates of
  /// the requests before; unset = none was measured yet.
  std::optional<double> media_decode_seconds;
  std::optional<double> encode_seconds;
  std::optional<double> prefill_seconds;
};

/// For people: "1536×1536 → 616×616, 484 tokens, budget 512".
std::string plan_text(const ImagePlan& image);

}  // namespace tessera
