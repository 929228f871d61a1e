#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class TiledShapes : public testing::TestWithParam<Shape> {};

TEST_P(TiledShapes, EncodeTheTokensThatTheyPlan) {
  PlanLimits limits;
  // Step3 makes a long strip a tile for each time that its length holds its width, and draws the
  // picture to plan it.
  if (GetParam().name == "tiny-step3") limits = {.n_sizes = 30, .longest_strip = 504};
  expect_plans_hold(GetParam(), limits);
}

INSTANTIATE_TEST_SUITE_P(All, TiledShapes, testing::ValuesIn(tiled_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
