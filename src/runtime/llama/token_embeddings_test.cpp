#include "runtime/llama/token_embeddings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

class TokenEmbeddingsTest : public testing::Test {
 protected:
  const llama_model* model() const { return bundled_model().native(); }
  std::vector<float> empty_row() const {
    return std::vector<float>(static_cast<std::size_t>(llama_model_n_embd_inp(model())), NAN);
  }
};

TEST_F(TokenEmbeddingsTest, ReadsARowForEveryTokenOfTheVocabulary) {
  auto embeddings = TokenEmbeddings::open(bundled_options().model_path, model());
  ASSERT_TRUE(embeddings);
  const int n_tokens = llama_vocab_n_tokens(bundled_model().vocabulary());
  std::vector<float> first = empty_row();
  std::vector<float> last = empty_row();

  EXPECT_TRUE(embeddings->read(0, first.data()));
  EXPECT_TRUE(embeddings->read(n_tokens - 1, last.data()));

  EXPECT_NE(first, last);
  for (const auto& row : {first, last}) {
    EXPECT_TRUE(std::ranges::all_of(row, [](float value) { return std::isfinite(value); }));
  }
}

TEST_F(TokenEmbeddingsTest, RefusesATokenOutsideTheVocabulary) {
  auto embeddings = TokenEmbeddings::open(bundled_options().model_path, model());
  ASSERT_TRUE(embeddings);
  std::vector<float> row = empty_row();

  EXPECT_FALSE(embeddings->read(-1, row.data()));
  EXPECT_FALSE(embeddings->read(llama_vocab_n_tokens(bundled_model().vocabulary()), row.data()));
}

TEST_F(TokenEmbeddingsTest, IsNothingWithoutTheMatrix) {
  EXPECT_FALSE(TokenEmbeddings::open("/no/such/file.gguf", model()));
  EXPECT_FALSE(TokenEmbeddings::open(bundled_options().mmproj_path, model()));
}

TEST_F(TokenEmbeddingsTest, SaysSoWhenTheFileHasBecomeShorter) {
  const std::string path = temporary_path("shorter.gguf");
  std::filesystem::copy_file(bundled_options().model_path, path);
  auto embeddings = TokenEmbeddings::open(path, model());
  ASSERT_TRUE(embeddings);
  std::filesystem::resize_file(path, 4096);
  std::vector<float> row = empty_row();

  EXPECT_FALSE(embeddings->read(0, row.data()));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera::runtime::llama
