// One line of the content log: a chat and its answers, as JSON. Made only when the operator asked
// for that log (content_log/content_log.h).
//
// It holds text alone: how many images there were, but no byte, name or URL of one; no key, no
// header.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/request.h"

namespace tessera::api {

/// @thread one writer
class ContentRecord {
 public:
  /// Before the request goes on its way.
  /// @param request_id  as the client knows it
  ContentRecord(std::string request_id, TenantId tenant, std::int64_t unix_seconds,
                const Request& request);

  /// The whole line, without a line feed.
  /// @param answers  one for each choice, as far as they came; none when the request was refused
  std::string finish(std::span<const std::string> answers,
                     const std::optional<ErrorCode>& error) const;

 private:
  struct Text {
    Role role = Role::kUser;
    std::string text;  // of one part
  };

  const std::string request_id_;
  const TenantId tenant_;
  const std::int64_t unix_seconds_;
  const std::size_t n_images_;
  std::vector<Text> texts_;  // in order; parts that are images are left out
};

}  // namespace tessera::api
