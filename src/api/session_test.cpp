#include "api/session.h"

#include <gtest/gtest.h>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::chat_body;
using test_support::Client;
using test_support::get;
using test_support::post;
using test_support::Response;

constexpr const char* kTwoKeys = "alice: alice-key-0123456789\nbob-key-0123456789ab";
const std::string kAlice = "Authorization: Bearer alice-key-0123456789\r\n";
const std::string kBob = "Authorization: Bearer bob-key-0123456789ab\r\n";

// What the server reads of a body at once; it looks at what it read when more has come.
constexpr std::size_t kReadBytes = 65'536;

/// The head of a chat whose body is still to come.
std::string post_head(const std::string& more_fields, std::size_t n_bytes) {
  const std::string whole = post(std::string(n_bytes, ' '), more_fields);
  return whole.substr(0, whole.size() - n_bytes);
}

class SessionTest : public test_support::ServerTest {};

TEST_F(SessionTest, HealthSaysHowDecodersAreConfined) {
  options.sandbox_level = "B";
  start();

  EXPECT_EQ(exchange(get("/healthz")).body, R"({"status":"ok","sandbox_level":"B"})");
}

TEST_F(SessionTest, AnswersTheSimpleRoutes) {
  start();

  EXPECT_EQ(exchange(get("/healthz")).body, R"({"status":"ok"})");
  EXPECT_EQ(exchange(get("/metrics")).body, "tessera_up 1\n");
  EXPECT_TRUE(exchange(get("/v1/models")).has(R"("data":[{"id":"tiny","object":"model")"));
  EXPECT_TRUE(exchange(get("/v1/models/tiny")).has(R"({"id":"tiny","object":"model")"));
  EXPECT_EQ(exchange(get("/v1/models/huge")).status, 404);
  EXPECT_EQ(exchange(get("/nothing")).status, 404);
  const Response wrong_method = exchange(get("/v1/chat/completions"));
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_TRUE(wrong_method.head_has("Allow: POST\r\n"));
}

TEST_F(SessionTest, IsReadyOnlyWhileTheServiceIs) {
  start();

  EXPECT_EQ(exchange(get("/readyz")).status, 200);
  service.is_ready = false;
  const Response response = exchange(get("/readyz"));
  EXPECT_EQ(response.status, 503);
  EXPECT_TRUE(response.head_has("Retry-After: 1\r\n"));
}

TEST_F(SessionTest, AnswersHeadWithoutABody) {
  start();
  Client client(port);

  const Response response = client.exchange("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", false);

  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.head_has("Content-Length: 15\r\n"));
  EXPECT_EQ(client.exchange(get("/metrics")).body, "tessera_up 1\n");
}

