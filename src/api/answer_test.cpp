#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::chat_body;
using test_support::Client;
using test_support::get;
using test_support::post;
using test_support::Response;

class AnswerTest : public test_support::ServerTest {
 protected:
  /// A stream whose engine waits for the cancellation after its tokens.
  void start_endless_stream() {
    service.script.ends = false;
    start();
  }
};

const std::string kStream = R"("stream":true)";

/// The answer with its id and time replaced.
std::string normalized(std::string body) {
  for (std::size_t at = 0; (at = body.find("chatcmpl-", at)) != std::string::npos; at += 9) {
    body.erase(at + 9, 32);
  }
  constexpr std::string_view kCreated = R"("created":)";
  for (std::size_t at = 0; (at = body.find(kCreated, at)) != std::string::npos;
       at += kCreated.size()) {
    const std::size_t begin = at + kCreated.size();
    body.replace(begin, body.find(',', begin) - begin, "0");
  }
  return body;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

TEST_F(AnswerTest, IsOneChatCompletion) {
  start();

  const Response response = exchange(post(chat_body()));

  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.head_has("Content-Type: application/json\r\n"));
  EXPECT_EQ(normalized(response.body),
            R"({"id":"chatcmpl-","object":"chat.completion","created":0,"model":"tiny","choices":)"
            R"([{"index":0,"message":{"role":"assistant","content":"ab ab ab ","refusal":null},)"
            R"("logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,)"
            R"("completion_tokens":4,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":0,)"
            R"("text_tokens":5,"image_tokens":0}}})");
  EXPECT_EQ(service.wait_accounted(1), "");
  EXPECT_TRUE(service.accounted_trace(0).finished());
}

TEST_F(AnswerTest, StreamsServerSentEvents) {
  start();
  Client client(port);

  const Response response = client.exchange(
      post(chat_body(R"("stream":true,"n":2,"stream_options":{"include_usage":true})")));

  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.head_has("Content-Type: text/event-stream"));
  EXPECT_TRUE(response.complete);
  const std::string& body = response.body;
  EXPECT_EQ(count(body, R"("delta":{"role":"assistant","content":""})"), 2U);
  EXPECT_EQ(count(body, R"("delta":{"content":"ab "})"), 6U);
  EXPECT_EQ(count(body, R"("delta":{},"logprobs":null,"finish_reason":"stop")"), 2U);
  EXPECT_EQ(count(body, R"("choices":[],"usage":{"prompt_tokens":5,"completion_tokens":8)"), 1U);
  EXPECT_EQ(count(body, "data: "), count(body, "\n\n"));
  EXPECT_TRUE(body.ends_with("}\n\ndata: [DONE]\n\n"));
  EXPECT_EQ(client.exchange(get("/healthz")).status, 200);  // the connection lives on
}

TEST_F(AnswerTest, ReportsItsStagesWhenAsked) {
  start();

  const std::string ask = "X-Tessera-Trace: 1\r\n";
  const Response whole = exchange(post(chat_body(), ask));
  const Response stream = exchange(post(chat_body(kStream), ask));

  EXPECT_TRUE(whole.has(R"("tessera":{"stages_seconds":{"read":)"));
  EXPECT_TRUE(stream.has(R"("choices":[],"tessera":{"stages_seconds":{"read":)"));
  EXPECT_FALSE(exchange(post(chat_body())).has("tessera"));
}

TEST_F(AnswerTest, EndsAnHttp10StreamWithTheConnection) {
  start();
  const std::string body = chat_body(kStream);

  const Response response = exchange(
      "POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);

  EXPECT_FALSE(response.head_has("chunked"));
  EXPECT_TRUE(response.body.starts_with("data: {"));
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
}

TEST_F(AnswerTest, GivesAnErrorBeforeTheFirstTokenItsStatus) {
  service.script = {0, "", true, false,
                    make_error(ErrorCode::kUnsupportedMedia, "unsupported_image", "image 0: odd")};
  start();
  Client client(port);

  for (const std::string& members : {std::string(), kStream}) {
    const Response response = client.exchange(post(chat_body(members)));
    EXPECT_EQ(response.status, 415);
    EXPECT_TRUE(response.has(R"("message":"image 0: odd")"));
  }
  EXPECT_EQ(service.wait_accounted(2), "unsupported_image");
}

TEST_F(AnswerTest, GivesAnErrorAfterTheFirstTokenAnEventAndKeepsTheConnection) {
  service.script = {2, "ab ", false, false,
                    make_error(ErrorCode::kDeadlineExceeded, "deadline_exceeded", "too slow")};
  start();
  Client client(port);

  client.send(post(chat_body(kStream)));
  ASSERT_TRUE(client.receive_until("ab "));
  service.release();
  const Response response = client.receive();

  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.ends_with(
      R"(data: {"error":{"message":"too slow","type":"server_error","param":null,)"
      R"("code":"deadline_exceeded"}})"
      "\n\n"));
  EXPECT_FALSE(response.has("[DONE]"));
  EXPECT_EQ(service.wait_accounted(1), "deadline_exceeded");
  // The head promised it: a client that sends its next request at once must not find it closed.
  EXPECT_EQ(client.exchange(get("/healthz")).status, 200);
}

