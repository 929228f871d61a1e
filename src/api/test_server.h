// Test support: a scripted pipeline::Service, a blocking HTTP client, and a server on loopback that
// joins them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admission/admission.h"
#include "api/http_server.h"
#include "core/log.h"
#include "core/unique_fd.h"

namespace tessera::api::test_support {

/// What the fake engine does with each request.
struct Script {
  int n_tokens = 3;
  std::string piece = "ab ";
  bool ends = true;  // else it waits for the cancellation after its tokens
  bool ignores_cancel = false;
  std::optional<Error> error;  // instead of the choices' ends
};

/// Answers every admitted request by `script`, one token per live request and step, from a thread
/// of its own. Admits by the real limits.
class FakeService final : public pipeline::Service {
 public:
  FakeService()
      : admission_(Limits{}), engine_([this](const std::stop_token& stop) { run(stop); }) {
    info_.name = "tiny";
  }
  ~FakeService() override {
    engine_.request_stop();
    changed_.notify_all();
  }

  const runtime::ModelInfo& model() const override { return info_; }
  bool ready() const override { return is_ready; }

  Result<StreamReader> submit(Request request, TenantId tenant, Trace trace) override {
    TSR_RETURN_IF_ERROR(admission::check_request(request, Limits{}));
    const std::lock_guard lock(mutex_);
    if (refusal) return *refusal;
    std::stop_source cancel;
    auto stream = std::make_shared<TokenStream>(cancel);
    trace.counts.n_text_tokens = 5;
    live_.push_back(std::make_unique<Live>(
        Live{script, stream, cancel, std::move(trace), 0, request.n_choices, nullptr}));
    live_.back()->on_cancel = std::make_unique<std::stop_callback<std::function<void()>>>(
        cancel.get_token(), [this] { wake(); });
    last_request = std::move(request);
    last_tenant = tenant;
    ++n_submitted;
    wake();
    return StreamReader(stream);
  }

  Result<pipeline::PlanReport> plan(Request /*request*/, TenantId /*tenant*/) override {
    return pipeline::PlanReport{};
  }

  void account(const Trace& trace, const std::optional<Error>& error) override {
    const std::lock_guard lock(account_mutex_);
    accounted_.emplace_back(trace, error ? error->reason : "");
    accounted_changed_.notify_all();
  }

  /// Lets requests end whose script does not.
  void release() {
    is_released_ = true;
    wake();
  }

  /// Waits for the n-th accounted answer; its error's reason, empty = none.
  std::string wait_accounted(std::size_t n) {
    std::unique_lock lock(account_mutex_);
    accounted_changed_.wait(lock, [&] { return accounted_.size() >= n; });
    return accounted_[n - 1].second;
  }
  Trace accounted_trace(std::size_t i) {
    const std::lock_guard lock(account_mutex_);
    return accounted_[i].first;
  }
  std::size_t n_accounted() {
    const std::lock_guard lock(account_mutex_);
    return accounted_.size();
  }

  // Set before the requests that they are for.
  Script script;
  std::optional<Error> refusal;
  std::atomic<bool> is_ready{true};
  // Read after the answer that they are of.
  Request last_request;
  TenantId last_tenant;
  std::atomic<int> n_submitted{0};

 private:
  struct Live {
    Script script;
    std::shared_ptr<TokenStream> stream;
    std::stop_source cancel;
    Trace trace;
    int n_done = 0;
    int n_choices = 1;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel;
  };

  void wake() {
    const std::lock_guard lock(wake_mutex_);
    ++n_wakes_;
    changed_.notify_all();
  }

  void run(const std::stop_token& stop) {
    int n_seen = 0;
    while (!stop.stop_requested()) {
      if (!step()) {
        std::unique_lock wake(wake_mutex_);
        changed_.wait(wake, stop, [&] { return n_wakes_ != n_seen; });
        n_seen = n_wakes_;
      }
    }
    const std::lock_guard lock(mutex_);
    for (auto& live : live_) end(*live, make_error(ErrorCode::kCancelled, "cancelled", "stopped"));
    live_.clear();
  }

