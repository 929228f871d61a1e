#include "runtime/fake/fake_vision.h"

#include <gtest/gtest.h>

namespace tessera::runtime::fake {
namespace {

Image image_of(ImageSize size, std::uint8_t value = 7) {
  Image image{size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.pixels()) * 3, value)};
  return image;
}

LoadedModel loaded(const std::shared_ptr<FakeControl>& control) {
  FakeOptions options;
  options.control = control;
  return std::move(load(options)).value();
}

TEST(FakeVision, CountsOneTokenForEachBegunCell) {
  EXPECT_EQ(plan_tiles({1, 1}, 0)[0].n_tokens(), 1);
  EXPECT_EQ(plan_tiles({28, 28}, 0)[0].n_tokens(), 1);
  EXPECT_EQ(plan_tiles({29, 57}, 0)[0].n_tokens(), 6);
}

TEST(FakeVision, CutsALargeImageIntoAnOverviewAndTiles) {
  //  56   56   8
  // ┌────┬────┬─┐
  // │    │    │ │ 56     and the whole, scaled to 56×28
  // ├────┼────┼─┤
  // │    │    │ │  4
  // └────┴────┴─┘
  const auto tiles = plan_tiles({120, 60}, 56);

  ASSERT_EQ(tiles.size(), 7U);
  EXPECT_EQ(tiles[0].size, (ImageSize{56, 28}));
  EXPECT_EQ(tiles[1].size, (ImageSize{56, 56}));
  EXPECT_EQ(tiles[3].size, (ImageSize{8, 56}));
  EXPECT_TRUE(tiles[3].ends_row);
  EXPECT_EQ(tiles[6].size, (ImageSize{8, 4}));
}

TEST(FakeVision, RowsDependOnTheirPixelsOnly) {
  Image image = image_of({56, 28});
  const TilePlan plan = plan_tiles(image.size, 0)[0];
  const FakeTile before = prepare_tile(image, plan);
  image.rgb.back() = 8;  // in the right cell
  const FakeTile after = prepare_tile(image, plan);

  EXPECT_EQ(before.cells()[0], after.cells()[0]);
  EXPECT_NE(before.cells()[1], after.cells()[1]);
}

TEST(FakeEncoder, GivesOneRowForEachCell) {
  auto control = std::make_shared<FakeControl>();
  LoadedModel model = loaded(control);
  const auto tiles = model.model->prepare(image_of({57, 20}));

  const auto embedding = model.encoder->encode(*(*tiles)[0], {});

  ASSERT_TRUE(embedding.has_value());
  EXPECT_EQ(embedding->n_tokens, 3);
  EXPECT_EQ(embedding->row_width, model.model->info().embedding_row_width);
  EXPECT_EQ(embedding->rows.size(), 24U);
}

TEST(FakeEncoder, FailsAndStopsAsTold) {
  auto control = std::make_shared<FakeControl>();
  control->fail(Call::kEncode, 1, Effect::kError);
  control->fail(Call::kEncode, 2, Effect::kCancelled);
  control->fail(Call::kEncode, 3, Effect::kSlow);
  LoadedModel model = loaded(control);
  const auto tiles = model.model->prepare(image_of({28, 28}));
  std::stop_source stop;
  std::jthread stopper([&] {
    control->wait_until_held();
    stop.request_stop();
  });

  EXPECT_EQ(model.encoder->encode(*(*tiles)[0], {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(model.encoder->encode(*(*tiles)[0], {}).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(
      model.encoder->encode(*(*tiles)[0], [&stop] { return stop.stop_requested(); }).error().code,
      ErrorCode::kCancelled);
  EXPECT_EQ(control->n_violations(), 0);
}

TEST(FakeEncoder, ReportsASecondThread) {
  auto control = std::make_shared<FakeControl>();
  LoadedModel model = loaded(control);
  const auto tiles = model.model->prepare(image_of({28, 28}));
  ASSERT_TRUE(model.encoder->encode(*(*tiles)[0], {}).has_value());

  std::jthread([&] { EXPECT_TRUE(model.encoder->encode(*(*tiles)[0], {}).has_value()); }).join();

  EXPECT_EQ(control->n_violations(), 1);
}

}  // namespace
}  // namespace tessera::runtime::fake
