// TestServer with TLS: shows one certificate, and answers each request with one text.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "fetch/test_certificates.h"
#include "fetch/test_server.h"

namespace tessera::fetch {

class TlsTestServer {
 public:
  /// @param body  of every answer
  TlsTestServer(TestCertificate certificate, std::string body)
      : certificate_(std::move(certificate)),
        body_(std::move(body)),
        context_(SSL_CTX_new(TLS_server_method())),
        server_(TestServer::RawHandler([this](int fd) { serve(fd); })) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that have gone
  }

  std::string url(std::string_view host) const {
    return "https://" + std::string(host) + ":" + std::to_string(port()) + "/a.png";
  }
  std::uint16_t port() const { return server_.port(); }
  std::size_t n_connections() const { return server_.n_connections(); }
  /// Heads of requests that were read: a client that is not convinced sends none.
  int n_requests() const { return requests_.highest(); }

 private:
  void serve(int fd) {
    const std::unique_ptr<SSL, OpensslFree<SSL_free>> tls(SSL_new(context_.get()));
    EXPECT_EQ(SSL_use_certificate(tls.get(), certificate_.x509.get()), 1);
    EXPECT_EQ(SSL_use_PrivateKey(tls.get(), certificate_.key.get()), 1);
    SSL_set_fd(tls.get(), fd);
    if (SSL_accept(tls.get()) != 1) return;
    std::string head;
    std::array<char, 1024> bytes{};
    while (head.find("\r\n\r\n") == std::string::npos) {
      const int n = SSL_read(tls.get(), bytes.data(), static_cast<int>(bytes.size()));
      if (n <= 0) return;
      head.append(bytes.data(), static_cast<std::size_t>(n));
    }
    requests_.add();
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n\r\n" + body_;
    SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(tls.get());
  }

  const TestCertificate certificate_;
  const std::string body_;
  const std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>> context_;
  TestCounter requests_;
  TestServer server_;  // last: its threads use what stands above
};

}  // namespace tessera::fetch
