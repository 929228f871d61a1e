#include "runtime/llama/llama_encoder.h"

#include <algorithm>

namespace tessera::runtime::llama {
namespace {

Error encode_failed() {
  return make_error(ErrorCode::kInternal, "encode_failed", "the vision encoder failed");
}

}  // namespace

Result<Embedding> LlamaEncoder::encode(const PreparedTile& tile, const ShouldStop& stop) {
  const auto* native = static_cast<const LlamaTile&>(tile).native;
  TSR_RETURN_IF_ERROR(run([&] { return mtmd_encode_chunk(model_->vision(), native); }, stop));
  return embedding_of(tile, mtmd_get_output_embd(model_->vision()));
}

Result<std::vector<Embedding>> LlamaEncoder::encode_batch(
    std::span<const PreparedTile* const> tiles, const ShouldStop& stop) {
  const TileBatchHandle batch(mtmd_batch_init(model_->vision()));
  for (const PreparedTile* tile : tiles) {
    if (mtmd_batch_add_chunk(batch.get(), static_cast<const LlamaTile*>(tile)->native) != 0) {
      return encode_failed();
    }
  }
  TSR_RETURN_IF_ERROR(run([&] { return mtmd_batch_encode(batch.get()); }, stop));
  std::vector<Embedding> embeddings;
  for (const PreparedTile* tile : tiles) {
    const auto* native = static_cast<const LlamaTile*>(tile)->native;
    const float* rows = mtmd_batch_get_output_embd(batch.get(), native);
    if (rows == nullptr) return encode_failed();
    embeddings.push_back(embedding_of(*tile, rows));
  }
  return embeddings;
}

/// On the encoder's cores, until it is stopped.
template <typename NativeCall>
Result<void> LlamaEncoder::run(NativeCall&& call, const ShouldStop& stop) {
  if (!pinned_) {
    model_->cores().pin_encode_thread();
    pinned_ = true;
  }
  EncoderDevice& device = model_->encoder_device();
  device.begin(
      [](const void* should_stop) {
        const auto& asked = *static_cast<const ShouldStop*>(should_stop);
        return asked && asked();
      },
      &stop);
  const int code = call();
  if (device.end()) {
    return make_error(ErrorCode::kCancelled, "cancelled", "the encode was stopped");
  }
  if (code != 0) return encode_failed();
  return {};
}

Embedding LlamaEncoder::embedding_of(const PreparedTile& tile, const float* rows) const {
  Embedding embedding;
  embedding.n_tokens = tile.n_tokens();
  embedding.row_width = model_->info().embedding_row_width;
  const auto n_floats =
      static_cast<std::size_t>(embedding.n_tokens) * static_cast<std::size_t>(embedding.row_width);
  embedding.rows.assign(rows, rows + n_floats);
  return embedding;
}

}  // namespace tessera::runtime::llama
