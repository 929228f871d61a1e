#include "runtime/fake/fake_vision.h"

#include <algorithm>
#include <utility>

#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {
namespace {

Error cancelled() {
  return make_error(ErrorCode::kCancelled, "cancelled", "the encode was cancelled");
}

}  // namespace

std::vector<TilePlan> plan_tiles(ImageSize image, int tile_side) {
  const int longest = std::max(image.width, image.height);
  if (tile_side <= 0 || longest <= tile_side) return {{0, 0, image, image, true}};

  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(std::int64_t{side} * tile_side / longest));
  };
  std::vector<TilePlan> tiles;
  tiles.push_back({0, 0, image, {scaled(image.width), scaled(image.height)}, true});
  for (int top = 0; top < image.height; top += tile_side) {
    for (int left = 0; left < image.width; left += tile_side) {
      const ImageSize size{std::min(tile_side, image.width - left),
                           std::min(tile_side, image.height - top)};
      tiles.push_back({left, top, size, size, left + tile_side >= image.width});
    }
  }
  return tiles;
}

FakeTile prepare_tile(const Image& image, const TilePlan& plan) {
  std::vector<std::uint64_t> cells(static_cast<std::size_t>(plan.n_tokens()), 0);
  for (int y = 0; y < plan.size.height; ++y) {
    for (int x = 0; x < plan.size.width; ++x) {
      // Nearest pixel of the source, which is the pixel itself unless this is an overview.
      const std::int64_t source_x =
          plan.left + std::int64_t{x} * plan.source.width / plan.size.width;
      const std::int64_t source_y =
          plan.top + std::int64_t{y} * plan.source.height / plan.size.height;
      const auto at = static_cast<std::size_t>((source_y * image.size.width + source_x) * 3);
      const auto cell = static_cast<std::size_t>(y / kCellSide * plan.n_columns() + x / kCellSide);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        cells[cell] = mix(cells[cell], image.rgb[at + channel]);
      }
    }
  }
  return {plan.size, std::move(cells)};
}

Result<Embedding> FakeEncoder::encode(const PreparedTile& tile, const ShouldStop& stop) {
  TSR_RETURN_IF_ERROR(begin(stop));
  return features(tile);
}

Result<std::vector<Embedding>> FakeEncoder::encode_batch(std::span<const PreparedTile* const> tiles,
                                                         const ShouldStop& stop) {
  TSR_RETURN_IF_ERROR(begin(stop));
  if (!takes_batches_) control_->violation("encode_batch: this encoder takes none");
  std::vector<Embedding> embeddings;
  for (const PreparedTile* tile : tiles) {
    TSR_ASSIGN_OR_RETURN(Embedding embedding, features(*tile));
    const auto size = static_cast<const FakeTile*>(tile)->size();
    if (size != static_cast<const FakeTile*>(tiles.front())->size()) {
      control_->violation("encode_batch: tiles of several shapes");
      std::ranges::fill(embedding.rows, 0.F);
    }
    embeddings.push_back(std::move(embedding));
  }
  return embeddings;
}

Result<void> FakeEncoder::begin(const ShouldStop& stop) {
  if (thread_.value_or(std::this_thread::get_id()) != std::this_thread::get_id()) {
    control_->violation("encode: called from two threads");
  }
  thread_ = std::this_thread::get_id();

  const auto effect = control_->count(Call::kEncode);
  if (effect == Effect::kCancelled) return cancelled();
  if (effect == Effect::kLost) return engine_lost_error();
  if (effect == Effect::kSlow && !control_->hold(stop)) return cancelled();
  if (effect && *effect != Effect::kSlow) {
    return make_error(ErrorCode::kInternal, "encode_failed", "the encoder failed");
  }
  if (stop && stop()) return cancelled();
  return {};
}

Result<Embedding> FakeEncoder::features(const PreparedTile& tile) const {
  const auto* fake_tile = dynamic_cast<const FakeTile*>(&tile);
  if (fake_tile == nullptr) {
    control_->violation("encode: the tile is of another runtime");
    return make_error(ErrorCode::kInternal, "encode_failed", "the encoder failed");
  }
  Embedding embedding;
  embedding.n_tokens = tile.n_tokens();
  embedding.row_width = model_->info().embedding_row_width;
  for (const std::uint64_t cell : fake_tile->cells()) {
    for (int i = 0; i < embedding.row_width; ++i) {
      const std::uint64_t value = mix(cell, static_cast<std::uint64_t>(i)) % 65536;
      embedding.rows.push_back(static_cast<float>(value) / 65536.F);
    }
  }
  return embedding;
}

}  // namespace tessera::runtime::fake
