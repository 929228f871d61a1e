#include "runtime/llama/random_model/planned_tokens.h"

namespace tessera::runtime::llama::random_model {
namespace {

class TiledShapes : public testing::TestWithParam<Shape> {};

TEST_P(TiledShapes, EncodeTheTokensThatTheyPlan) {
  expect_plans_hold(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, TiledShapes, testing::ValuesIn(tiled_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
