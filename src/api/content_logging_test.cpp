// The content log as a server feeds it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::chat_body;
using test_support::post;
using test_support::Response;

class ContentLoggingTest : public test_support::ServerTest {
 protected:
  ContentLoggingTest() { std::filesystem::remove(path_); }
  ~ContentLoggingTest() override {
    server.reset();
    log_.reset();
    std::filesystem::remove(path_);
  }

  void start_logging() {
    log_ = content_log::ContentLog::open({path_}).value();
    options.content_log = log_.get();
    start();
  }

  /// An answer whose line is in the log when it comes back: connections have threads of their own.
  Response chat(const std::string& request) {
    Response response = exchange(request);
    while (server->stats().n_chats > 0) std::this_thread::yield();
    return response;
  }

  /// After the server has ended: the lines, from "unix_seconds" on without its value.
  std::vector<std::string> lines() {
    server.reset();
    log_.reset();
    std::vector<std::string> found;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      EXPECT_TRUE(line.starts_with(R"({"request":"req_)")) << line;
      found.push_back(line.substr(line.find(R"("n_images")")));
    }
    return found;
  }

 private:
  const std::string path_ =
      testing::TempDir() + "tessera-content-" + std::to_string(::getpid()) + ".jsonl";
  std::unique_ptr<content_log::ContentLog> log_;
};

const std::string kHi = R"("n_images":0,"texts":[{"role":"user","text":"hi"}],"answers":)";

TEST_F(ContentLoggingTest, HasALineForEachChatWholeOrStreamed) {
  start_logging();

  EXPECT_EQ(chat(post(chat_body())).status, 200);
  EXPECT_EQ(chat(post(chat_body(R"("stream":true,"n":2)"))).status, 200);
  EXPECT_EQ(chat(post(chat_body(R"("stop":["b ab"])"))).status, 200);

  EXPECT_EQ(lines(), (std::vector<std::string>{
                         kHi + R"(["ab ab ab "],"error":null})",
                         kHi + R"(["ab ab ab ","ab ab ab "],"error":null})",
                         kHi + R"(["a"],"error":null})",
                     }));
}

TEST_F(ContentLoggingTest, ARequestThatFailsIsThereWithWhatWasSaidBefore) {
  service.script.error = make_error(ErrorCode::kInternal, "internal_error", "it broke");
  start_logging();

  chat(post(chat_body(R"("stream":true)")));
  service.refusal = make_error(ErrorCode::kUnavailable, "shutting_down", "it stops");
  chat(post(chat_body()));

  EXPECT_EQ(lines(), (std::vector<std::string>{kHi + R"(["ab ab ab "],"error":"internal"})",
                                               kHi + R"([],"error":"unavailable"})"}));
}

TEST_F(ContentLoggingTest, ImagesAreCountedAndNothingElseIsSaidOfThem) {
  options.media_sources.remote = true;
  start_logging();

  chat(post(R"({"messages":[{"role":"user","name":"anna","content":[{"type":"text","text":"hi"},)"
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},)"
            R"({"type":"image_url","image_url":{"url":"https://a.example.com/secret.png"}}]}]})"));

  EXPECT_EQ(lines(),
            (std::vector<std::string>{R"("n_images":2,"texts":[{"role":"user","text":"hi"}],)"
                                      R"("answers":["ab ab ab "],"error":null})"}));
}

TEST_F(ContentLoggingTest, WhatIsNoChatIsNotThere) {
  start_logging();

  EXPECT_EQ(chat(post(R"({"messages":"secret"})")).status, 400);
  EXPECT_EQ(chat(post("secret")).status, 400);
  chat(test_support::get("/v1/models"));

  EXPECT_TRUE(lines().empty());
}

}  // namespace
}  // namespace tessera::api
