// The logger. Its fields are numbers, enums, ids and words that stand in the source, so that no
// prompt, file name or media byte can reach a log: there is no way to hand it a string that came in
// at run time.
//
//   log(LogLevel::kInfo, "http_request", {{"status", 200}, {"tenant", tenant}});
//
// writes one line to stderr, by spdlog: text for people or JSON for programs. All functions are
// thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/ids.h"
#include "core/public_id.h"

namespace tessera {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

enum class LogFormat {
  kText,  // 2026-01-31T12:34:56.789Z info http_request status=200 tenant=1
  kJson,  // {"time":"2026-…Z","level":"info","event":"http_request","status":200,"tenant":1}
};

/// A string literal that needs no escapes in JSON; another one does not compile.
class StaticText {
 public:
  consteval StaticText(const char* text) : text_(text) {  // NOLINT(google-explicit-constructor)
    for (const char c : text_) {
      if (c < ' ' || c > '~' || c == '"' || c == '\\') throw "not a plain word";
    }
  }
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
  LogField(StaticText key, const PublicId& id) : key_(key), value_(id.view()) {}
  template <typename Tag, typename Rep>
  LogField(StaticText key, Id<Tag, Rep> id)
      : key_(key), value_(static_cast<std::int64_t>(id.value)) {}

  /// Appends ` key=value` or `,"key":value`.
  void append_to(std::string& line, LogFormat format) const;

 private:
  StaticText key_;
  std::variant<std::int64_t, double, std::string_view> value_;  // a view lives as long as the call
};

/// What is less urgent is dropped. kInfo at start.
void set_log_level(LogLevel level);

/// kText at start. Before the first line is written by another thread.
void set_log_format(LogFormat format);

void log(LogLevel level, StaticText event, std::initializer_list<LogField> fields = {});

/// Event and fields, without time and level.
std::string log_line(LogFormat format, StaticText event, std::initializer_list<LogField> fields);

}  // namespace tessera
