#include "prompt/cost_estimate.h"

namespace tessera::prompt {
namespace {

constexpr double kFlopsPerMultiplyAdd = 2;
constexpr double kBytesPerKvValue = 2;  // f16

double prefill_flops(const runtime::LanguageShape& shape, double n) {
  const double d = shape.width;
  const double kv_share =
      shape.n_heads > 0 ? static_cast<double>(shape.n_kv_heads) / shape.n_heads : 1;
  const double layer = 2 * d * d * (1 + kv_share) * n + 2 * n * n * d + 3 * n * d * shape.ffn_width;
  return kFlopsPerMultiplyAdd * shape.n_layers * layer;
}

double encode_flops(const runtime::VisionShape& shape, double n_patches) {
  const double d = shape.width;
  const double layer =
      4 * n_patches * d * d + 2 * n_patches * d * shape.ffn_width + 2 * n_patches * n_patches * d;
  return kFlopsPerMultiplyAdd * shape.n_layers * layer;
}

}  // namespace

CostEstimate estimate_cost(const runtime::ModelInfo& model, const Prompt& prompt) {
  CostEstimate estimate;
  for (const ImagePlan& image : prompt.images) {
    if (image.n_tiles == 0) continue;
    const double per_tile = static_cast<double>(image.n_patches) / image.n_tiles;
    estimate.encode_flops += image.n_tiles * encode_flops(model.vision, per_tile);
  }
  const runtime::LanguageShape& language = model.language;
  estimate.prefill_flops = prefill_flops(language, prompt.n_tokens());
  estimate.kv_bytes = 2.0 * language.n_layers * language.n_kv_heads * language.head_dim *
                      kBytesPerKvValue * prompt.n_tokens();
  return estimate;
}

}  // namespace tessera::prompt
