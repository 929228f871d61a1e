// For tests: a shape's model, made and loaded for one test, and what is asked of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/llama/bundled_model.h"
#include "runtime/llama/random_model/random_model.h"

namespace tessera::runtime::llama::random_model {

/// GoogleTest's names are made of letters, digits and underscores.
inline std::string test_name(const Shape& shape) {
  std::string name = shape.name;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// A shape's files, written for one test and gone after it.
class MadeModel {
 public:
  explicit MadeModel(const Shape& shape) : folder_(temporary_path(shape.name)) {
    EXPECT_TRUE(make_model(shape, folder_));
    const ModelFiles files = files_of(shape.name, folder_);
    LoadOptions options;
    options.model_path = files.model_path;
    options.mmproj_path = files.mmproj_path;
    options.n_threads = 1;
    options.n_sequences_max = 2;
    options.n_kv_cells = 512;
    options.context_length = 512;
    loaded_ = load_or_fail(options);
  }
  ~MadeModel() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  MadeModel(const MadeModel&) = delete;
  MadeModel& operator=(const MadeModel&) = delete;

  bool ok() const { return loaded_.encoder != nullptr; }
  const Model& model() const { return *loaded_.model; }
  Encoder& encoder() { return *loaded_.encoder; }
  Executor& executor() { return *loaded_.executor; }
  std::uintmax_t bytes(std::string_view name) const {
    const ModelFiles files = files_of(name, folder_);
    return std::filesystem::file_size(files.model_path) +
           std::filesystem::file_size(files.mmproj_path);
  }

 private:
  std::string folder_;
  LoadedModel loaded_;
};

/// A prompt with one image of this size, between text.
inline Result<Prompt> plan_of(const Model& model, ImageSize size) {
  const auto parts = model.apply_chat_template(user_says("What is this?", 1));
  if (!parts) return parts.error();
  return model.tokenize(parts.value(), std::array{ImageInput{size}});
}

inline Image grey_image(ImageSize size) {
  Image image;
  image.size = size;
  image.rgb.assign(static_cast<std::size_t>(size.pixels()) * 3, 128);
  return image;
}

}  // namespace tessera::runtime::llama::random_model
