#include "runtime/llama/random_model/shapes.h"

#include <gtest/gtest.h>

namespace tessera::runtime::llama::random_model {
namespace {

// What the models' publishers state; Qwen2-VL's for its language model.
TEST(RealShapes, HaveTheParametersOfTheModelsTheyStandFor) {
  const auto shapes = real_shapes();
  ASSERT_EQ(shapes.size(), 2U);

  EXPECT_EQ(shapes[0].name, "smolvlm-256m");
  const Halves smolvlm = shapes[0].make("smolvlm-256m");
  EXPECT_EQ(smolvlm.language.n_values() + smolvlm.vision.n_values(), 256'484'928);
  EXPECT_EQ(shapes[1].name, "qwen2-vl-2b");
  const Halves qwen = shapes[1].make("qwen2-vl-2b");
  EXPECT_EQ(qwen.language.n_values(), 1'543'714'304);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
