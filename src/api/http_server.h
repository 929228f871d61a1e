// The HTTP server: stages 1 and 8 of every request, on its own threads.
//
//   POST /v1/chat/completions, /v1/visual/plan · POST, GET /v1/files
//   GET, DELETE /v1/files/{id} · GET /v1/models, /v1/models/{id} · /healthz, /readyz, /metrics
//   GET, DELETE /admin/cache
//
// HTTP/1.1 without TLS and without content encodings; a proxy in front adds those. Every limit
// holds while bytes arrive: a request is refused at the first byte that breaks one, and whoever is
// slow loses the connection, not the server its memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "admission/api_keys.h"
#include "api/chat_request.h"
#include "content_log/content_log.h"
#include "core/clock.h"
#include "core/limits.h"
#include "core/result.h"
#include "pipeline/service.h"
#include "uploads/upload_store.h"

namespace tessera::api {

struct HttpTimeouts {
  std::chrono::milliseconds header{10'000};      // first byte → end of the head; RFC-sized heads
                                                 // come in one packet
  std::chrono::milliseconds body_piece{10'000};  // for each 64 KiB, or what is left: ≥ 6.5 KB/s,
                                                 // slower than any usable mobile network
  std::chrono::milliseconds idle{60'000};   // between requests; proxies keep idle for this long
  std::chrono::milliseconds write{15'000};  // for one write: a client that stops reading
};

struct HttpOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6
  std::uint16_t port = 8080;          // 0 = any free one
  int n_threads = 2;                  // parsing and writing is a small part of a request's work
  Limits limits;
  admission::ApiKeys keys;                  // none = everyone may call
  admission::ApiKeys admin_keys;            // none = nobody may call /admin
  admission::CacheRules cache_rules;        // of tenants without their own
  std::string model_name;                   // as clients say it; empty = the model's own name
  std::string sandbox_level;                // of image decoders, for /healthz: "A", "B" or "C"
  MediaSources media_sources;               // what chat requests may name by URL
  uploads::UploadStore* uploads = nullptr;  // outlives the server; null = no /v1/files
  content_log::ContentLog* content_log = nullptr;  // outlives the server; null = none is written
  HttpTimeouts timeouts;
  int send_buffer_bytes = 0;  // SO_SNDBUF; 0 = the system's choice
};

struct HttpStats {
  int n_connections = 0;
  int n_chats = 0;                      // chat requests being answered
  std::uint64_t n_body_bytes_read = 0;  // since start, of chat requests
};

/// @thread start and stop from one thread; stats from any
class HttpServer {
 public:
  /// @param service       must outlive stop()
  /// @param metrics_text  the body of /metrics; called on the HTTP threads
  HttpServer(HttpOptions options, pipeline::Service& service,
             std::function<std::string()> metrics_text, const Clock& clock);
  /// stop(), with no time for what runs.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Listens and returns the port.
  /// @errors  invalid_argument (bad_listen_address); unavailable (cannot_listen)
  Result<std::uint16_t> start();

  /// Takes no new requests; gives those that run `grace` to finish, then cancels them and ends.
  /// Returns at most kStopFlush after `grace`; no HTTP thread runs afterwards.
  void stop(std::chrono::milliseconds grace);

  HttpStats stats() const;

  /// What a cancelled request's answer gets to reach its client.
  static constexpr std::chrono::milliseconds kStopFlush{250};

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::api
