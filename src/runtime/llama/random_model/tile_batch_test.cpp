// Which families encode several tiles at once, and that it gives what one after the other gives.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "runtime/llama/llama_model.h"
#include "runtime/llama/random_model/made_model.h"
#include "runtime/llama/random_model/shapes.h"

namespace tessera::runtime::llama::random_model {
namespace {

std::vector<Shape> all_shapes() {
  std::vector<Shape> all;
  for (const auto& some : {fixed_shapes(), tiled_shapes(), grid_shapes(), dynamic_shapes(),
                           merged_shapes(), stacked_shapes()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class TileBatchTest : public testing::TestWithParam<Shape> {
 protected:
  /// The last tile of a picture.
  std::unique_ptr<PreparedTile> tile(std::uint32_t seed) {
    Image image = grey_image({96, 96});
    for (std::uint8_t& value : image.rgb) {
      seed = seed * 1'664'525U + 1'013'904'223U;
      value = static_cast<std::uint8_t>(seed >> 24U);
    }
    auto tiles = made_.model().prepare(image);
    if (tiles) return std::move(tiles->back());
    ADD_FAILURE() << tiles.error().message;
    return nullptr;
  }

  /// Asks the library itself.
  bool library_takes_both(const PreparedTile& one, const PreparedTile& other) {
    const auto& model = static_cast<const LlamaModel&>(made_.model());
    const TileBatchHandle batch(mtmd_batch_init(model.vision()));
    EXPECT_EQ(mtmd_batch_add_chunk(batch.get(), static_cast<const LlamaTile&>(one).native), 0);
    return mtmd_batch_add_chunk(batch.get(), static_cast<const LlamaTile&>(other).native) == 0;
  }

  MadeModel made_{GetParam()};
};

TEST_P(TileBatchTest, GivesWhatOneAfterTheOtherGives) {
  ASSERT_TRUE(made_.ok());
  const auto one = tile(1);
  const auto other = tile(2);
  const auto again = tile(1);
  ASSERT_TRUE(one && other && again);
  ASSERT_EQ(made_.encoder().takes_batches(), library_takes_both(*one, *other));
  if (!made_.encoder().takes_batches()) return;

  const std::vector<const PreparedTile*> tiles{one.get(), other.get(), again.get()};
  const auto together = made_.encoder().encode_batch(tiles, {});
  ASSERT_TRUE(together);
  ASSERT_EQ(together->size(), 3U);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto alone = made_.encoder().encode(*tiles[i], {});
    ASSERT_TRUE(alone);
    const Embedding& part = (*together)[i];
    ASSERT_EQ(part.rows.size(), alone->rows.size());
    double difference = 0;
    double size = 0;
    for (std::size_t k = 0; k < part.rows.size(); ++k) {
      const double d = part.rows[k] - alone->rows[k];
      difference += d * d;
      size += double{alone->rows[k]} * alone->rows[k];
    }
    EXPECT_LT(std::sqrt(difference / size), 1e-3) << "tile " << i;
  }
}

TEST_P(TileBatchTest, StopsWhenItIsToldTo) {
  ASSERT_TRUE(made_.ok());
  if (!made_.encoder().takes_batches()) return;
  const auto one = tile(1);
  const auto other = tile(2);
  ASSERT_TRUE(one && other);

  const auto stopped =
      made_.encoder().encode_batch({{one.get(), other.get()}}, [] { return true; });

  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TileBatchTest, testing::ValuesIn(all_shapes()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