TEST_F(AnswerTest, SaysWhenToRetry) {
  service.refusal = make_error(ErrorCode::kResourceExhausted, "server_busy", "full");
  service.refusal->retry_after = std::chrono::seconds(3);
  start();

  const Response response = exchange(post(chat_body(kStream)));

  EXPECT_EQ(response.status, 429);
  EXPECT_TRUE(response.head_has("Retry-After: 3\r\n"));
  EXPECT_TRUE(response.has(R"("type":"rate_limit_error")"));
}

TEST_F(AnswerTest, EndsAtAStopStringWhileTheEngineStillRuns) {
  service.script = {50, "abc", false, false, std::nullopt};
  start();

  const Response stream = exchange(post(chat_body(R"("stream":true,"stop":"cab")")));
  const Response whole = exchange(post(chat_body(R"("stop":"cab")")));

  EXPECT_TRUE(stream.has(R"("finish_reason":"stop")"));
  EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
  EXPECT_TRUE(whole.has(R"("content":"ab")"));
  EXPECT_EQ(service.wait_accounted(1), "");
  EXPECT_EQ(service.wait_accounted(2), "");
}

TEST_F(AnswerTest, ServesAHundredStreamsAtOnce) {
  service.script.n_tokens = 40;
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(port));
    ASSERT_TRUE(clients.back()->send(post(chat_body(kStream))));
  }

  std::set<std::string> ids;
  for (const auto& client : clients) {
    const Response response = client->receive();
    ASSERT_TRUE(response.complete);
    EXPECT_EQ(count(response.body, R"("delta":{"content":"ab "})"), 40U);
    EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
    ids.insert(response.body.substr(response.body.find("chatcmpl-"), 41));
  }
  EXPECT_EQ(ids.size(), 100U);
  service.wait_accounted(100);
  EXPECT_EQ(service.n_accounted(), 100U);
}

TEST_F(AnswerTest, DropsAClientThatStopsReading) {
  service.script = {20, std::string(64 * 1024, 'x'), false, false, std::nullopt};
  options.timeouts.write = std::chrono::milliseconds(100);
  options.send_buffer_bytes = 16 * 1024;
  start();
  Client client(port, 4 * 1024);

  client.send(post(chat_body(kStream)));

  EXPECT_EQ(service.wait_accounted(1), "client_disconnected");
  EXPECT_EQ(exchange(get("/healthz")).status, 200);
}

TEST_F(AnswerTest, CutsAnAnswerThatIsTooLong) {
  options.limits.answer_bytes_max = 8;  // "ab ab ab " has nine
  service.script.ends = false;          // the engine goes on until it is cancelled
  start();

  const Response whole = exchange(post(chat_body()));
  EXPECT_EQ(whole.status, 413);
  EXPECT_TRUE(whole.has(R"("code":"answer_too_large")")) << whole.body;
  EXPECT_TRUE(whole.has("more than 8 bytes")) << whole.body;

  const Response streamed = exchange(post(chat_body(kStream)));
  EXPECT_EQ(count(streamed.body, R"("code":"answer_too_large")"), 1U) << streamed.body;
}

TEST_F(AnswerTest, CancelsWhenTheClientDisappearsInAStream) {
  start_endless_stream();
  Client client(port);
  client.send(post(chat_body(kStream)));
  ASSERT_TRUE(client.receive_until("ab "));

  client.close();

  EXPECT_EQ(service.wait_accounted(1), "client_disconnected");
}

TEST_F(AnswerTest, CancelsWhenTheClientDisappearsWhileItWaits) {
  start_endless_stream();
  Client closing(port);
  Client half_closing(port);
  closing.send(post(chat_body()));
  half_closing.send(post(chat_body()));
  while (service.n_submitted < 2) std::this_thread::yield();

  closing.close();
  EXPECT_EQ(service.wait_accounted(1), "client_disconnected");
  half_closing.shutdown_sending();
  EXPECT_EQ(service.wait_accounted(2), "client_disconnected");
}

TEST_F(AnswerTest, SurvivesManyClientsThatDisappearAtOddMoments) {
  service.script.n_tokens = 20;
  start();
  const std::string request = post(chat_body(kStream));

  for (std::size_t i = 0; i < request.size() + 40; ++i) {
    Client client(port);
    client.send(request.substr(0, i));
    if (i > request.size()) client.receive_more();
  }

  EXPECT_EQ(exchange(post(chat_body())).status, 200);
  service.wait_accounted(static_cast<std::size_t>(service.n_submitted));
}

}  // namespace
}  // namespace tessera::api
