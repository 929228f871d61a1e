#include "runtime/llama/llama_encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <thread>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

std::unique_ptr<PreparedTile> tile_of(const Image& image) {
  auto tiles = bundled_model().prepare(image);
  if (!tiles || tiles->size() != 1) {
    ADD_FAILURE() << "not one tile";
    return nullptr;
  }
  return std::move(tiles->front());
}

ShouldStop stopped_by(const std::stop_source& stop) {
  return [&stop] { return stop.stop_requested(); };
}

Embedding encode(const PreparedTile& tile) {
  auto embedding = bundled().encoder->encode(tile, {});
  if (embedding) return std::move(embedding).value();
  ADD_FAILURE() << embedding.error().message;
  return {};
}

TEST(LlamaEncoder, GivesARowForEveryVisualToken) {
  const auto tile = tile_of(drawn_image({168, 112}));

  const Embedding embedding = encode(*tile);

  EXPECT_EQ(embedding.n_tokens, 24);
  EXPECT_EQ(embedding.row_width, 256);
  ASSERT_EQ(embedding.rows.size(), 24U * 256U);
  for (const float value : embedding.rows) ASSERT_TRUE(std::isfinite(value));
}

TEST(LlamaEncoder, SeesWhatIsInThePicture) {
  const Embedding red = encode(*tile_of(picture_of_discs(std::array{kRed})));
  const Embedding blue = encode(*tile_of(picture_of_discs(std::array{kBlue})));

  EXPECT_NE(red.rows, blue.rows);
  EXPECT_EQ(red.rows, encode(*tile_of(picture_of_discs(std::array{kRed}))).rows);
}

TEST(LlamaEncoder, EncodesATileAgainToTheSameRows) {
  const auto tile = tile_of(drawn_image({200, 150}));
  const Embedding first = encode(*tile);

  encode(*tile_of(drawn_image({112, 112})));

  EXPECT_EQ(encode(*tile).rows, first.rows);
}

TEST(LlamaEncoder, ReturnsCancelledWhenStoppedBefore) {
  std::stop_source stop;
  stop.request_stop();

  const auto embedding =
      bundled().encoder->encode(*tile_of(drawn_image({560, 560})), stopped_by(stop));

  ASSERT_FALSE(embedding);
  EXPECT_EQ(embedding.error().code, ErrorCode::kCancelled);
}

TEST(LlamaEncoder, IsRightAfterAStoppedEncode) {
  const auto tile = tile_of(drawn_image({112, 112}));
  const Embedding expected = encode(*tile);
  std::stop_source stop;
  stop.request_stop();
  ASSERT_FALSE(bundled().encoder->encode(*tile_of(drawn_image({560, 560})), stopped_by(stop)));

  EXPECT_EQ(encode(*tile).rows, expected.rows);
}

/// A stop in the middle: encodes the same tile again and again while another thread stops it, until
/// one ends in either way. Only where it ends is open, never what it gives.
TEST(LlamaEncoder, StopsInTheMiddleOrGivesTheWholeAnswer) {
  const auto tile = tile_of(drawn_image({560, 560}));
  const Embedding expected = encode(*tile);
  for (int i = 0; i < 8; ++i) {
    std::stop_source stop;
    std::promise<void> started;
    std::jthread stopper([&] {
      started.set_value();
      for (int spin = 0; spin < i; ++spin) std::this_thread::yield();
      stop.request_stop();
    });
    started.get_future().wait();
    const auto embedding = bundled().encoder->encode(*tile, stopped_by(stop));
    stopper.join();
    if (embedding) {
      EXPECT_EQ(embedding->rows, expected.rows);
    } else {
      EXPECT_EQ(embedding.error().code, ErrorCode::kCancelled);
    }
  }
  EXPECT_EQ(encode(*tile).rows, expected.rows);
}

/// The library promises that tokenizing is thread-safe; the prompt stage relies on it.
TEST(LlamaEncoder, EncodesWhileOthersTokenizeAndPrepare) {
  const auto tile = tile_of(drawn_image({224, 224}));
  const Embedding expected = encode(*tile);
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto parts = bundled_model().apply_chat_template(user_says("How many?", 1));
      const std::vector<ImageSize> sizes{{112, 112}};
      EXPECT_EQ(bundled_model().tokenize(*parts, whole_images(sizes))->n_visual_tokens, 16);
      EXPECT_EQ(bundled_model().prepare(drawn_image(sizes[0]))->size(), 1U);
    }
  });

  for (int i = 0; i < 5; ++i) EXPECT_EQ(encode(*tile).rows, expected.rows);
}

}  // namespace
}  // namespace tessera::runtime::llama
