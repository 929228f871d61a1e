#include "runtime/llama/random_model/language_part.h"

#include <gtest/gtest.h>

#include "runtime/llama/bundled_model.h"
#include "runtime/llama/greedy_run.h"

namespace tessera::runtime::llama::random_model {
namespace {

class EachArchitecture : public testing::TestWithParam<LanguagePart> {};

LoadedModel load_part(const LanguagePart& part) {
  LoadOptions options;
  options.model_path = temporary_path(part.architecture + ".gguf");
  EXPECT_TRUE(make_language_file("Tiny", part).write(options.model_path, 1));
  options.n_threads = 1;
  options.n_kv_cells = 512;
  options.context_length = 256;
  return load_or_fail(options);
}

TEST_P(EachArchitecture, IsLoadedAndSaysPrintableWords) {
  LoadedModel loaded = load_part(GetParam());
  ASSERT_NE(loaded.model, nullptr);

  const std::vector<ReadyPrompt> prompts{make_ready(loaded, user_says("hello"), {})};
  const GreedyAnswer answer = run_greedy(loaded, prompts, 64, /*mixes=*/false, 4).front();
  ASSERT_EQ(answer.ids.size(), 4U);
  for (const TokenId token : answer.ids) {
    const std::string piece = loaded.model->piece(token);
    EXPECT_EQ(piece.size(), 2U);
    EXPECT_EQ(piece[0], ' ');
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachArchitecture,
                         testing::Values(tiny_llama(), tiny_qwen2vl(), tiny_qwen3vl(0)));

TEST(LanguagePart, WidensTheRowsOfVisualTokensForDeepstack) {
  const LoadedModel loaded = load_part(tiny_qwen3vl(1));
  ASSERT_NE(loaded.model, nullptr);

  EXPECT_EQ(loaded.model->info().embedding_row_width, 128);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
