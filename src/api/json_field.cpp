#include "api/json_field.h"

#include <algorithm>
#include <utility>

namespace tessera::api {
namespace {

std::string_view type_name(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return "an integer";
    case Json::value_t::number_float:
      return "a number";
    case Json::value_t::binary:
    case Json::value_t::discarded:
      return "unknown";
  }
  return "unknown";
}

Error invalid(std::string reason, std::string message, const std::string& path) {
  return make_error(ErrorCode::kInvalidArgument, std::move(reason), std::move(message), path);
}

/// Offset of the first byte that is no UTF-8; npos when there is none.
/// The library checks UTF-8 as well, but says so only in words that differ between its versions.
std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t n = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    if (n == 0 || text.size() - i < n) return i;
    for (std::size_t k = 1; k < n; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80U) return i;
    }
    i += n;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<Field> Field::find(std::string_view key) const {
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  std::string path = path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
  return Field(*member, std::move(path));
}

Result<Field> Field::require(std::string_view key) const {
  if (std::optional<Field> field = find(key)) return *std::move(field);
  const std::string path = path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
  return invalid("missing_field", "'" + path + "' is missing", path);
}

Field Field::at(std::size_t i) const {
  return {(*value_)[i], path_ + '[' + std::to_string(i) + ']'};
}

Result<std::string> Field::string() const {
  if (const auto* text = value_->get_ptr<const std::string*>()) return *text;
  return wrong_type("a string");
}

Result<bool> Field::boolean() const {
  if (const auto* boolean = value_->get_ptr<const bool*>()) return *boolean;
  return wrong_type("a boolean");
}

Result<std::int64_t> Field::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_number_integer()) return wrong_type("an integer");
  bool fits = true;
  std::int64_t value = 0;
  if (const auto* large = value_->get_ptr<const std::uint64_t*>()) {
    fits = *large <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    value = fits ? static_cast<std::int64_t>(*large) : 0;
  } else {
    value = *value_->get_ptr<const std::int64_t*>();
  }
  if (fits && value >= min && value <= max) return value;
  if (fits && max == std::numeric_limits<std::int64_t>::max()) {
    return wrong_value("at least " + std::to_string(min));
  }
  return wrong_value("between " + std::to_string(min) + " and " + std::to_string(max));
}

Result<double> Field::number() const {
  if (!value_->is_number()) return wrong_type("a number");
  return value_->get<double>();
}

Result<void> Field::expect_object() const {
  if (!is_object()) return wrong_type("an object");
  return {};
}

Result<void> Field::expect_array() const {
  if (!is_array()) return wrong_type("an array");
  return {};
}

Error Field::wrong_type(std::string_view expected) const {
  const std::string what = path_.empty() ? "the body" : "'" + path_ + "'";
  return invalid(
      "invalid_type",
      what + " must be " + std::string(expected) + ", not " + std::string(type_name(*value_)),
      path_);
}

Error Field::wrong_value(std::string_view expected) const {
  std::string message = "'" + path_ + "' must be " + std::string(expected);
  if (value_->is_number()) message += ", not " + value_->dump();
  return invalid("invalid_value", std::move(message), path_);
}

Error Field::unsupported(std::string_view what) const {
  return invalid("unsupported_parameter",
                 "'" + path_ + "': this server does not support " + std::string(what), path_);
}

Result<void> Field::expect_members(std::initializer_list<std::string_view> known) const {
  TSR_RETURN_IF_ERROR(expect_object());
  const bool all_known = std::ranges::all_of(value_->items(), [known](const auto& member) {
    return std::ranges::find(known, member.key()) != known.end();
  });
  if (all_known) return {};
  std::string names;
  for (const std::string_view name : known) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return invalid("unsupported_parameter",
                 "'" + path_ + "' has a member that this server does not know; it knows " + names,
                 path_);
}

Result<Json> parse_json(const std::string& text) {
  if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    return invalid("invalid_utf8",
                   "the body is not valid UTF-8 at byte " + std::to_string(at) +
                       " (counted without image data)",
                   {});
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // Only the place: the library's own words quote the body.
    return invalid("invalid_json",
                   "the body is not valid JSON at byte " + std::to_string(error.byte) +
                       " (counted without image data)",
                   {});
  } catch (const Json::exception&) {
    return invalid("invalid_json", "the body holds a number that is out of range", {});
  }
}

}  // namespace tessera::api
