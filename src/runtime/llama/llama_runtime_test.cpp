#include "runtime/llama/llama_runtime.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "runtime/llama/greedy_run.h"

namespace tessera::runtime::llama {
namespace {

TEST(LlamaRuntime, MakesTheThreeObjectsOfAVisionModel) {
  EXPECT_NE(bundled().model, nullptr);
  EXPECT_NE(bundled().encoder, nullptr);
  ASSERT_NE(bundled().executor, nullptr);
  EXPECT_EQ(bundled().executor->n_sequences_max(), 8);
  EXPECT_EQ(bundled().executor->n_kv_cells(), 4096);
  EXPECT_EQ(bundled().executor->n_rows_max(), 512);
}

TEST(LlamaRuntime, MakesNoEncoderForATextModel) {
  LoadOptions options = bundled_options();
  options.mmproj_path.clear();

  const LoadedModel loaded = load_or_fail(options);

  EXPECT_EQ(loaded.encoder, nullptr);
  EXPECT_NE(loaded.executor, nullptr);
}

TEST(LlamaRuntime, KeepsTheModelAliveForEncoderAndExecutor) {
  LoadedModel loaded = load_or_fail(bundled_options());
  const auto tiles = loaded.model->prepare(drawn_image({112, 112}));

  const auto sampler = loaded.model->make_sampler({});

  loaded.model.reset();

  EXPECT_TRUE(loaded.encoder->encode(*tiles->front(), {}));
  const std::vector<TokenRow> rows{{SequenceId{0}, 1, 0, sampler->get()}};
  EXPECT_EQ(loaded.executor->decode(rows, {}, {}).status, DecodeStatus::kOk);
  EXPECT_EQ(static_cast<LlamaExecutor&>(*loaded.executor).logits(0).size(), 422U);
}

TEST(LlamaRuntime, TakesTwiceTheContextAsCellsWhenNotTold) {
  LoadOptions options = bundled_options();
  options.context_length = 1024;
  options.n_kv_cells = 0;

  EXPECT_EQ(load_or_fail(options).executor->n_kv_cells(), 2048);
}

TEST(LlamaRuntime, KeepsTheNumberOfSequencesWithinTheLibrarysLimit) {
  LoadOptions options = bundled_options();
  options.n_sequences_max = 100'000;
  EXPECT_EQ(load_or_fail(options).executor->n_sequences_max(), 256);

  options.n_sequences_max = 0;
  EXPECT_EQ(load_or_fail(options).executor->n_sequences_max(), 1);
}

TEST(LlamaRuntime, SaysWhenMemoryIsShortForTheCells) {
  LoadOptions options = bundled_options();
  options.n_kv_cells = 2'000'000'000;

  const auto loaded = load(options);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().reason, "kv_cache_too_large");
}

TEST(LlamaRuntime, EveryCornerOfTheSettingsLoadsOrIsRefused) {
  for (const int n_sequences : {1, 2, 16, 256}) {
    for (const int n_cells : {0, 1, 2, 15, 16, 17, 255, 256, 257}) {
      for (const int context_length : {0, 1, 8, 127}) {
        LoadOptions options = bundled_options();
        options.n_sequences_max = n_sequences;
        options.n_kv_cells = n_cells;
        options.context_length = context_length;
        const int n = n_cells > 0 ? n_cells : 2 * (context_length > 0 ? context_length : 8192);

        const auto loaded = load(options);

        ASSERT_EQ(loaded.has_value(), n >= n_sequences) << n_sequences << ' ' << n;
        if (!loaded) EXPECT_EQ(loaded.error().reason, "kv_cache_too_small");
      }
    }
  }
}

TEST(LlamaRuntime, DescribesItsBuild) {
  EXPECT_NE(describe_build().find("CPU"), std::string::npos) << describe_build();
  EXPECT_FALSE(describe_build().ends_with("| ")) << describe_build();
}

/// Q8_0 weights take other matrix kernels than f16; with a bad compiler they end in SIGILL.
TEST(LlamaRuntime, RunsAQ8Model) {
  const std::string path = temporary_path("q8_0.gguf");
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.nthread = 1;
  params.ftype = LLAMA_FTYPE_MOSTLY_Q8_0;
  ASSERT_EQ(llama_model_quantize(bundled_options().model_path.c_str(), path.c_str(), &params), 0U);
  LoadOptions options = bundled_options();
  options.model_path = path;
  LoadedModel loaded = load_or_fail(options);
  std::remove(path.c_str());
  ASSERT_NE(loaded.executor, nullptr);
  ASSERT_LT(loaded.model->info().weight_bytes, bundled_model().info().weight_bytes);
  const std::vector<Image> images{picture_of_discs(std::array{kRed, kGreen, kBlue})};
  const std::vector<ReadyPrompt> prompts{
      make_ready(loaded, user_says("List the shapes from left to right.", 1), images),
      make_ready(loaded, user_says("Is there a blue circle?", 1), images)};

  const auto answers = run_greedy(loaded, prompts, 64);

  EXPECT_EQ(answers[0].text, "red circle, green circle, blue circle");
  EXPECT_EQ(answers[1].text, "yes");
}

}  // namespace
}  // namespace tessera::runtime::llama
