// A GGUF file in the making: metadata, and tensors that are only described until they are written.
// Tensors of a real model's size go to disk block by block, so that memory stays small.
#pragma once

#include <gguf.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/llama/handles.h"

namespace tessera::runtime::llama::random_model {

enum class Values {
  kWeights,  // f16, random: what a matrix multiplication reads
  kFloats,   // f32, random: what is added
  kOnes,     // f32: what a norm multiplies with
};

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  // innermost first, as ggml has it; at most 4
  Values values = Values::kWeights;
  /// Factor of each row; empty = 1. A row is shape[0] values.
  std::function<float(std::int64_t row)> row_scale;
};

/// @thread any one thread
class ModelFile {
 public:
  ModelFile();

  void set(const std::string& key, std::string_view text);
  void set(const std::string& key, const char* text) { set(key, std::string_view(text)); }
  void set(const std::string& key, std::uint32_t number);
  void set(const std::string& key, int number) { set(key, static_cast<std::uint32_t>(number)); }
  void set(const std::string& key, float number);
  void set(const std::string& key, bool yes);
  void set(const std::string& key, const std::vector<std::int32_t>& numbers);
  void set(const std::string& key, const std::vector<float>& numbers);
  void set(const std::string& key, const std::vector<std::string>& texts);
  /// The one key that the library reads as a signed number is clip.minicpmv_version.
  void set_signed(const std::string& key, std::int32_t number);

  void add(Tensor tensor) { tensors_.push_back(std::move(tensor)); }

  /// name.weight: [in] → [out].
  void matrix(const std::string& name, std::int64_t in, std::int64_t out);
  /// name.weight and name.bias.
  void linear(const std::string& name, std::int64_t in, std::int64_t out);
  /// name.weight, all ones.
  void scale(const std::string& name, std::int64_t width);
  /// name.weight, all ones, and name.bias.
  void norm(const std::string& name, std::int64_t width);
  /// A tensor of exactly this name, f32.
  void floats(const std::string& name, std::initializer_list<std::int64_t> shape);
  /// A tensor of exactly this name, f16.
  void weights(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Of all tensors.
  std::int64_t n_values() const;

  /// False when the disk does not take it.
  bool write(const std::string& path, std::uint64_t seed) const;

 private:
  std::unique_ptr<gguf_context, Deleter<gguf_free>> metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace tessera::runtime::llama::random_model
