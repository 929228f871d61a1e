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

TEST(PromptBuilder, NamesTheVisualTokensAndTheirLimit) {
  Limits limits;
  limits.visual_tokens_max = 9;
  const std::vector<ImageSize> sizes{{280, 28}};

  const auto refused = build_prompt(*model(), ask("what?", 1), sizes, limits);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the images need 10 visual tokens; the limit is 9");
}

TEST(PromptBuilder, NamesTheImageThatNeedsMoreThanOneMayHave) {
  Limits limits;
  limits.image_visual_tokens_max = 9;
  const std::vector<ImageSize> sizes{{252, 28}, {280, 28}};

  const auto refused = build_prompt(*model(), ask("what?", 2), sizes, limits);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "image 2 needs 10 visual tokens; the limit is 9");
}

}  // namespace
}  // namespace tessera::prompt
