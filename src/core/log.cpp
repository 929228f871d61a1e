#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <variant>

namespace tessera {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

std::atomic<LogFormat> g_format{LogFormat::kText};

/// Never destroyed: threads may log until the process is gone.
spdlog::logger& logger() {
  static spdlog::logger* const kLogger = [] {
    auto* const made =
        new spdlog::logger("tessera", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(kTextPattern, spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::info);
    return made;
  }();
  return *kLogger;
}

spdlog::level::level_enum native(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::err;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";  // JSON has no other word for it
  // In millionths, because all are seconds or shares; never as 1e-05, which is harder to read.
  constexpr double kMillion = 1e6;
  constexpr double kRoundedMax = 1e12;  // beyond it a double has no millionths
  if (std::abs(value) < kRoundedMax) value = std::round(value * kMillion) / kMillion;
  std::array<char, 512> digits{};  // the longest double has 309 digits
  const auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed);
  return {digits.data(), end.ptr};
}

}  // namespace

void LogField::append_to(std::string& line, LogFormat format) const {
  const bool json = format == LogFormat::kJson;
  line += json ? ",\"" : " ";
  line += key_.view();
  line += json ? "\":" : "=";
  if (const auto* text = std::get_if<std::string_view>(&value_)) {
    if (json) line += '"';
    line += *text;
    if (json) line += '"';
  } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    line += std::to_string(*whole);
  } else {
    line += number_text(std::get<double>(value_));
  }
}

void set_log_level(LogLevel level) {
  logger().set_level(native(level));
}

void set_log_format(LogFormat format) {
  g_format.store(format, std::memory_order_relaxed);
  logger().set_pattern(format == LogFormat::kJson ? kJsonPattern : kTextPattern,
                       spdlog::pattern_time_type::utc);
}

std::string log_line(LogFormat format, StaticText event, std::initializer_list<LogField> fields) {
  std::string line;
  if (format == LogFormat::kJson) {
    line.append("\"event\":\"").append(event.view()).append("\"");
  } else {
    line += event.view();
  }
  for (const LogField& field : fields) field.append_to(line, format);
  return line;
}

void log(LogLevel level, StaticText event, std::initializer_list<LogField> fields) {
  if (!logger().should_log(native(level))) return;
  const std::string line = log_line(g_format.load(std::memory_order_relaxed), event, fields);
  logger().log(native(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace tessera
