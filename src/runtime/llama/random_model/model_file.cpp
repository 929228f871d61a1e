#include "runtime/llama/random_model/model_file.h"

#include <algorithm>
#include <fstream>

#include "runtime/llama/random_model/random_values.h"

namespace tessera::runtime::llama::random_model {
namespace {

/// Deviation of random weights: what most language models are initialised with.
constexpr float kDeviation = 0.02F;
/// Values that are made and written at a time; 512 KiB as f32.
constexpr std::int64_t kBlockValues = std::int64_t{1} << 17;

using MetadataHandle = std::unique_ptr<ggml_context, Deleter<ggml_free>>;

ggml_type type_of(Values values) {
  return values == Values::kWeights ? GGML_TYPE_F16 : GGML_TYPE_F32;
}

std::int64_t count_of(const Tensor& tensor) {
  std::int64_t n = 1;
  for (const std::int64_t side : tensor.shape) n *= side;
  return n;
}

void write_block(std::ofstream& file, const Tensor& tensor, std::span<const float> block) {
  if (tensor.values != Values::kWeights) {
    file.write(reinterpret_cast<const char*>(block.data()),
               static_cast<std::streamsize>(block.size_bytes()));
    return;
  }
  std::vector<ggml_fp16_t> halves(block.size());
  ggml_fp32_to_fp16_row(block.data(), halves.data(), static_cast<std::int64_t>(block.size()));
  file.write(reinterpret_cast<const char*>(halves.data()),
             static_cast<std::streamsize>(halves.size() * sizeof(ggml_fp16_t)));
}

void write_tensor(std::ofstream& file, const Tensor& tensor, std::uint64_t seed) {
  const std::int64_t n = count_of(tensor);
  const std::int64_t row = tensor.shape.front();
  const std::int64_t n_block = tensor.row_scale ? row : std::min(n, kBlockValues);
  const std::uint64_t own_seed = seed_of(tensor.name, seed);
  std::vector<float> values(static_cast<std::size_t>(n_block), 1.0F);
  for (std::int64_t first = 0; first < n; first += n_block) {
    const std::span block =
        std::span(values).first(static_cast<std::size_t>(std::min(n_block, n - first)));
    if (tensor.values != Values::kOnes) {
      const float scale = tensor.row_scale ? tensor.row_scale(first / row) : 1.0F;
      fill_random(block, own_seed, static_cast<std::uint64_t>(first), kDeviation * scale);
    }
    write_block(file, tensor, block);
  }
  // Every tensor starts at a whole multiple of the alignment.
  while (file && file.tellp() % GGUF_DEFAULT_ALIGNMENT != 0) file.put('\0');
}

}  // namespace

ModelFile::ModelFile() : metadata_(gguf_init_empty()) {}

void ModelFile::set(const std::string& key, std::string_view text) {
  gguf_set_val_str(metadata_.get(), key.c_str(), std::string(text).c_str());
}

void ModelFile::set(const std::string& key, std::uint32_t number) {
  gguf_set_val_u32(metadata_.get(), key.c_str(), number);
}

void ModelFile::set(const std::string& key, float number) {
  gguf_set_val_f32(metadata_.get(), key.c_str(), number);
}

void ModelFile::set(const std::string& key, bool yes) {
  gguf_set_val_bool(metadata_.get(), key.c_str(), yes);
}

void ModelFile::set(const std::string& key, const std::vector<std::int32_t>& numbers) {
  gguf_set_arr_data(metadata_.get(), key.c_str(), GGUF_TYPE_INT32, numbers.data(), numbers.size());
}

void ModelFile::set(const std::string& key, const std::vector<float>& numbers) {
  gguf_set_arr_data(metadata_.get(), key.c_str(), GGUF_TYPE_FLOAT32, numbers.data(),
                    numbers.size());
}

void ModelFile::set(const std::string& key, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  gguf_set_arr_str(metadata_.get(), key.c_str(), pointers.data(), pointers.size());
}

void ModelFile::set_signed(const std::string& key, std::int32_t number) {
  gguf_set_val_i32(metadata_.get(), key.c_str(), number);
}

void ModelFile::matrix(const std::string& name, std::int64_t in, std::int64_t out) {
  add({name + ".weight", {in, out}, Values::kWeights, {}});
}

void ModelFile::linear(const std::string& name, std::int64_t in, std::int64_t out) {
  matrix(name, in, out);
  add({name + ".bias", {out}, Values::kFloats, {}});
}

void ModelFile::scale(const std::string& name, std::int64_t width) {
  add({name + ".weight", {width}, Values::kOnes, {}});
}

void ModelFile::norm(const std::string& name, std::int64_t width) {
  scale(name, width);
  add({name + ".bias", {width}, Values::kFloats, {}});
}

void ModelFile::floats(const std::string& name, std::initializer_list<std::int64_t> shape) {
  add({name, shape, Values::kFloats, {}});
}

void ModelFile::weights(const std::string& name, std::initializer_list<std::int64_t> shape) {
  add({name, shape, Values::kWeights, {}});
}

std::int64_t ModelFile::n_values() const {
  std::int64_t n = 0;
  for (const Tensor& tensor : tensors_) n += count_of(tensor);
  return n;
}

bool ModelFile::write(const std::string& path, std::uint64_t seed) const {
  // Described afresh, so that one file can be written more than once.
  const std::unique_ptr<gguf_context, Deleter<gguf_free>> header(gguf_init_empty());
  gguf_set_kv(header.get(), metadata_.get());
  const MetadataHandle described(
      ggml_init({ggml_tensor_overhead() * (tensors_.size() + 1), nullptr, /*no_alloc=*/true}));
  for (const Tensor& tensor : tensors_) {
    ggml_tensor* native =
        ggml_new_tensor(described.get(), type_of(tensor.values),
                        static_cast<int>(tensor.shape.size()), tensor.shape.data());
    ggml_set_name(native, tensor.name.c_str());
    gguf_add_tensor(header.get(), native);
  }
  if (!gguf_write_to_file(header.get(), path.c_str(), /*only_meta=*/true)) return false;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  for (const Tensor& tensor : tensors_) write_tensor(file, tensor, seed);
  file.close();
  return file.good();
}

}  // namespace tessera::runtime::llama::random_model
