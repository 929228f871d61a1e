// LlamaModel::load: what happens to files that are missing, swapped, damaged or lack vision.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

Error load_error(const LoadOptions& options) {
  const auto loaded = LlamaModel::load(options);
  if (!loaded) return loaded.error();
  ADD_FAILURE() << "the files were loaded";
  return {};
}

/// A file that exists while the test runs.
class TemporaryFile {
 public:
  TemporaryFile(std::string_view name, std::string_view bytes) : path_(temporary_path(name)) {
    write_file(path_, bytes);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(LlamaLoad, SaysThatAFileIsMissing) {
  LoadOptions options = bundled_options();
  options.model_path = bundled_path("nothing.gguf");
  EXPECT_EQ(load_error(options).code, ErrorCode::kNotFound);
  EXPECT_EQ(load_error(options).reason, "model_file_not_found");

  options = bundled_options();
  options.mmproj_path = bundled_path("nothing.gguf");
  EXPECT_EQ(load_error(options).reason, "model_file_not_found");
}

TEST(LlamaLoad, SaysThatADirectoryIsNoFile) {
  LoadOptions options = bundled_options();
  options.model_path = bundled_path("");

  EXPECT_EQ(load_error(options).reason, "model_file_not_found");
}

TEST(LlamaLoad, RefusesATextFileAsModelOrProjector) {
  const TemporaryFile text("text.gguf", "This is not a model.\n");
  LoadOptions options = bundled_options();
  options.model_path = text.path();
  EXPECT_EQ(load_error(options).reason, "model_file_invalid");

  options = bundled_options();
  options.mmproj_path = text.path();
  EXPECT_EQ(load_error(options).reason, "projector_file_invalid");
}

TEST(LlamaLoad, RefusesAnEmptyFile) {
  const TemporaryFile empty("empty.gguf", "");
  LoadOptions options = bundled_options();
  options.model_path = empty.path();
  EXPECT_EQ(load_error(options).reason, "model_file_invalid");

  options = bundled_options();
  options.mmproj_path = empty.path();
  EXPECT_EQ(load_error(options).reason, "projector_file_invalid");
}

TEST(LlamaLoad, RefusesSwappedFiles) {
  LoadOptions options = bundled_options();
  std::swap(options.model_path, options.mmproj_path);

  EXPECT_EQ(load_error(options).reason, "model_file_invalid");
}

TEST(LlamaLoad, RefusesALanguageModelAsProjector) {
  LoadOptions options = bundled_options();
  options.mmproj_path = options.model_path;

  EXPECT_EQ(load_error(options).reason, "projector_file_invalid");
}

TEST(LlamaLoad, RunsTextOnlyWithoutAProjector) {
  LoadOptions options = bundled_options();
  options.mmproj_path.clear();
  const auto model = LlamaModel::load(options);
  ASSERT_TRUE(model) << model.error().message;

  EXPECT_FALSE((*model)->info().has_vision);
  const auto text = (*model)->apply_chat_template(user_says("hello"));
  const auto prompt = (*model)->tokenize(text.value(), {});
  ASSERT_TRUE(prompt);
  EXPECT_GT(prompt->n_text_tokens, 0);

  const auto with_image = (*model)->apply_chat_template(user_says("hello", 1));
  const std::vector<ImageSize> sizes{{112, 112}};
  const auto refused = (*model)->tokenize(with_image.value(), whole_images(sizes));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "vision_not_supported");
  EXPECT_FALSE((*model)->prepare(drawn_image(sizes[0])));
}

TEST(LlamaLoad, TokenizesTextTheSameWithAndWithoutVision) {
  LoadOptions options = bundled_options();
  options.mmproj_path.clear();
  const auto text_only = LlamaModel::load(options);
  ASSERT_TRUE(text_only);
  const auto parts = bundled_model().apply_chat_template(user_says("How many <|im_end|> squares?"));

  const auto without = (*text_only)->tokenize(parts.value(), {});
  const auto with = bundled_model().tokenize(parts.value(), {});

  EXPECT_EQ(text_tokens(*without), text_tokens(*with));
}

TEST(LlamaLoad, KeepsTheContextLengthWithinWhatWasTrained) {
  LoadOptions options = bundled_options();
  options.context_length = 1000;
  EXPECT_EQ((*LlamaModel::load(options))->info().context_length, 1000);

  options.context_length = 1'000'000;
  const auto too_long = LlamaModel::load(options);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().reason, "context_length_too_large");
}

TEST(LlamaLoad, CountsTheBytesOfBothFiles) {
  const LoadOptions options = bundled_options();
  const auto n_bytes = std::filesystem::file_size(options.model_path) +
                       std::filesystem::file_size(options.mmproj_path);

  EXPECT_EQ(bundled_model().info().weight_bytes, static_cast<std::int64_t>(n_bytes));
}

/// Either outcome is fine: some bytes of a header matter to nobody.
TEST(LlamaLoad, SurvivesADamagedHeader) {
  constexpr std::size_t kHeaderBytes = 16 * 1024;
  const std::string intact = read_file(bundled_options().model_path);
  std::mt19937 random(7);
  int n_refused = 0;
  for (int i = 0; i < 24; ++i) {
    std::string damaged = intact;
    damaged[random() % kHeaderBytes] = static_cast<char>(random());
    const TemporaryFile file("damaged.gguf", damaged);
    LoadOptions options = bundled_options();
    options.model_path = file.path();
    const auto model = LlamaModel::load(options);
    if (model) continue;
    EXPECT_NE(model.error().code, ErrorCode::kInternal);
    ++n_refused;
  }
  EXPECT_GT(n_refused, 0);
}

class TruncatedFile : public testing::TestWithParam<double> {};

TEST_P(TruncatedFile, IsRefused) {
  LoadOptions options = bundled_options();
  const std::string model = read_file(options.model_path);
  const auto cut = [](const std::string& bytes) {
    return bytes.substr(0,
                        static_cast<std::size_t>(static_cast<double>(bytes.size()) * GetParam()));
  };
  const TemporaryFile short_model("short.gguf", cut(model));
  options.model_path = short_model.path();
  EXPECT_EQ(load_error(options).reason, "model_file_invalid");

  options = bundled_options();
  const TemporaryFile short_projector("short-mmproj.gguf", cut(read_file(options.mmproj_path)));
  options.mmproj_path = short_projector.path();
  EXPECT_EQ(load_error(options).reason, "projector_file_invalid");
}

INSTANTIATE_TEST_SUITE_P(Shares, TruncatedFile,
                         testing::Values(0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.5, 0.999));

}  // namespace
}  // namespace tessera::runtime::llama
