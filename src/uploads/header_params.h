// Values of HTTP and part headers with parameters: token; name=value; name="quoted value".
// @thread any; pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace tessera::uploads {

/// Far more than any header that we look at has.
inline constexpr std::size_t kHeaderParamsMax = 8;

struct HeaderValue {
  std::string token;                                        // lower case
  std::vector<std::pair<std::string, std::string>> params;  // names in lower case, each once

  std::optional<std::string> param(std::string_view name) const;
};

/// @return  nothing when the text is not of this form, or has a parameter twice
std::optional<HeaderValue> parse_header_value(std::string_view text);

/// The field's name in the headers of one part of a form.
/// @param headers  CRLF-separated lines; a first empty line is allowed
/// @errors  invalid_argument `invalid_multipart`: not exactly one Content-Disposition: form-data
///          with a name, or a Content-Transfer-Encoding that would change the bytes
Result<std::string> form_field_name(std::string_view headers);

}  // namespace tessera::uploads
