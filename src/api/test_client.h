// Test support: a blocking HTTP client on a loopback socket.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/unique_fd.h"

namespace tessera::api::test_support {

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

}  // namespace tessera::api::test_support
