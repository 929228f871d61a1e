#include "runtime/llama/random_model/shapes.h"

#include <gtest/gtest.h>

namespace tessera::runtime::llama::random_model {
namespace {

// The weights of a shape are its cost, so their number is what must not drift. Real SmolVLM-256M
// has 256,484,928 parameters with a vocabulary of 49,280 and a language model that scores with its
// embeddings; ours has an output matrix of its own.
TEST(RealShapes, HaveTheParametersOfTheModelsTheyStandFor) {
  const auto shapes = real_shapes();
  ASSERT_EQ(shapes.size(), 2U);

  EXPECT_EQ(shapes[0].name, "smolvlm-256m");
  const Halves smolvlm = shapes[0].make("smolvlm-256m");
  EXPECT_EQ(smolvlm.language.n_values() - std::int64_t{49'280} * 576 + smolvlm.vision.n_values(),
            256'484'928);
  EXPECT_EQ(shapes[1].name, "qwen2-vl-2b");
  const Halves qwen = shapes[1].make("qwen2-vl-2b");
  EXPECT_EQ(qwen.language.n_values(), 1'543'714'304);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
