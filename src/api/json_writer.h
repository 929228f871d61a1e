// Writes JSON text in the order it is told, without a tree in between: answers keep OpenAI's order
// of fields, and no library can throw on a model's odd bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::api {

/// Calls must follow JSON's grammar; commas come by themselves.
/// @thread one writer
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  /// @param name  a plain word: not escaped
  JsonWriter& key(std::string_view name);
  /// @param value  bytes that are not valid UTF-8 become U+FFFD
  JsonWriter& text(std::string_view value);
  JsonWriter& number(std::int64_t value);
  /// With six decimals: microseconds, where it is seconds. Not finite = null.
  JsonWriter& seconds(double value);
  /// Shortest form that gives the same float back. Not finite = ±the largest finite float.
  JsonWriter& real(float value);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

  std::string take() && { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view value);
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace tessera::api
