#include "prompt/prompt_builder.h"

#include <gtest/gtest.h>

#include "runtime/fake/fake_runtime.h"

namespace tessera::prompt {
namespace {

Request ask(const std::string& text, std::size_t n_images) {
  Request request;
  Message message;
  for (std::size_t i = 0; i < n_images; ++i) message.parts.emplace_back(ImagePart{i});
  message.parts.emplace_back(TextPart{text});
  request.messages.push_back(std::move(message));
  return request;
}

std::shared_ptr<const runtime::Model> model(int context_length = 4096) {
  runtime::fake::FakeOptions options;
  options.context_length = context_length;
  return runtime::fake::load(options).value().model;
}

TEST(PromptBuilder, CountsVisualTokensFromSizesAlone) {
  const std::vector<ImageSize> sizes{{280, 28}, {29, 29}};

  const auto prompt = build_prompt(*model(), ask("what?", 2), sizes, Limits{});

  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->n_visual_tokens, 10 + 4);
  EXPECT_EQ(prompt->images[1].source, (ImageSize{29, 29}));
}

TEST(PromptBuilder, FillsTheContextToTheLastTokenButOne) {
  const int n_tokens = build_prompt(*model(), ask("abcdef", 0), {}, Limits{}).value().n_tokens();

  EXPECT_TRUE(build_prompt(*model(n_tokens + 1), ask("abcdef", 0), {}, Limits{}));
  const auto full = build_prompt(*model(n_tokens), ask("abcdef", 0), {}, Limits{});

  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, "context_length_exceeded");
}

TEST(PromptBuilder, FitsImagesIntoWhatTheRequestAndTheOperatorAllow) {
  Request request = ask("what?", 3);
  std::get<ImagePart>(request.messages[0].parts[1]).visual_tokens_max = 4;
  Limits limits;
  limits.image_visual_tokens_max = 25;
  limits.visual_tokens_max = 40;
  const std::vector<ImageSize> sizes{{280, 280}, {280, 280}, {84, 84}};

  const auto prompt = build_prompt(*model(), request, sizes, limits);
  request.visual_tokens_max = 20;
  const auto less = build_prompt(*model(), request, sizes, limits);

  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->n_visual_tokens, 25 + 4 + 9);
  EXPECT_EQ(prompt->images[0].budget, 25);
  EXPECT_EQ(prompt->images[0].source, sizes[0]);
  EXPECT_EQ(prompt->images[0].decoded, (ImageSize{140, 140}));
  EXPECT_EQ(prompt->images[2].budget, 0);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->n_visual_tokens, 4 + 4 + 4) << "the cap is 8, and squares have 4 or 9";
}

TEST(PromptBuilder, RefusesAnImageThatNeedsMoreAtItsSmallest) {
  Limits limits;
  limits.visual_tokens_max = 1;
  const std::vector<ImageSize> sizes{{28, 28}, {280, 28}};

  const auto refused = build_prompt(*model(), ask("what?", 2), sizes, limits);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "visual_tokens_exceeded");
}

}  // namespace
}  // namespace tessera::prompt
