#include "runtime/llama/token_embeddings.h"

#include <fcntl.h>
#include <gguf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

namespace tessera::runtime::llama {
namespace {

using GgufHandle = std::unique_ptr<gguf_context, Deleter<gguf_free>>;

constexpr const char* kMatrix = "token_embd.weight";

/// Architectures whose graphs do the same with ids and with rows, but for the scale.
struct Architecture {
  std::string_view name;
  bool scales_ids = false;  // by the square root of the width; rows come scaled
};
constexpr std::array kArchitectures{
    Architecture{"llama"}, Architecture{"qwen2"},   Architecture{"qwen2vl"},
    Architecture{"qwen3"}, Architecture{"qwen3vl"}, Architecture{"gemma3", true},
};

const Architecture* architecture_of(const llama_model* model) {
  std::array<char, 64> name{};
  llama_model_meta_val_str(model, "general.architecture", name.data(), name.size());
  const auto* found = std::ranges::find(kArchitectures, name.data(), &Architecture::name);
  return found == kArchitectures.end() ? nullptr : found;
}

/// The file that has the matrix: models of several files name themselves "…-00001-of-00004.gguf".
struct Place {
  std::string path;
  GgufHandle gguf;
  std::int64_t tensor = -1;
};

std::optional<Place> find_matrix(const std::string& path) {
  const auto look = [](const std::string& file) -> std::optional<Place> {
    GgufHandle gguf(gguf_init_from_file(file.c_str(), {/*no_alloc=*/true, nullptr}));
    if (gguf == nullptr) return std::nullopt;
    const std::int64_t tensor = gguf_find_tensor(gguf.get(), kMatrix);
    return Place{file, std::move(gguf), tensor};
  };
  auto first = look(path);
  if (!first || first->tensor >= 0) return first;
  const std::int64_t key = gguf_find_key(first->gguf.get(), "split.count");
  if (key < 0 || gguf_get_kv_type(first->gguf.get(), key) != GGUF_TYPE_UINT16) return std::nullopt;
  const int n_files = gguf_get_val_u16(first->gguf.get(), key);
  std::string prefix(path.size() + 1, '\0');
  if (llama_split_prefix(prefix.data(), prefix.size(), path.c_str(), 0, n_files) <= 0) {
    return std::nullopt;
  }
  std::string name(path.size() + 64, '\0');
  for (int i = 1; i < n_files; ++i) {
    const int n = llama_split_path(name.data(), name.size(), prefix.c_str(), i, n_files);
    if (n <= 0) return std::nullopt;
    auto place = look(name.substr(0, static_cast<std::size_t>(n)));
    if (!place || place->tensor >= 0) return place;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TokenEmbeddings> TokenEmbeddings::open(const std::string& path,
                                                     const llama_model* model) {
  const Architecture* architecture = architecture_of(model);
  if (architecture == nullptr) return std::nullopt;
  const auto place = find_matrix(path);
  if (!place) return std::nullopt;

  TokenEmbeddings self;
  const gguf_context* gguf = place->gguf.get();
  const std::int64_t* shape = gguf_get_tensor_ne(gguf, place->tensor);
  self.type_ = gguf_get_tensor_type(gguf, place->tensor);
  self.n_values_ = static_cast<std::size_t>(llama_model_n_embd(model));
  self.row_width_ = static_cast<std::size_t>(llama_model_n_embd_inp(model));
  self.n_rows_ = llama_vocab_n_tokens(llama_model_get_vocab(model));
  const bool readable =
      self.type_ == GGML_TYPE_F32 || ggml_get_type_traits(self.type_)->to_float != nullptr;
  const bool fits = shape[0] == static_cast<std::int64_t>(self.n_values_) &&
                    shape[1] >= self.n_rows_ && self.row_width_ >= self.n_values_;
  if (!readable || !fits) return std::nullopt;

  self.encoded_.resize(ggml_row_size(self.type_, shape[0]));
  self.begin_ = static_cast<std::int64_t>(gguf_get_data_offset(gguf) +
                                          gguf_get_tensor_offset(gguf, place->tensor));
  self.file_ = UniqueFd(::open(place->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!self.file_) return std::nullopt;
  if (architecture->scales_ids) self.scale_ = std::sqrt(static_cast<float>(self.n_values_));
  return self;
}

bool TokenEmbeddings::read(TokenId token, float* row) {
  if (token < 0 || token >= n_rows_) return false;
  const auto n_bytes = static_cast<std::int64_t>(encoded_.size());
  const ssize_t n =
      ::pread(file_.get(), encoded_.data(), encoded_.size(), begin_ + token * n_bytes);
  if (n != n_bytes) return false;
  if (type_ == GGML_TYPE_F32) {
    std::memcpy(row, encoded_.data(), encoded_.size());
  } else {
    ggml_get_type_traits(type_)->to_float(encoded_.data(), row,
                                          static_cast<std::int64_t>(n_values_));
  }
  if (scale_ != 1) {
    for (std::size_t i = 0; i < n_values_; ++i) row[i] *= scale_;
  }
  std::fill(row + n_values_, row + row_width_, 0.F);
  return true;
}

}  // namespace tessera::runtime::llama
