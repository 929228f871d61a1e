// An HTTP server on loopback for tests: each connection is a thread that runs what the test says.
// It speaks in raw text, so that it can say what no library would.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "core/unique_fd.h"

namespace tessera::fetch {

/// A PNG's first bytes, and some more.
inline std::string png_like(std::size_t size_bytes = 100) {
  std::string bytes("\x89PNG\r\n\x1a\n");
  bytes.resize(size_bytes, 'x');
  return bytes;
}

class TestConnection {
 public:
  explicit TestConnection(int fd) : fd_(fd) {}

  /// The request's head, up to its blank line.
  std::string read_head() const {
    std::string head;
    std::array<char, 1024> bytes{};
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (n <= 0) break;
      head.append(bytes.data(), static_cast<std::size_t>(n));
      if (head.starts_with('\x16')) break;  // TLS: no head will come
    }
    return head;
  }

  /// False when the other side is gone.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  void send_body(std::string_view body, std::string_view headers = "") const {
    send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body));
  }

  void redirect(std::string_view location, std::string_view status = "302 Found") const {
    send("HTTP/1.1 " + std::string(status) + "\r\nLocation: " + std::string(location) +
         "\r\nContent-Length: 4\r\n\r\nmove");
  }

  void wait_until_client_closes() const {
    std::array<char, 64> bytes{};
    while (::recv(fd_, bytes.data(), bytes.size(), 0) > 0) {
    }
  }

 private:
  int fd_;
};

class TestServer {
 public:
  using Handler = std::function<void(const TestConnection&, const std::string& head)>;
  /// All of a connection; its socket is shut down afterwards.
  using RawHandler = std::function<void(int fd)>;

  explicit TestServer(Handler handler)
      : TestServer(RawHandler([handler = std::move(handler)](int fd) {
          const TestConnection connection(fd);
          const std::string head = connection.read_head();
          if (!head.empty()) handler(connection, head);
        })) {}

  explicit TestServer(RawHandler handler) : handler_(std::move(handler)) {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  ~TestServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      MutexLock lock(mutex_);
      for (const UniqueFd& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
    }
    connections_.clear();  // joins
  }

  std::uint16_t port() const { return port_; }

  std::string url(std::string_view host, std::string_view target = "/a.png") const {
    return "http://" + std::string(host) + ":" + std::to_string(port_) + std::string(target);
  }

  std::size_t n_connections() const {
    MutexLock lock(mutex_);
    return sockets_.size();
  }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      MutexLock lock(mutex_);
      sockets_.emplace_back(fd);
      connections_.emplace_back([this, fd] {
        handler_(fd);
        ::shutdown(fd, SHUT_RDWR);
      });
    }
  }

  const RawHandler handler_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  mutable Mutex mutex_;
  std::vector<UniqueFd> sockets_ TSR_GUARDED_BY(mutex_);
  std::vector<std::jthread> connections_;  // the acceptor's, then the destructor's
  std::jthread acceptor_;
};

/// A number that threads count up and tests wait for.
class TestCounter {
 public:
  void add(int by = 1) {
    MutexLock lock(mutex_);
    value_ += by;
    if (value_ > highest_) highest_ = value_;
    changed_.notify_all();
  }
  void wait_for(int at_least) {
    MutexLock lock(mutex_);
    while (value_ < at_least) changed_.wait(mutex_, {});
  }
  int highest() const {
    MutexLock lock(mutex_);
    return highest_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  int value_ TSR_GUARDED_BY(mutex_) = 0;
  int highest_ TSR_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::fetch
