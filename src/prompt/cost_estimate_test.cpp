#include "prompt/cost_estimate.h"

#include <gtest/gtest.h>

namespace tessera::prompt {
namespace {

/// LLaVA-1.5-7B's language model, whose published figure for 576 tokens is 3817 GMAC.
runtime::ModelInfo llava() {
  runtime::ModelInfo model;
  model.language = {32, 4096, 32, 32, 128, 11008, 0};
  return model;
}

TEST(CostEstimate, MatchesThePublishedFigureOfLlava) {
  Prompt prompt;
  prompt.n_visual_tokens = 576;

  const CostEstimate estimate = estimate_cost(llava(), prompt);

  EXPECT_NEAR(estimate.prefill_flops / 2e9, 3817, 1);
  EXPECT_DOUBLE_EQ(estimate.kv_bytes, 576 * 512.0 * 1024);
}

TEST(CostEstimate, GroupedQueriesSaveKeysAndValues) {
  runtime::ModelInfo grouped = llava();
  grouped.language.n_kv_heads = 8;
  Prompt prompt;
  prompt.n_text_tokens = 100;

  const CostEstimate full = estimate_cost(llava(), prompt);
  const CostEstimate fewer = estimate_cost(grouped, prompt);

  EXPECT_DOUBLE_EQ(fewer.kv_bytes * 4, full.kv_bytes);
  // 1.5 of the 2 · d² of keys and values go, in FLOPs.
  EXPECT_NEAR(full.prefill_flops - fewer.prefill_flops, 2.0 * 32 * 100 * 1.5 * 4096 * 4096, 1e6);
}

TEST(CostEstimate, TilesAddUpLinearly) {
  runtime::ModelInfo model;
  model.vision = {12, 768, 3072, 16, 512};
  Prompt one;
  one.images.emplace_back().n_tiles = 1;
  one.images[0].n_patches = 1024;
  Prompt four;
  four.images.emplace_back().n_tiles = 4;
  four.images[0].n_patches = 4096;

  EXPECT_NEAR(estimate_cost(model, four).encode_flops, 4 * estimate_cost(model, one).encode_flops,
              1);
  // SigLIP-B/16-512: 106 GMAC.
  EXPECT_NEAR(estimate_cost(model, one).encode_flops / 2e9, 106, 1);
}

}  // namespace
}  // namespace tessera::prompt
