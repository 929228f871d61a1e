#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class DynamicShapes : public testing::TestWithParam<Shape> {};

TEST_P(DynamicShapes, EncodeTheTokensThatTheyPlan) {
  expect_plans_hold(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, DynamicShapes, testing::ValuesIn(dynamic_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
