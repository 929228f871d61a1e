// The fake's eyes: how an image of a size is cut into tiles, what a prepared tile is, and the
// encoder whose rows are hashes of pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/image.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::runtime::fake {

/// One tile of an image: which pixels it shows and how many cells it has.
struct TilePlan {
  int left = 0;  // pixels
  int top = 0;
  ImageSize source;       // pixels it is made from
  ImageSize size;         // pixels the encoder sees; smaller than source for an overview
  bool ends_row = false;  // last of a row of tiles

  int n_columns() const { return (size.width + kCellSide - 1) / kCellSide; }
  int n_rows() const { return (size.height + kCellSide - 1) / kCellSide; }
  int n_tokens() const { return n_columns() * n_rows(); }
};

/// Overview first, then tiles row by row; one tile for an image that needs no more.
std::vector<TilePlan> plan_tiles(ImageSize image, int tile_side);

class FakeTile final : public PreparedTile {
 public:
  FakeTile(ImageSize size, std::vector<std::uint64_t> cells)
      : size_(size), cells_(std::move(cells)) {}
  int n_tokens() const override { return static_cast<int>(cells_.size()); }
  ImageSize size() const { return size_; }
  const std::vector<std::uint64_t>& cells() const { return cells_; }

 private:
  ImageSize size_;
  std::vector<std::uint64_t> cells_;  // hash of each cell's pixels, raster order
};

FakeTile prepare_tile(const Image& image, const TilePlan& plan);

/// @thread encode thread only; reports use from another
class FakeEncoder final : public Encoder {
 public:
  FakeEncoder(std::shared_ptr<const Model> model, std::shared_ptr<FakeControl> control,
              bool takes_batches)
      : model_(std::move(model)), control_(std::move(control)), takes_batches_(takes_batches) {}

  Result<Embedding> encode(const PreparedTile& tile, const ShouldStop& stop) override;
  bool takes_batches() const override { return takes_batches_; }
  /// One call of Call::kEncode. Scrambles, and reports, tiles of several shapes.
  Result<std::vector<Embedding>> encode_batch(std::span<const PreparedTile* const> tiles,
                                              const ShouldStop& stop) override;

 private:
  Result<void> begin(const ShouldStop& stop);
  Result<Embedding> features(const PreparedTile& tile) const;

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<FakeControl> control_;
  const bool takes_batches_;
  std::optional<std::thread::id> thread_;  // the first that called
};

}  // namespace tessera::runtime::fake
