#include "api/http_server.h"

#include <gtest/gtest.h>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using std::chrono::milliseconds;
using test_support::chat_body;
using test_support::Client;
using test_support::get;
using test_support::post;
using test_support::Response;

const std::string kStream = R"("stream":true)";

class HttpServerTest : public test_support::ServerTest {};

TEST_F(HttpServerTest, SaysWhereItCannotListen) {
  start();
  HttpOptions same_port;
  same_port.port = port;
  HttpOptions bad_address;
  bad_address.address = "localhost";

  const auto taken = HttpServer(same_port, service, nullptr, clock).start();
  const auto bad = HttpServer(bad_address, service, nullptr, clock).start();

  EXPECT_EQ(taken.error().reason, "cannot_listen");
  EXPECT_NE(taken.error().message.find(std::to_string(port)), std::string::npos);
  EXPECT_EQ(bad.error().reason, "bad_listen_address");
}

TEST_F(HttpServerTest, ServesTheNameItWasGiven) {
  options.model_name = "org/my model";
  start();

  EXPECT_EQ(exchange(get("/v1/models/org%2Fmy%20model")).status, 200);
  EXPECT_EQ(exchange(post(chat_body(R"("model":"org/my model")"))).status, 200);
  EXPECT_EQ(exchange(post(chat_body(R"("model":"tiny")"))).status, 404);
}

TEST_F(HttpServerTest, RefusesTheConnectionTooManyWhileAllAreServed) {
  options.limits.connections_max = 1;
  service.script.ends = false;
  start();
  Client first(port);
  first.send(post(chat_body(kStream)));
  ASSERT_TRUE(first.receive_until("ab "));

  const Response refused = Client(port).receive();

  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.complete);
  EXPECT_TRUE(refused.has("too_many_connections"));
  service.release();
  EXPECT_TRUE(first.receive_until("[DONE]"));
  while (Client(port).exchange(get("/healthz")).status != 200) std::this_thread::yield();
}

TEST_F(HttpServerTest, WhoeverWaitedLongestForARequestMakesRoomForTheNextConnection) {
  options.limits.connections_max = 2;
  options.n_threads = 1;  // does first what came first
  start();
  Client silent(port);
  while (server->stats().n_connections < 1) std::this_thread::yield();
  Client kept(port);
  ASSERT_EQ(kept.exchange(get("/healthz")).status, 200);

  Client next(port);
  EXPECT_EQ(next.exchange(get("/healthz")).status, 200);
  EXPECT_TRUE(silent.closed_by_server());
  EXPECT_EQ(kept.exchange(get("/healthz")).status, 200);
}

TEST_F(HttpServerTest, HalfAHeadIsNoRequestYet) {
  options.limits.connections_max = 1;
  start();
  Client slow(port);
  slow.send("GET /healthz HT");

  // Refused until the server has begun to read from the slow one.
  while (Client(port).exchange(get("/healthz")).status != 200) std::this_thread::yield();

  EXPECT_TRUE(slow.closed_by_server());
}

TEST_F(HttpServerTest, StopsWithIdleConnectionsAtOnce) {
  start();
  Client silent(port);
  Client idle(port);
  ASSERT_EQ(idle.exchange(get("/healthz")).status, 200);

  server->stop(std::chrono::hours(1));

  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_EQ(server->stats().n_connections, 0);
  server->stop(milliseconds(0));  // again: nothing left to do
}

TEST_F(HttpServerTest, LetsRunningRequestsFinishWithinTheGrace) {
  service.script.n_tokens = 2000;
  start();
  Client client(port);
  client.send(post(chat_body(kStream)));
  ASSERT_TRUE(client.receive_until("ab "));

  server->stop(std::chrono::hours(1));

  const Response response = client.receive();
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(service.wait_accounted(1), "");
}

TEST_F(HttpServerTest, CancelsWhatStillRunsAndSaysSo) {
  service.script.ends = false;
  start();
  Client streaming(port);
  Client waiting(port);
  streaming.send(post(chat_body(kStream)));
  waiting.send(post(chat_body()));
  ASSERT_TRUE(streaming.receive_until("ab "));
  while (service.n_submitted < 2) std::this_thread::yield();

  server->stop(milliseconds(0));

  EXPECT_TRUE(streaming.receive().has(R"("code":"shutting_down")"));
  const Response whole = waiting.receive();
  EXPECT_EQ(whole.status, 503);
  EXPECT_TRUE(whole.has(R"("code":"shutting_down")"));
  EXPECT_EQ(service.n_accounted(), 2U);
}

TEST_F(HttpServerTest, EndsEvenWhenNothingAnswersACancellation) {
  service.script.ends = false;
  service.script.ignores_cancel = true;
  start();
  Client streaming(port);
  Client reading(port);
  streaming.send(post(chat_body(kStream)));
  ASSERT_TRUE(streaming.receive_until("ab "));
  reading.send(post(chat_body()).substr(0, 100));

  server->stop(milliseconds(0));

  EXPECT_EQ(server->stats().n_connections, 0);
}  // the engine ends its streams after the server is gone

}  // namespace
}  // namespace tessera::api
