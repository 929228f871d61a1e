// The logger. Its fields are numbers, enums, ids and words that stand in the source, so that no
// prompt, file name or media byte can reach a log: there is no way to hand it a string that came in
// at run time.
//
//   log(LogLevel::kInfo, "http_request", {{"status", 200}, {"tenant", tenant}});
//
// writes one line to stderr. All functions are thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/ids.h"

namespace tessera {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// A string literal.
class StaticText {
 public:
  consteval StaticText(const char* text) : text_(text) {}  // NOLINT(google-explicit-constructor)
  std::string_view view() const { return text_; }

 private:
  std::string_view text_;
};

class LogField {
 public:
  LogField(StaticText key, std::integral auto value)
      : key_(key), value_(static_cast<std::int64_t>(value)) {}
  LogField(StaticText key, double value) : key_(key), value_(value) {}
  LogField(StaticText key, StaticText value) : key_(key), value_(value.view()) {}
  LogField(StaticText key, ErrorCode code) : key_(key), value_(to_string(code)) {}
  template <typename Tag, typename Rep>
  LogField(StaticText key, Id<Tag, Rep> id)
      : key_(key), value_(static_cast<std::int64_t>(id.value)) {}

  /// Appends " key=value".
  void append_to(std::string& line) const;

 private:
  StaticText key_;
  std::variant<std::int64_t, double, std::string_view> value_;  // the view is of static storage
};

/// What is less urgent is dropped. kInfo at start.
void set_log_level(LogLevel level);

void log(LogLevel level, StaticText event, std::initializer_list<LogField> fields = {});

/// "level event key=value …", without the time.
std::string log_line(LogLevel level, StaticText event, std::initializer_list<LogField> fields);

}  // namespace tessera
