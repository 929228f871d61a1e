// Test support: a server on loopback in front of a scripted service.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/fake_service.h"
#include "api/http_server.h"
#include "api/test_client.h"
#include "core/log.h"

namespace tessera::api::test_support {

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    options.port = 0;
    set_log_level(LogLevel::kError);
  }

  void start() {
    server = std::make_unique<HttpServer>(
        options, service, [] { return std::string("tessera_up 1\n"); }, *server_clock);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().message;
    port = *started;
  }
  Response exchange(const std::string& request) { return Client(port).exchange(request); }

  HttpOptions options;
  SteadyClock clock;
  const Clock* server_clock = &clock;
  FakeService service;
  std::unique_ptr<HttpServer> server;  // destroyed before what it uses
  std::uint16_t port = 0;
};

}  // namespace tessera::api::test_support
