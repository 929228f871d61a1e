#include "runtime/llama/schema_bounds.h"

#include <json.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tessera::runtime::llama {
namespace {

constexpr std::array<std::string_view, 4> kRepetitionKeys{"minItems", "maxItems", "minLength",
                                                          "maxLength"};

Error refused(std::string why) {
  return make_error(ErrorCode::kInvalidArgument, "json_schema_not_supported",
                    "the JSON schema " + std::move(why), "response_format");
}

Result<void> check_count(const char* what, std::int64_t value, std::int64_t limit) {
  if (value <= limit) return {};
  return refused("has " + std::to_string(value) + ' ' + what + "; at most " +
                 std::to_string(limit) + " are supported");
}

std::int64_t count(const common_json& value) {
  return static_cast<std::int64_t>(value.size());
}

bool is_quantifier(char c) {
  return c == '*' || c == '+' || c == '?' || c == '{';
}

/// Sum of the counts of a pattern, 10 for {3,10}; −1 when it repeats a group or a repetition.
std::int64_t pattern_repetitions(std::string_view pattern) {
  std::int64_t sum = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool before_quantifier = i + 1 < pattern.size() && is_quantifier(pattern[i + 1]);
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (before_quantifier && (c == ')' || c == '}' || is_quantifier(c))) {
      return -1;
    } else if (c == '{') {
      std::int64_t number = 0;
      std::int64_t largest = 0;
      for (++i; i < pattern.size() && pattern[i] != '}'; ++i) {
        const bool digit = pattern[i] >= '0' && pattern[i] <= '9';
        number = digit ? std::min<std::int64_t>(number * 10 + (pattern[i] - '0'), 1 << 20) : 0;
        largest = std::max(largest, number);
      }
      sum += largest;
      if (i + 1 < pattern.size() && is_quantifier(pattern[i + 1])) return -1;
    }
  }
  return sum;
}

/// What one walk adds up.
class SchemaWalk {
 public:
  Result<void> visit(const common_json& node, std::size_t depth) {
    if (depth > kSchemaDepthMax) {
      return refused("is deeper than " + std::to_string(kSchemaDepthMax) + " levels");
    }
    if (node.is_array()) {
      for (const common_json& item : node) TSR_RETURN_IF_ERROR(visit(item, depth + 1));
    } else if (node.is_object()) {
      for (const auto& [key, value] : node.items()) {
        TSR_RETURN_IF_ERROR(visit_member(key, value));
        TSR_RETURN_IF_ERROR(visit(value, depth + 1));
      }
    }
    return {};
  }

 private:
  Result<void> visit_member(const std::string& key, const common_json& value) {
    if (key == "properties" && value.is_object()) n_properties_ += count(value);
    if (key == "enum" && value.is_array()) n_enum_ += count(value);
    if (key == "$ref" && value.is_string() && !value.get<std::string>().starts_with('#')) {
      return refused("refers to another document");
    }
    if (std::ranges::find(kRepetitionKeys, key) != kRepetitionKeys.end() && value.is_number()) {
      n_repetitions_ += static_cast<std::int64_t>(std::clamp(value.get<double>(), 0.0, 1e6));
    }
    if (key == "pattern" && value.is_string()) TSR_RETURN_IF_ERROR(visit_pattern(value));
    TSR_RETURN_IF_ERROR(check_count("properties", n_properties_, kSchemaPropertiesMax));
    TSR_RETURN_IF_ERROR(check_count("enumerated values", n_enum_, kSchemaEnumMax));
    return check_count("repetitions", n_repetitions_, kSchemaRepetitionsMax);
  }

  Result<void> visit_pattern(const common_json& value) {
    const auto pattern = value.get<std::string>();
    TSR_RETURN_IF_ERROR(check_count("bytes in a pattern", static_cast<std::int64_t>(pattern.size()),
                                    kSchemaPatternBytesMax));
    const std::int64_t n = pattern_repetitions(pattern);
    if (n < 0) return refused("has a pattern that repeats a group");
    n_repetitions_ += n;
    return {};
  }

  std::int64_t n_properties_ = 0;
  std::int64_t n_enum_ = 0;
  std::int64_t n_repetitions_ = 0;
};

}  // namespace

Result<void> check_schema_bytes(std::size_t n_bytes) {
  return check_count("bytes", static_cast<std::int64_t>(n_bytes), kSchemaBytesMax);
}

Result<void> check_schema(const common_json& schema) {
  if (!schema.is_object()) return refused("is not an object");
  return SchemaWalk().visit(schema, 1);
}

}  // namespace tessera::runtime::llama
