#include "runtime/llama/llama_encoder.h"

namespace tessera::runtime::llama {

Result<Embedding> LlamaEncoder::encode(const PreparedTile& tile, const std::stop_token& stop) {
  if (!pinned_) {
    model_->cores().pin_encode_thread();
    pinned_ = true;
  }
  const auto& native = static_cast<const LlamaTile&>(tile);
  EncoderDevice& device = model_->encoder_device();
  device.begin(
      [](const void* token) {
        return static_cast<const std::stop_token*>(token)->stop_requested();
      },
      &stop);
  const int code = mtmd_encode_chunk(model_->vision(), native.native);
  if (device.end()) {
    return make_error(ErrorCode::kCancelled, "cancelled", "the encode was stopped");
  }
  if (code != 0) {
    return make_error(ErrorCode::kInternal, "encode_failed", "the vision encoder failed");
  }
  Embedding embedding;
  embedding.n_tokens = native.n_tokens();
  embedding.row_width = model_->info().embedding_row_width;
  const float* rows = mtmd_get_output_embd(model_->vision());
  const auto n_floats =
      static_cast<std::size_t>(embedding.n_tokens) * static_cast<std::size_t>(embedding.row_width);
  embedding.rows.assign(rows, rows + n_floats);
  return embedding;
}

}  // namespace tessera::runtime::llama
