#include "api/http_server.h"

#include <pthread.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/server_context.h"
#include "api/session.h"
#include "core/check.h"
#include "core/log.h"

namespace tessera::api {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Out of descriptors or memory: accepting again at once would only spin.
constexpr std::chrono::milliseconds kAcceptPause{50};

// Connections that were given up and are not closed yet: each is a few instructions of an HTTP
// thread away from its end.
constexpr std::size_t kClosingMax = 64;

// Connections that the kernel holds while the accept loop is busy.
constexpr int kBacklog = 512;

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Says why to a client that is one too many, if its socket takes it at once.
void refuse_connection(tcp::socket& socket) {
  constexpr std::string_view kBusy =
      "HTTP/1.1 503 Service Unavailable\r\nServer: tessera\r\nContent-Type: application/json\r\n"
      "Retry-After: 1\r\nConnection: close\r\nContent-Length: 124\r\n\r\n"
      R"({"error":{"message":"the server has too many connections","type":"server_error",)"
      R"("param":null,"code":"too_many_connections"}})";
  static_assert(kBusy.size() - kBusy.find("\r\n\r\n") - 4 == 124);
  static_cast<void>(
      ::send(socket.native_handle(), kBusy.data(), kBusy.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, pipeline::Service& service, std::function<std::string()> metrics_text,
       const Clock& clock)
      : context_{options,
                 service,
                 std::move(metrics_text),
                 clock,
                 options.model_name.empty() ? service.model().name : options.model_name,
                 unix_seconds(),
                 [this](Session* session) { forget(session); }} {}

  Result<std::uint16_t> start();
  void stop(std::chrono::milliseconds grace);
  HttpStats stats() const;

 private:
  asio::awaitable<void> accept_connections();
  /// Ends the connection that has waited longest for a request. False when all are served, or
  /// sessions_max are there because the ends of others take their time.
  bool make_room(std::size_t sessions_max);
  void add(tcp::socket socket);
  void forget(Session* session);
  std::size_t n_sessions() const;
  std::vector<std::shared_ptr<Session>> sessions() const;
  /// False when connections are left after `time`.
  bool wait_until_empty(std::chrono::milliseconds time);

  ServerContext context_;

  mutable std::mutex mutex_;  // guards sessions_
  std::condition_variable became_empty_;
  // ≤ connections_max + kClosingMax
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions_;

  std::unique_ptr<asio::io_context> io_;
  std::unique_ptr<tcp::acceptor> acceptor_;  // on a strand of its own
  std::vector<std::jthread> threads_;
};

Result<std::uint16_t> HttpServer::Impl::start() {
  const HttpOptions& options = context_.options;
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) {
    return make_error(ErrorCode::kInvalidArgument, "bad_listen_address",
                      "host: \"" + options.address + "\" is not an IPv4 or IPv6 address");
  }
  io_ = std::make_unique<asio::io_context>(options.n_threads);
  acceptor_ = std::make_unique<tcp::acceptor>(asio::make_strand(*io_));
  const tcp::endpoint endpoint(address, options.port);
  acceptor_->open(endpoint.protocol(), error);
  if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(kBacklog, error);
  const std::uint16_t port = error ? 0 : acceptor_->local_endpoint(error).port();
  if (error) {
    acceptor_.reset();
    io_.reset();
    return make_error(ErrorCode::kUnavailable, "cannot_listen",
                      "cannot listen on " + options.address + ", port " +
                          std::to_string(options.port) + ": " + error.message());
  }
  asio::co_spawn(
      acceptor_->get_executor(), [this] { return accept_connections(); },
      [](std::exception_ptr thrown) {
        if (thrown != nullptr) TSR_BUG("an exception left the accept loop");
      });
  for (int i = 0; i < options.n_threads; ++i) {
    threads_.emplace_back([this, i] {
      ::pthread_setname_np(::pthread_self(), ("http-" + std::to_string(i)).c_str());
      io_->run();
    });
  }
  return port;
}

asio::awaitable<void> HttpServer::Impl::accept_connections() {
  constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
  asio::steady_timer pause(acceptor_->get_executor());
  const auto connections_max = static_cast<std::size_t>(context_.options.limits.connections_max);
  while (acceptor_->is_open()) {
    auto [error, accepted] = co_await acceptor_->async_accept(asio::make_strand(*io_), kTuple);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      log(LogLevel::kWarning, "accept_failed", {{"system_error", error.value()}});
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kTuple);
      continue;
    }
    tcp::socket socket(std::move(accepted));
    if (n_sessions() < connections_max || make_room(connections_max + kClosingMax)) {
      add(std::move(socket));
    } else {
      refuse_connection(socket);
    }
  }
}

bool HttpServer::Impl::make_room(std::size_t sessions_max) {
  std::shared_ptr<Session> longest;
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  const auto all = sessions();
  for (const auto& session : all) {
    const auto since = session->waits_since();
    if (!since || *since >= earliest) continue;
    earliest = *since;
    longest = session;
  }
  return all.size() < sessions_max && longest != nullptr && longest->give_up();
}

void HttpServer::Impl::add(tcp::socket socket) {
  const auto session = std::make_shared<Session>(std::move(socket), context_);
  {
    const std::lock_guard lock(mutex_);
    sessions_.emplace(session.get(), session);
  }
  session->start();
  if (context_.stopping) session->end_soon();  // stop() may have looked before it was there
}

void HttpServer::Impl::forget(Session* session) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(session);
  if (sessions_.empty()) became_empty_.notify_all();
}

std::size_t HttpServer::Impl::n_sessions() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

std::vector<std::shared_ptr<Session>> HttpServer::Impl::sessions() const {
  std::vector<std::shared_ptr<Session>> live;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, session] : sessions_) {
    if (auto locked = session.lock()) live.push_back(std::move(locked));
  }
  return live;
}

bool HttpServer::Impl::wait_until_empty(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return became_empty_.wait_for(lock, time, [this] { return sessions_.empty(); });
}

void HttpServer::Impl::stop(std::chrono::milliseconds grace) {
  if (io_ == nullptr) return;
  context_.stopping = true;
  asio::post(acceptor_->get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor_->close(ignored);
  });
  for (const auto& session : sessions()) session->end_soon();
  if (!wait_until_empty(grace)) {
    for (const auto& session : sessions()) session->end_now();
    wait_until_empty(kStopFlush);
  }
  io_->stop();
  threads_.clear();
  // Readers go first: their streams may still want to wake a session of this io_context.
  for (const auto& session : sessions()) session->abandon();
  acceptor_.reset();
  io_.reset();  // destroys the coroutines that still wait, and with them their sessions
}

HttpStats HttpServer::Impl::stats() const {
  return {static_cast<int>(n_sessions()), context_.n_chats, context_.n_body_bytes_read};
}

HttpServer::HttpServer(HttpOptions options, pipeline::Service& service,
                       std::function<std::string()> metrics_text, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), service, std::move(metrics_text), clock)) {}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

Result<std::uint16_t> HttpServer::start() {
  return impl_->start();
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

HttpStats HttpServer::stats() const {
  return impl_->stats();
}

}  // namespace tessera::api
