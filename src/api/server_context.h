// What all connections of one HTTP server share. Outlives them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "api/http_server.h"
#include "core/clock.h"
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
  const std::uint64_t id_prefix;       // random, so that ids of two runs differ
  /// Called by the destructor of each session.
  const std::function<void(Session*)> on_session_end;

  std::atomic<std::uint64_t> next_serial{1};
  std::atomic<bool> stopping{false};
  std::atomic<int> n_chats{0};
  std::atomic<std::uint64_t> n_body_bytes_read{0};
  std::atomic<std::size_t> media_bytes{0};  // ≤ options.media_bytes_max, and one piece
};

}  // namespace tessera::api
