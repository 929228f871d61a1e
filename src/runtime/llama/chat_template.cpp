// LlamaModel::apply_chat_template: the model's own Jinja template, rendered by llama-common.
//
// The user's text never enters the template: a mark stands for each content part, and the rendered
// string is split at the marks. So no text of a user can be read as template syntax, as a media
// marker or as a special token.
#include <chat.h>

#include <exception>

#include "runtime/llama/llama_model.h"

namespace tessera::runtime::llama {
namespace {

constexpr std::string_view kMarkStart = "[[tessera-part-";
constexpr std::string_view kMarkEnd = "]]";

/// What a mark stands for.
using Mark = std::variant<UserText, MediaPlace>;

const char* role_name(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "user";
}

/// Content of one message as marks. Text after text gets a line break between, as llama-server
/// does; none beside images.
std::string mark_content(const Message& message, std::vector<Mark>& marks, std::size_t& n_images) {
  std::string content;
  bool after_text = false;
  for (const ContentPart& part : message.parts) {
    const auto* text = std::get_if<TextPart>(&part);
    if (text != nullptr && after_text) content += '\n';
    content.append(kMarkStart).append(std::to_string(marks.size())).append(kMarkEnd);
    if (text != nullptr) {
      marks.emplace_back(UserText{text->text});
    } else {
      marks.emplace_back(MediaPlace{n_images++});
    }
    after_text = text != nullptr;
  }
  return content;
}

Error template_error(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "chat_template_refused", std::move(message),
                    "messages");
}

/// Splits the rendered template at the marks. Every mark must appear once, in order: a template
/// that drops or repeats a part would answer another question than was asked.
Result<std::vector<PromptPart>> split_at_marks(std::string_view rendered, std::vector<Mark> marks) {
  std::vector<PromptPart> parts;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    std::string mark(kMarkStart);
    mark.append(std::to_string(i)).append(kMarkEnd);
    const std::size_t at = rendered.find(mark);
    if (at == std::string_view::npos) {
      return template_error("the model's chat template leaves out a part of these messages");
    }
    if (at > 0) parts.emplace_back(TemplateText{std::string(rendered.substr(0, at))});
    std::visit([&parts](auto& part) { parts.emplace_back(std::move(part)); }, marks[i]);
    rendered.remove_prefix(at + mark.size());
  }
  if (rendered.find(kMarkStart) != std::string_view::npos) {
    return template_error("the model's chat template repeats a part of these messages");
  }
  if (!rendered.empty()) parts.emplace_back(TemplateText{std::string(rendered)});
  return parts;
}

}  // namespace

Result<std::vector<PromptPart>> LlamaModel::apply_chat_template(
    std::span<const Message> messages) const {
  std::vector<Mark> marks;
  std::size_t n_images = 0;
  common_chat_templates_inputs inputs;
  for (const Message& message : messages) {
    common_chat_msg native;
    native.role = role_name(message.role);
    native.content = mark_content(message, marks, n_images);
    inputs.messages.push_back(std::move(native));
  }
  try {
    const common_chat_params rendered = common_chat_templates_apply(templates_.get(), inputs);
    return split_at_marks(rendered.prompt, std::move(marks));
  } catch (const std::exception&) {
    // The words of the exception may quote the template or the messages.
    return template_error("the model's chat template refuses these messages");
  }
}

}  // namespace tessera::runtime::llama
