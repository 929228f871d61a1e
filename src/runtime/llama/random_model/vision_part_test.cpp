#include "runtime/llama/random_model/vision_part.h"

#include <gtest/gtest.h>

namespace tessera::runtime::llama::random_model {
namespace {

// 32 wide, two layers, 48 in the feed-forward, patches of 14 × 14 × 3.
constexpr std::int64_t kPatches = 14 * 14 * 3 * 32;
constexpr std::int64_t kProducts = 2 * (4 * 32 * 32 + 2 * 32 * 48);

TEST(VisionPart, HasBiasesWhereTheTowerHasThem) {
  const Tower tower;
  const ModelFile file = make_vision_file(tower, 64);

  const std::int64_t biases = 2 * (4 * 32 + 48 + 32);
  const std::int64_t norms = (2 * 2 + 1) * 2 * 32;
  EXPECT_EQ(file.n_values(), kPatches + 32 + kProducts + biases + norms);
}

TEST(VisionPart, HasAGateInsteadInTowersWithRmsNorms) {
  const ModelFile file = make_vision_file(rms_tower("pixtral"), 64);

  const std::int64_t gates = std::int64_t{2} * 32 * 48;
  EXPECT_EQ(file.n_values(), kPatches + kProducts + gates + (2 * 2 + 1) * 32);
}

TEST(VisionPart, AddsAPositionForEachPatchAndFurtherRow) {
  const Tower tower;
  ModelFile file;
  add_positions(file, tower, 1);

  EXPECT_EQ(file.n_values(), (4 * 4 + 1) * 32);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
