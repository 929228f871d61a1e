#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class StackedShapes : public testing::TestWithParam<Shape> {};

TEST_P(StackedShapes, EncodeTheTokensThatTheyPlan) {
  // DeepSeek-OCR's overview attends over 64 × 64 patches: half a second.
  PlanLimits limits;
  limits.n_encodes_max = 3;
  expect_plans_hold(GetParam(), limits);
}

INSTANTIATE_TEST_SUITE_P(All, StackedShapes, testing::ValuesIn(stacked_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
