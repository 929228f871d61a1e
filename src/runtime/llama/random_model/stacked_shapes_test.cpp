#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class StackedShapes : public testing::TestWithParam<Shape> {};

TEST_P(StackedShapes, EncodeTheTokensThatTheyPlan) {
  // DeepSeek-OCR draws an overview of 1024 × 1024 for every picture, and attends over all of its
  // 64 × 64 patches: a tenth of a second, and half a second.
  PlanLimits limits;
  limits.n_sizes = 30;
  limits.n_encodes_max = 3;
  expect_plans_hold(GetParam(), limits);
}

INSTANTIATE_TEST_SUITE_P(All, StackedShapes, testing::ValuesIn(stacked_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