  /// False when nothing moved.
  bool step() {
    std::vector<std::unique_ptr<Live>> ended;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    bool moved = false;
    for (auto& live : live_) {
      if (live->cancel.stop_requested() && !live->script.ignores_cancel) {
        end(*live, make_error(ErrorCode::kCancelled, "cancelled", "the request was cancelled"));
      } else if (live->n_done < live->script.n_tokens) {
        for (int i = 0; i < live->n_choices; ++i) {
          live->stream->push(TokenDelta{i, 1, live->script.piece, std::nullopt, {}});
        }
        ++live->n_done;
        moved = true;
        continue;
      } else if (!live->script.ends && !is_released_) {
        continue;
      } else if (live->script.error) {
        end(*live, live->script.error);
      } else {
        for (int i = 0; i < live->n_choices; ++i) {
          live->stream->push(ChoiceEnd{i, FinishReason::kStop, live->n_done + 1});
        }
        end(*live, std::nullopt);
      }
      moved = true;
      ended.push_back(std::move(live));
    }
    std::erase_if(live_, [](const auto& live) { return live == nullptr; });
    return moved;
  }

  static void end(Live& live, std::optional<Error> error) {
    live.trace.counts.n_output_tokens = live.n_done;
    live.trace.enter(Stage::kEmit, live.trace.arrival() + live.trace.total());
    live.stream->push(StreamEnd{std::move(error), live.trace});
  }

  runtime::ModelInfo info_;
  admission::Admission admission_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Live>> live_;
  std::mutex wake_mutex_;  // own, because a cancellation may come with mutex_ held
  std::condition_variable_any changed_;
  int n_wakes_ = 0;
  std::atomic<bool> is_released_{false};
  std::mutex account_mutex_;
  std::condition_variable accounted_changed_;
  std::vector<std::pair<Trace, std::string>> accounted_;
  std::jthread engine_;
};

struct Response {
  int status = 0;  // 0 = the connection ended before a head
  std::string head;
  std::string body;  // without its chunks' frames
  bool complete = false;

  bool has(std::string_view text) const { return body.find(text) != std::string::npos; }
  bool head_has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

/// One blocking connection.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }

  /// False when the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// False at the end of the connection.
  bool receive_more() {
    char bytes[16384];
    const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    received_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  /// Reads until `text` has come. False when the connection ended before.
  bool receive_until(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!receive_more()) return false;
    }
    return true;
  }

  /// @param has_body  false for the answer to HEAD
  Response receive(bool has_body = true) {
    Response response;
    if (!receive_until("\r\n\r\n")) return response;
    const std::size_t head_end = received_.find("\r\n\r\n") + 4;
    response.head = received_.substr(0, head_end);
    response.status = std::stoi(response.head.substr(9, 3));
    received_.erase(0, head_end);
    if (!has_body) {
      response.complete = true;
    } else if (response.head_has("Transfer-Encoding: chunked")) {
      response.complete = receive_chunks(response.body);
    } else if (const std::size_t at = response.head.find("Content-Length: ");
               at != std::string::npos) {
      response.complete = take(std::stoul(response.head.substr(at + 16)), response.body);
    } else {
      while (receive_more()) {
      }
      response.body = std::exchange(received_, {});
      response.complete = true;
    }
    return response;
  }

  Response exchange(std::string_view request, bool has_body = true) {
    send(request);
    return receive(has_body);
  }

  bool closed_by_server() {
    while (receive_more()) {
    }
    return received_.empty();
  }
  void shutdown_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

 private:
  bool take(std::size_t n, std::string& to) {
    while (received_.size() < n) {
      if (!receive_more()) return false;
    }
    to += received_.substr(0, n);
    received_.erase(0, n);
    return true;
  }
  bool receive_chunks(std::string& body) {
    for (;;) {
      if (!receive_until("\r\n")) return false;
      const std::size_t size = std::stoul(received_, nullptr, 16);
      received_.erase(0, received_.find("\r\n") + 2);
      std::string frame_end;
      if (!take(size, body) || !take(2, frame_end)) return false;
      if (size == 0) return true;
    }
  }

  UniqueFd fd_;
  std::string received_;
};

inline std::string post(const std::string& body, const std::string& more_fields = "") {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
         more_fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string get(const std::string& target, const std::string& more_fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more_fields + "\r\n";
}

/// A chat body with more members, e.g. R"("stream":true)".
inline std::string chat_body(const std::string& members = "") {
  return R"({"messages":[{"role":"user","content":"hi"}])" +
         (members.empty() ? "" : "," + members) + "}";
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    options.port = 0;
    set_log_level(LogLevel::kError);
  }

  void start() {
    server = std::make_unique<HttpServer>(
        options, service, [] { return std::string("tessera_up 1\n"); }, clock);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().message;
    port = *started;
  }
  Response exchange(const std::string& request) { return Client(port).exchange(request); }

  HttpOptions options;
  SteadyClock clock;
  FakeService service;
  std::unique_ptr<HttpServer> server;  // destroyed before what it uses
  std::uint16_t port = 0;
};

}  // namespace tessera::api::test_support
