// POST /v1/files over a socket.
#include <gtest/gtest.h>

#include "api/files_routes.h"
#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::Client;
using test_support::get;
using test_support::Response;

constexpr std::size_t kFileBytesMax = std::size_t{200} * 1024;

std::string form(const std::string& file, const std::string& purpose = "vision") {
  return "--cut\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n" + purpose +
         "\r\n--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n"
         "Content-Type: image/png\r\n\r\n" +
         file + "\r\n--cut--\r\n";
}

std::string upload_head(const std::string& more) {
  return "POST /v1/files HTTP/1.1\r\nHost: x\r\n"
         "Content-Type: multipart/form-data; boundary=cut\r\n" +
         more + "\r\n";
}

std::string upload(const std::string& body, const std::string& more = {}) {
  return upload_head("Content-Length: " + std::to_string(body.size()) + "\r\n" + more) + body;
}

class UploadTest : public test_support::ServerTest {
 protected:
  UploadTest() { options.uploads = &store_; }

  uploads::UploadStore store_{{.file_bytes_max = kFileBytesMax}, clock};
};

TEST_F(UploadTest, AFileIsKeptAndCanBeListedAndRemoved) {
  start();
  Client client(port);
  const std::string bytes(kFileBytesMax, 'x');

  const Response kept = client.exchange(upload(form(bytes)));

  ASSERT_EQ(kept.status, 200) << kept.body;
  const auto files = store_.list(TenantId{});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].size_bytes, bytes.size());
  EXPECT_TRUE(kept.has(R"({"id":")" + files[0].id + R"(","object":"file","bytes":204800)"));
  const std::string path = "/v1/files/" + files[0].id;
  EXPECT_TRUE(client.exchange(get("/v1/files")).has(files[0].id));
  EXPECT_TRUE(client.exchange(get(path)).has(files[0].id));
  EXPECT_EQ(client.exchange(get(path + "/content")).status, 404);
  EXPECT_TRUE(
      client.exchange("DELETE " + path + " HTTP/1.1\r\nHost: x\r\n\r\n").has(R"("deleted":true)"));
  EXPECT_EQ(client.exchange(get(path)).status, 404);
  EXPECT_EQ(store_.total_bytes(), 0U);
}

TEST_F(UploadTest, AFormMayComeInChunksAndAfterAnExpectation) {
  start();
  const std::string body = form("a cat");
  Client client(port);

  client.send(upload_head("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.receive(false).status, 100);
  for (const char c : body) client.send(std::string("1\r\n") + c + "\r\n");
  client.send("0\r\n\r\n");

  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(store_.total_bytes(), 5U);
}

TEST_F(UploadTest, AFileThatIsTooLargeIsRefusedWhileItArrives) {
  start();
  const std::string body = form(std::string(2 * kFileBytesMax, 'x'));
  Client client(port);

  // One chunk of a length unknown beforehand; most of it is never sent.
  client.send(upload_head("Transfer-Encoding: chunked\r\n") + "80000\r\n" +
              body.substr(0, kFileBytesMax + kFormBytesMax));
  const Response refused = client.receive();

  EXPECT_EQ(refused.status, 413);
  EXPECT_TRUE(refused.has("upload_too_large")) << refused.body;
  EXPECT_TRUE(refused.head_has("Connection: close"));
  EXPECT_EQ(store_.total_bytes(), 0U);
}

TEST_F(UploadTest, AFormThatSaysThatItIsTooLargeIsNotRead) {
  start();

  const Response refused = exchange(
      upload_head("Content-Length: " + std::to_string(kFileBytesMax + kFormBytesMax + 1) + "\r\n"));

  EXPECT_EQ(refused.status, 413);
  EXPECT_TRUE(refused.has("body_too_large"));
  EXPECT_EQ(server->stats().n_body_bytes_read, 0U);
}

TEST_F(UploadTest, WhatIsNoUploadIsRefusedByName) {
  start();

  const std::pair<std::string, const char*> refusals[] = {
      {upload(form("a cat", "fine-tune")), R"("param":"purpose","code":"invalid_value")"},
      {upload(form("a cat", "")), R"("param":"purpose","code":"missing_field")"},
      {upload(form("")), R"("code":"upload_empty")"},
      {upload("--cut--\r\n"), R"("code":"missing_field")"},
      {upload("no form"), R"("code":"invalid_multipart")"},
      {upload(form("a cat"), "Origin: https://example.com\r\n"), R"("code":"origin_not_allowed")"},
      {"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
       "Content-Length: 2\r\n\r\n{}",
       R"("code":"invalid_multipart")"},
  };
  for (const auto& [request, error] : refusals) {
    const Response refused = exchange(request);
    EXPECT_EQ(refused.status, 400);
    EXPECT_TRUE(refused.has(error)) << refused.body;
    EXPECT_FALSE(refused.has("fine-tune"));
  }
  EXPECT_EQ(store_.total_bytes(), 0U);
}

TEST_F(UploadTest, MemoryForBodiesIsSharedWithChats) {
  options.limits.held_bytes_max = std::size_t{100} * 1024;
  start();

  const Response refused = exchange(upload(form(std::string(kFileBytesMax, 'x'))));

  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.has("server_busy"));
}

TEST_F(UploadTest, AServerWithoutUploadsHasNoSuchPath) {
  options.uploads = nullptr;
  start();

  EXPECT_TRUE(exchange(upload(form("a cat"))).has("unknown_path"));
  EXPECT_TRUE(exchange(get("/v1/files")).has("unknown_path"));
}

}  // namespace
}  // namespace tessera::api
