#include "core/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <ctime>

namespace tessera {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
  }
  return "error";
}

/// "2026-01-31T12:34:56.789Z "
std::string utc_now() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto in_second = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()) % 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(1000 + in_second.count()).substr(1);
  return std::string(text.data(), n) + '.' + fraction + "Z ";
}

}  // namespace

void LogField::append_to(std::string& line) const {
  line += ' ';
  line += key_.view();
  line += '=';
  if (const auto* text = std::get_if<std::string_view>(&value_)) {
    line += *text;
    return;
  }
  std::array<char, 64> digits{};
  std::to_chars_result end{};
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    end = std::to_chars(digits.begin(), digits.end(), *whole);
  } else {
    constexpr int kDigits = 6;
    end = std::to_chars(digits.begin(), digits.end(), std::get<double>(value_),
                        std::chars_format::general, kDigits);
  }
  line.append(digits.data(), end.ptr);
}

void set_log_level(LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
}

std::string log_line(LogLevel level, StaticText event, std::initializer_list<LogField> fields) {
  std::string line(level_name(level));
  line += ' ';
  line += event.view();
  for (const LogField& field : fields) field.append_to(line);
  return line;
}

void log(LogLevel level, StaticText event, std::initializer_list<LogField> fields) {
  if (level > g_level.load(std::memory_order_relaxed)) return;
  const std::string line = utc_now() + log_line(level, event, fields) + '\n';
  // One write, so that lines of different threads do not mix. A lost log line is not worth more.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tessera
