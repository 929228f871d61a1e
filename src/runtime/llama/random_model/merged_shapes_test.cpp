#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class MergedShapes : public testing::TestWithParam<Shape> {};

TEST_P(MergedShapes, EncodeTheTokensThatTheyPlan) {
  expect_plans_hold(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, MergedShapes, testing::ValuesIn(merged_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