TEST_F(SessionTest, KeepsAConnectionForSeveralAndForPipelinedRequests) {
  start();
  Client client(port);

  EXPECT_EQ(client.exchange(post(chat_body())).status, 200);
  EXPECT_EQ(client.exchange(post("{}")).status, 400);
  client.send(get("/healthz") + post(chat_body()) + get("/metrics", "Connection: close\r\n"));
  EXPECT_TRUE(client.receive().has("ok"));
  EXPECT_TRUE(client.receive().has("chat.completion"));
  EXPECT_TRUE(client.receive().head_has("Connection: close"));
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(SessionTest, GivesEachRequestAnIdOfItsOwn) {
  start();
  Client client(port);
  const auto id = [&] {
    const std::string head = client.exchange(get("/healthz")).head;
    return head.substr(head.find("x-request-id: req_"), 50);
  };

  const std::string first = id();

  EXPECT_EQ(first.size(), 50U);
  EXPECT_NE(first, id());
}

TEST_F(SessionTest, RefusesMalformedHttpAndCloses) {
  start();
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n";
  const std::string malformed[] = {
      "GARBAGE\r\n\r\n",
      "GET /healthz HTTP/9.9\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
      head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
      head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      head + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
      head + "Content-Length: -1\r\n\r\n",
  };
  for (const std::string& request : malformed) {
    Client client(port);
    const Response response = client.exchange(request);

    EXPECT_EQ(response.status, 400) << request;
    EXPECT_TRUE(response.has(R"("code":"malformed_http")")) << request;
    EXPECT_TRUE(response.head_has("Connection: close")) << request;
    EXPECT_TRUE(client.closed_by_server());
  }
  EXPECT_EQ(service.n_submitted, 0);
}

TEST_F(SessionTest, RefusesATooLargeHead) {
  start();

  const Response response = exchange(get("/healthz", "X: " + std::string(17'000, 'x') + "\r\n"));

  EXPECT_EQ(response.status, 431);
  EXPECT_TRUE(response.has("more than 16384 bytes"));
}

TEST_F(SessionTest, RefusesCodingsAndTypesThatItDoesNotRead) {
  start();

  EXPECT_EQ(exchange(post(chat_body(), "Content-Encoding: gzip\r\n")).status, 415);
  EXPECT_EQ(exchange("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}").status,
            415);
  EXPECT_EQ(exchange("POST /v1/chat/completions HTTP/1.1\r\n\r\n").status, 411);
}

TEST_F(SessionTest, ReadsAChunkedBody) {
  start();

  const Response response = exchange(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n"
      "10;x=y\r\n{\"messages\":[{\"r\r\n1f\r\nole\":\"user\",\"content\":\"hello\"}]\r\n1\r\n}\r\n"
      "0\r\n\r\n");

  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(std::get<TextPart>(service.last_request.messages.at(0).parts.at(0)).text, "hello");
}

TEST_F(SessionTest, SaysContinueOnlyWhenItWillReadTheBody) {
  start();
  const std::string body = chat_body();
  const std::string request = post(body, "Expect: 100-continue\r\n");
  Client client(port);

  client.send(request.substr(0, request.size() - body.size()));
  EXPECT_EQ(client.receive(false).status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().status, 200);

  const Response refused = exchange(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 999999999\r\n\r\n");
  EXPECT_EQ(refused.status, 413);
}

TEST_F(SessionTest, RefusesATooLargeBodyByItsLengthAndReadsNothing) {
  start();

  const Response response = exchange(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Content-Length: 157286400\r\n\r\n{\"messages\":[");

  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(response.has("the body has 157286400 bytes, the limit is 67108864"));
  EXPECT_TRUE(response.head_has("Connection: close"));
  EXPECT_EQ(server->stats().n_body_bytes_read, 0U);
}

TEST_F(SessionTest, RefusesATooLargeChunkedBodyAtItsLimit) {
  options.limits.body_bytes_max = 300'000;
  start();
  Client client(port);
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 64; ++i) {
    if (!client.send("4000\r\n" + std::string(16384, ' ') + "\r\n")) break;
  }

  const Response response = client.receive();

  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(response.has("the body has more than 300000 bytes"));
  EXPECT_LE(server->stats().n_body_bytes_read, 300'000U + 65'536U);
}

TEST_F(SessionTest, RefusesATooLargeImageWhileItArrives) {
  options.limits.image_bytes_max = 100'000;
  start();
  Client client(port);
  const std::string begin = R"({"messages":[{"role":"user","content":[{"type":"image_url",)"
                            R"("image_url":{"url":"data:;base64,)";
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Content-Length: 60000000\r\n\r\n" +
      begin);
  for (int i = 0; i < 40; ++i) {
    if (!client.send(std::string(16384, 'A'))) break;
  }

  const Response response = client.receive();

  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(response.has("image 1: the image has more than 100000 bytes"));
  EXPECT_TRUE(response.has(R"("param":"messages[0].content[0].image_url.url")"));
  EXPECT_LE(server->stats().n_body_bytes_read, 140'000U + 2 * 65'536U);
}

TEST_F(SessionTest, HoldsNoMoreMediaThanItMay) {
  options.limits.held_bytes_max = 100'000;
  start();

  const Response response = exchange(post(std::string(200'000, ' ')));

  EXPECT_EQ(response.status, 429);
  EXPECT_TRUE(response.has("server_busy"));
  while (server->stats().n_chats > 0) std::this_thread::yield();
  EXPECT_EQ(exchange(post(chat_body())).status, 200);  // what was held is free again
}

TEST_F(SessionTest, OneKeysBodiesLeaveRoomForThoseOfOthers) {
  options.keys = admission::ApiKeys::parse(kTwoKeys).value();
  options.limits.held_bytes_max = 400'000;
  options.limits.tenant_held_bytes_max = 150'000;
  start();
  Client alice(port);
  alice.send(post_head(kAlice, 150'000) + std::string(kReadBytes + 1, ' '));
  while (server->stats().n_body_bytes_read < kReadBytes) std::this_thread::yield();

  const Response refused = exchange(post(std::string(100'000, ' '), kAlice));
  const Response bob = exchange(post(std::string(100'000, ' ') + chat_body(), kBob));

  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.has("tenant_busy"));
  EXPECT_TRUE(refused.head_has("Retry-After: 1\r\n"));
  EXPECT_EQ(bob.status, 200);
}

TEST_F(SessionTest, OnlySoManyBodiesOfOneKeyArriveAtOnce) {
  options.keys = admission::ApiKeys::parse(kTwoKeys).value();
  options.limits.tenant_requests_max = 1;
  start();
  Client slow(port);
  slow.send(post_head(kAlice, 100'000) + std::string(kReadBytes + 1, ' '));
  while (server->stats().n_body_bytes_read == 0) std::this_thread::yield();

  const Response refused = exchange(post(chat_body(), kAlice));
  const Response bob = exchange(post(chat_body(), kBob));

  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.has("tenant_busy"));
  EXPECT_EQ(bob.status, 200);
  slow.close();
  while (server->stats().n_chats > 0) std::this_thread::yield();
  EXPECT_EQ(exchange(post(chat_body(), kAlice)).status, 200);
}

TEST_F(SessionTest, ABodyArrivesWithinTheRequestsTime) {
  ManualClock time;
  server_clock = &time;
  start();
  Client slow(port);
  slow.send(post_head("", 200'000) + std::string(kReadBytes + 1, ' '));
  while (server->stats().n_body_bytes_read == 0) std::this_thread::yield();

  time.advance(options.limits.request_timeout);
  slow.send(std::string(kReadBytes, ' '));
  const Response response = slow.receive();

  EXPECT_TRUE(response.has("deadline_exceeded"));
  EXPECT_TRUE(slow.closed_by_server());
}

TEST_F(SessionTest, AsksForAKeyBeforeItReadsABody) {
  options.keys = admission::ApiKeys::parse(kTwoKeys).value();
  start();

  const Response none = exchange(
      "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\n\r\n{");
  EXPECT_EQ(none.status, 401);
  EXPECT_TRUE(none.has(R"("type":"invalid_request_error","param":null,"code":"missing_api_key")"));
  EXPECT_TRUE(none.head_has("WWW-Authenticate: Bearer\r\n"));
  EXPECT_EQ(server->stats().n_body_bytes_read, 0U);
  const Response wrong = exchange(get("/v1/models", "Authorization: Bearer nope\r\n"));
  EXPECT_EQ(wrong.status, 401);
  EXPECT_TRUE(wrong.has(R"("code":"invalid_api_key")"));
  EXPECT_FALSE(wrong.has("nope"));
  EXPECT_EQ(exchange(get("/v1/nothing")).status, 401);
  EXPECT_EQ(exchange(get("/healthz")).status, 200);
  EXPECT_EQ(exchange(post(chat_body(), kBob)).status, 200);
  EXPECT_EQ(service.last_tenant, TenantId{2});
}

TEST_F(SessionTest, AnswersEveryBadInputInOpenAisShapeAndLivesOn) {
  start();
  const auto with_url = [](const std::string& url) {
    return R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
           url + R"("}}]}]})";
  };
  std::string many_images = R"({"messages":[{"role":"user","content":[)";
  for (int i = 0; i < 10'000; ++i) {
    many_images += R"({"type":"image_url","image_url":{"url":"data:;base64,QQ=="}},)";
  }
  const std::tuple<std::string, int, const char*> inputs[] = {
      {"not json", 400, "invalid_json"},
      {"", 400, "invalid_json"},
      {R"({"messages":[{"role":"user","conte)", 400, "invalid_json"},
      {std::string(100'000, '['), 400, "json_too_deep"},
      {"{\"messages\":\"\xFF\"}", 400, "invalid_utf8"},
      {with_url("data:image/png;base64,Zm9*"), 400, "invalid_base64"},
      {with_url("data:image/png;base64,"), 400, "image_empty"},
      {with_url("https://example.com/x.png"), 400, "remote_media_disabled"},
      {many_images, 413, "too_many_images"},
      {R"({"messages":[{"role":"wizard","content":"hi"}]})", 400, "invalid_value"},
      {chat_body(R"("max_tokens":-1)"), 400, "invalid_value"},
      {chat_body(R"("max_tokens":999999999999)"), 400, "invalid_value"},
      {chat_body(R"("n":5)"), 400, "invalid_value"},
      {chat_body(R"("temperature":1e999)"), 400, "invalid_json"},
      {chat_body(R"("model":"other")"), 404, "model_not_found"},
      {chat_body(R"("tools":[{"type":"function"}])"), 400, "unsupported_parameter"},
      {R"({"messages":[]})", 400, "empty_messages"},
  };
  for (const auto& [body, status, reason] : inputs) {
    const Response response = exchange(post(body));

    EXPECT_EQ(response.status, status) << reason;
    EXPECT_TRUE(response.has(R"("type":"invalid_request_error")")) << response.body;
    EXPECT_TRUE(response.has("\"code\":\"" + std::string(reason) + "\"")) << response.body;
  }
  EXPECT_EQ(exchange(post(chat_body())).status, 200);
}

TEST_F(SessionTest, AccountsEveryChatOnceHoweverItEnds) {
  start();
  exchange(post("not json"));
  EXPECT_EQ(service.wait_accounted(1), "invalid_json");
  exchange(post(chat_body(), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(service.wait_accounted(2), "unsupported_content_encoding");
  exchange(post(chat_body(R"("n":5)")));
  EXPECT_EQ(service.wait_accounted(3), "invalid_value");
  exchange(post(chat_body()));
  EXPECT_EQ(service.wait_accounted(4), "");
  Client(port).send(post(chat_body()).substr(0, 120));  // disappears inside its body
  EXPECT_EQ(service.wait_accounted(5), "client_disconnected");
  EXPECT_TRUE(service.accounted_trace(4).finished());
}

TEST_F(SessionTest, DropsWhoIsTooSlow) {
  options.timeouts.header = std::chrono::milliseconds(30);
  options.timeouts.body_piece = std::chrono::milliseconds(30);
  options.timeouts.idle = std::chrono::milliseconds(30);
  start();

  Client silent(port);
  EXPECT_TRUE(silent.closed_by_server());
  Client in_head(port);
  in_head.send("GET /healthz HT");
  EXPECT_TRUE(in_head.closed_by_server());
  Client in_body(port);
  in_body.send(post(chat_body()).substr(0, 120));
  EXPECT_TRUE(in_body.closed_by_server());
  Client idle(port);
  EXPECT_EQ(idle.exchange(get("/healthz")).status, 200);
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_EQ(service.n_submitted, 0);
}

TEST_F(SessionTest, TheOperatorsRulesOfTheCacheHoldForEveryRequest) {
  options.keys = admission::ApiKeys::parse(std::string(kTwoKeys) +
                                           "\nalice: cache tier_max=memory ttl_seconds_max=60")
                     .value();
  options.cache_rules = admission::parse_cache_rules("scope=request ttl_seconds_max=600").value();
  start();
  const auto cache = [](const std::string& policy) {
    return R"({"messages":[{"role":"user","content":"x"}],"tessera":{"cache":)" + policy + "}}";
  };

  EXPECT_EQ(exchange(post(chat_body(), kBob)).status, 200);
  EXPECT_EQ(service.last_request.cache.scope, CachePolicy::Scope::kRequest);
  EXPECT_EQ(service.last_request.cache.tier, CachePolicy::Tier::kAll);
  EXPECT_EQ(service.last_request.cache.time_to_live, std::chrono::seconds(600));
  EXPECT_EQ(exchange(post(cache(R"({"scope":"tenant","ttl_seconds":5})"), kAlice)).status, 200);
  EXPECT_EQ(service.last_request.cache.scope, CachePolicy::Scope::kTenant);
  EXPECT_EQ(service.last_request.cache.tier, CachePolicy::Tier::kMemory);
  EXPECT_EQ(service.last_request.cache.time_to_live, std::chrono::seconds(5));

  const int n_submitted = service.n_submitted;
  const Response raised = exchange(post(cache(R"({"ttl_seconds":61})"), kAlice));
  EXPECT_EQ(raised.status, 400);
  EXPECT_TRUE(raised.has(R"("param":"tessera.cache.ttl_seconds","code":"limit_not_lower")"))
      << raised.body;
  EXPECT_EQ(exchange(post(cache(R"({"tier":"all"})"), kAlice)).status, 400);
  EXPECT_EQ(service.n_submitted, n_submitted);
  EXPECT_EQ(exchange(post(cache(R"({"ttl_seconds":61})"), kBob)).status, 200);
}

TEST_F(SessionTest, NoStoreKeepsARequestOutOfTheCache) {
  start();
  const auto scope_of = [this](const std::string& body, const std::string& fields) {
    EXPECT_EQ(exchange(post(body, fields)).status, 200);
    return service.last_request.cache.scope;
  };
  const std::string no_store = "Cache-Control: no-store\r\n";
  const std::string none =
      R"({"messages":[{"role":"user","content":"x"}],"tessera":{"cache":{"scope":"none"}}})";

  EXPECT_EQ(scope_of(chat_body(), ""), CachePolicy::Scope::kTenant);
  EXPECT_EQ(scope_of(chat_body(), no_store), CachePolicy::Scope::kRequest);
  EXPECT_EQ(scope_of(chat_body(), "Cache-Control: max-age=1\r\n" + no_store),
            CachePolicy::Scope::kRequest);
  EXPECT_EQ(scope_of(none, no_store), CachePolicy::Scope::kNone);
}

}  // namespace
}  // namespace tessera::api
