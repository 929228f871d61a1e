#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class FixedShapes : public testing::TestWithParam<Shape> {};

TEST_P(FixedShapes, EncodeTheTokensThatTheyPlan) {
  expect_plans_hold(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FixedShapes, testing::ValuesIn(fixed_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
