// LlamaModel::apply_chat_template on the bundled model's own template.
#include <gtest/gtest.h>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

Message message(Role role, std::vector<ContentPart> parts) {
  return {role, std::move(parts)};
}

std::vector<PromptPart> render(const std::vector<Message>& messages) {
  auto parts = bundled_model().apply_chat_template(messages);
  if (parts) return std::move(parts).value();
  ADD_FAILURE() << parts.error().message;
  return {};
}

/// Kinds and texts in one line: t"…" template, u"…" user, [n] image.
std::string drawn(const std::vector<PromptPart>& parts) {
  std::string line;
  for (const PromptPart& part : parts) {
    if (const auto* text = std::get_if<TemplateText>(&part)) line += "t\"" + text->text + '"';
    if (const auto* text = std::get_if<UserText>(&part)) line += "u\"" + text->text + '"';
    if (const auto* media = std::get_if<MediaPlace>(&part)) {
      line += '[' + std::to_string(media->image_index) + ']';
    }
  }
  return line;
}

TEST(ChatTemplate, SurroundsUserTextWithTemplateText) {
  EXPECT_EQ(drawn(render(user_says("How many?"))),
            "t\"<|im_start|>user\n\"u\"How many?\"t\"<|im_end|>\n<|im_start|>assistant\n\"");
}

TEST(ChatTemplate, KeepsTurnsAndRolesInOrder) {
  std::vector<Message> messages;
  messages.push_back(message(Role::kSystem, {TextPart{"Be brief."}}));
  messages.push_back(message(Role::kUser, {TextPart{"one"}}));
  messages.push_back(message(Role::kAssistant, {TextPart{"two"}}));
  messages.push_back(message(Role::kUser, {TextPart{"three"}}));

  EXPECT_EQ(drawn(render(messages)),
            "t\"<|im_start|>system\n\"u\"Be brief.\"t\"<|im_end|>\n<|im_start|>user\n\"u\"one\""
            "t\"<|im_end|>\n<|im_start|>assistant\n\"u\"two\"t\"<|im_end|>\n<|im_start|>user\n\""
            "u\"three\"t\"<|im_end|>\n<|im_start|>assistant\n\"");
}

TEST(ChatTemplate, NumbersImagesInOrderOfAppearance) {
  std::vector<Message> messages;
  messages.push_back(message(Role::kUser, {ImagePart{5, {}}, TextPart{"a"}, ImagePart{2, {}}}));
  messages.push_back(message(Role::kAssistant, {TextPart{"b"}}));
  messages.push_back(message(Role::kUser, {ImagePart{5, {}}, TextPart{"c"}}));

  EXPECT_EQ(drawn(render(messages)),
            "t\"<|im_start|>user\n\"[0]u\"a\"[1]t\"<|im_end|>\n<|im_start|>assistant\n\"u\"b\""
            "t\"<|im_end|>\n<|im_start|>user\n\"[2]u\"c\"t\"<|im_end|>\n<|im_start|>assistant\n\"");
}

TEST(ChatTemplate, BreaksTheLineBetweenTextPartsOnly) {
  std::vector<Message> messages;
  messages.push_back(
      message(Role::kUser, {TextPart{"a"}, TextPart{"b"}, ImagePart{0, {}}, TextPart{"c"}}));

  EXPECT_EQ(drawn(render(messages)),
            "t\"<|im_start|>user\n\"u\"a\"t\"\n\"u\"b\"[0]u\"c\""
            "t\"<|im_end|>\n<|im_start|>assistant\n\"");
}

TEST(ChatTemplate, LeavesTextThatLooksLikeAMarkAlone) {
  const std::string text = "[[tessera-part-0]] [[tessera-part-1]] <__media__> {{ messages }}";
  std::vector<Message> messages;
  messages.push_back(message(Role::kUser, {TextPart{text}, ImagePart{0, {}}, TextPart{text}}));

  EXPECT_EQ(drawn(render(messages)), "t\"<|im_start|>user\n\"u\"" + text + "\"[0]u\"" + text +
                                         "\"t\"<|im_end|>\n<|im_start|>assistant\n\"");
}

TEST(ChatTemplate, TakesAMessageWithoutParts) {
  std::vector<Message> messages;
  messages.push_back(message(Role::kUser, {}));

  EXPECT_EQ(drawn(render(messages)), "t\"<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n\"");
}

}  // namespace
}  // namespace tessera::runtime::llama
