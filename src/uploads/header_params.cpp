#include "uploads/header_params.h"

#include <algorithm>

#include "core/ascii.h"

namespace tessera::uploads {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes a quoted value off the front of `rest`, which begins with its first quote.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    // Browsers write a quote as %22 and leave backslashes of file names alone; others escape. Only
    // an escaped quote or backslash can be told from a path.
    const bool is_escape =
        rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\');
    if (is_escape) ++i;
    value += rest[i];
  }
  return std::nullopt;
}

/// Takes "; name=value" off the front of `rest`.
bool take_param(std::string_view& rest, HeaderValue& value) {
  if (!rest.starts_with(';')) return false;
  rest = trim(rest.substr(1));
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos) return false;
  std::string name = ascii_lower(trim(rest.substr(0, equals)));
  rest = trim(rest.substr(equals + 1));
  std::optional<std::string> text;
  if (rest.starts_with('"')) {
    text = take_quoted(rest);
  } else {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    text = std::string(trim(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  if (!text || name.empty() || value.param(name)) return false;
  value.params.emplace_back(std::move(name), std::move(*text));
  rest = trim(rest);
  return true;
}

Error invalid(const char* message) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_multipart", message);
}

/// Takes one line off the front.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 2));
  return line;
}

}  // namespace

std::optional<std::string> HeaderValue::param(std::string_view name) const {
  const auto found =
      std::ranges::find_if(params, [name](const auto& entry) { return entry.first == name; });
  if (found == params.end()) return std::nullopt;
  return found->second;
}

std::optional<HeaderValue> parse_header_value(std::string_view text) {
  HeaderValue value;
  const std::size_t end = std::min(text.find(';'), text.size());
  value.token = ascii_lower(trim(text.substr(0, end)));
  if (value.token.empty()) return std::nullopt;
  std::string_view rest = trim(text.substr(end));
  while (!rest.empty()) {
    if (value.params.size() >= kHeaderParamsMax || !take_param(rest, value)) return std::nullopt;
  }
  return value;
}

Result<std::string> form_field_name(std::string_view headers) {
  std::optional<std::string> name;
  while (!headers.empty()) {
    const std::string_view line = take_line(headers);
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') {
      return invalid("a part has a line that is no header");
    }
    const std::string header = ascii_lower(line.substr(0, colon));
    const auto value = parse_header_value(line.substr(colon + 1));
    if (header == "content-disposition") {
      if (name) return invalid("a part has two Content-Disposition headers");
      if (value && value->token == "form-data") name = value->param("name");
      if (!name) return invalid("a part's Content-Disposition is no form-data with a name");
    }
    const bool changes_bytes =
        header == "content-transfer-encoding" &&
        (!value || (value->token != "binary" && value->token != "8bit" && value->token != "7bit"));
    if (changes_bytes) return invalid("a part has a transfer encoding");
  }
  if (!name) return invalid("a part has no Content-Disposition");
  return *name;
}

}  // namespace tessera::uploads
