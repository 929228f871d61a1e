// The one table from an error to what an HTTP client sees, in OpenAI's words. docs/errors.md is
// printed from it.
//
// Constant data and pure functions; usable from any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/error.h"

namespace tessera::api {

struct ErrorRow {
  ErrorCode code;
  int http_status;
  std::string_view type;    // `error.type`
  std::string_view advice;  // what the caller should do next
};

const std::array<ErrorRow, kErrorCodeCount>& error_table();
const ErrorRow& error_row(ErrorCode code);

/// {"error":{"message":…,"type":…,"param":…,"code":…}}; `code` is the error's reason.
std::string error_json(const Error& error);

/// error_table() as a Markdown table.
std::string errors_markdown();

}  // namespace tessera::api
