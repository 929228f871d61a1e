// /v1/files in the shapes of OpenAI's API, as pure functions: routes, what an upload must look
// like, and answers. A file's name is not kept, so none is told; its content cannot be read back.
// @thread any
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/http_rules.h"
#include "core/result.h"
#include "uploads/upload_store.h"

namespace tessera::api {

/// What a form may have beside its file: boundaries, part headers, small fields.
inline constexpr std::size_t kFormBytesMax = std::size_t{64} * 1024;

/// @param path  without a query
/// @return      404 and 405 as replies
std::variant<MatchedRoute, Reply> match_files_route(std::string_view method, std::string_view path);

/// Whether the form of an upload may be read at all.
/// @param origin          the header; empty = none
/// @param file_bytes_max  of the file alone
/// @return  the refusal; the connection closes with it
std::optional<Reply> refuse_upload(const BodyHead& head, std::string_view origin,
                                   std::size_t file_bytes_max);

/// @errors  invalid_argument (`param` is "purpose")
Result<void> check_purpose(std::string_view purpose);

/// What GET and DELETE of kFileList, kFile and kFileDelete answer.
/// @param now_seconds  Unix time
Reply files_reply(uploads::UploadStore& store, const MatchedRoute& matched, TenantId tenant,
                  std::int64_t now_seconds);

/// OpenAI's file object.
std::string file_json(const uploads::UploadInfo& info, std::int64_t now_seconds);

}  // namespace tessera::api
