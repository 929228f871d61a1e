#include "runtime/llama/random_model/made_model.h"

namespace tessera::runtime::llama::random_model {
namespace {

// Its tile by itself has 3 rows of padding, in a prompt from 0 to 3: rows and positions would not
// agree, and a cached tile would not fit the next prompt.
TEST(RefusedShapes, AreRefusedWhereAnImageDependsOnItsPlaceInThePrompt) {
  MadeModel made(refused_shapes().front());
  ASSERT_TRUE(made.ok());

  const auto prompt = plan_of(made.model(), {64, 64});

  ASSERT_FALSE(prompt);
  EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(prompt.error().reason, "image_not_supported");
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
