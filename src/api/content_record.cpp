#include "api/content_record.h"

#include <utility>
#include <variant>

#include "api/json_writer.h"

namespace tessera::api {
namespace {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "";
}

}  // namespace

ContentRecord::ContentRecord(std::string request_id, TenantId tenant, std::int64_t unix_seconds,
                             const Request& request)
    : request_id_(std::move(request_id)),
      tenant_(tenant),
      unix_seconds_(unix_seconds),
      n_images_(request.media.size()) {
  for (const Message& message : request.messages) {
    for (const ContentPart& part : message.parts) {
      if (const auto* text = std::get_if<TextPart>(&part)) {
        texts_.push_back({message.role, text->text});
      }
    }
  }
}

std::string ContentRecord::finish(std::span<const std::string> answers,
                                  const std::optional<ErrorCode>& error) const {
  JsonWriter json;
  json.begin_object();
  json.key("request").text(request_id_);
  json.key("tenant").number(static_cast<std::int64_t>(tenant_.value));
  json.key("unix_seconds").number(unix_seconds_);
  json.key("n_images").number(static_cast<std::int64_t>(n_images_));
  json.key("texts").begin_array();
  for (const Text& text : texts_) {
    json.begin_object().key("role").text(name_of(text.role)).key("text").text(text.text);
    json.end_object();
  }
  json.end_array().key("answers").begin_array();
  for (const std::string& answer : answers) json.text(answer);
  json.end_array().key("error");
  if (error) {
    json.text(to_string(*error));
  } else {
    json.null();
  }
  json.end_object();
  return std::move(json).take();
}

}  // namespace tessera::api
