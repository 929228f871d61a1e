#include "runtime/fake/fake_runtime.h"

#include <gtest/gtest.h>

namespace tessera::runtime::fake {
namespace {

TEST(FakeRuntime, LoadsThreeObjects) {
  const auto loaded = load({});

  ASSERT_TRUE(loaded.has_value());
  EXPECT_NE(loaded->model, nullptr);
  EXPECT_NE(loaded->encoder, nullptr);
  ASSERT_NE(loaded->executor, nullptr);
  EXPECT_EQ(loaded->executor->n_kv_cells(), 2 * loaded->model->info().context_length);
}

TEST(FakeRuntime, HasNoEncoderWithoutVision) {
  FakeOptions options;
  options.has_vision = false;

  EXPECT_EQ(load(options)->encoder, nullptr);
}

TEST(FakeRuntime, RefusesOptionsOutsideTheirRange) {
  FakeOptions options;
  options.n_rows_max = 0;

  const auto loaded = load(options);

  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().message, "n_rows_max: 0, at least 1");
}

}  // namespace
}  // namespace tessera::runtime::fake
