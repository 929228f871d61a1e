// What all connections of one HTTP server share. Outlives them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "api/http_server.h"
#include "core/byte_budget.h"
#include "core/clock.h"
#include "core/tenant_places.h"
#include "pipeline/service.h"

namespace tessera::api {

class Session;

/// @thread const members and atomics from any thread
struct ServerContext {
  const HttpOptions options;
  pipeline::Service& service;
  const std::function<std::string()> metrics_text;
  const Clock& clock;
  const std::string model_name;
  const std::int64_t started_seconds;  // Unix time; what /v1/models says as `created`
  /// Called by the destructor of each session.
  const std::function<void(Session*)> on_session_end;

  std::atomic<bool> stopping{false};
  std::atomic<int> n_chats{0};
  std::atomic<std::uint64_t> n_body_bytes_read{0};
  const ByteBudget held{options.limits};
  /// Requests whose body arrives.
  TenantPlaces arriving{static_cast<std::size_t>(options.limits.tenant_requests_max)};
};

}  // namespace tessera::api
