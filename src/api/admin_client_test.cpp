#include "api/admin_client.h"

#include <gtest/gtest.h>

#include "api/cache_json.h"
#include "api/test_server.h"

namespace tessera::api {
namespace {

constexpr const char* kAdminKey = "admin-key-0123456789";

class AdminClientTest : public test_support::ServerTest {
 protected:
  AdminClientTest() { options.admin_keys = admission::ApiKeys::parse(kAdminKey).value(); }
  AdminAddress address() const { return {"127.0.0.1", std::to_string(port)}; }
};

TEST(AdminUrl, HasAHostAndAPort) {
  const auto parsed = [](std::string_view url) {
    const auto address = parse_admin_url(url);
    return address ? address->host + " " + address->port : address.error().message;
  };
  EXPECT_EQ(parsed("http://127.0.0.1:9000"), "127.0.0.1 9000");
  EXPECT_EQ(parsed("HTTP://my-server/"), "my-server 80");
  EXPECT_EQ(parsed("http://[::1]:8080/"), "::1 8080");
  EXPECT_EQ(parsed("http://[::1]"), "::1 80");
  for (const char* wrong :
       {"", "127.0.0.1:9000", "https://x", "http://", "http://:80", "http://x:", "http://x:0",
        "http://x:99999", "http://x/y", "http://x y", "http://user@x", "http://x\r\ny"}) {
    EXPECT_EQ(parsed(wrong), "--url: must be like http://127.0.0.1:8080") << wrong;
  }
}

TEST(PercentEncode, LeavesOnlyWhatMeansItself) {
  EXPECT_EQ(percent_encode("aZ9-._~"), "aZ9-._~");
  EXPECT_EQ(percent_encode("a b&c=d:\xC3\xA9"), "a%20b%26c%3Dd%3A%C3%A9");
}

TEST_F(AdminClientTest, GivesWhatTheServerAnswers) {
  start();

  const auto report = call_admin(address(), "GET", "/admin/cache", kAdminKey);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(parse_cache_report(*report));

  const auto purge = call_admin(address(), "DELETE",
                                "/admin/cache?tenant=" + percent_encode("a&all=true"), kAdminKey);
  ASSERT_TRUE(purge) << purge.error().message;
  EXPECT_EQ(service.forgotten, "a&all=true");
}

TEST_F(AdminClientTest, GivesTheServersRefusalInItsWords) {
  start();

  const auto refused = call_admin(address(), "GET", "/admin/cache", "another-key-0123456789");

  EXPECT_EQ(refused.error().reason, "not_an_admin_key");
  EXPECT_EQ(call_admin(address(), "GET", "/healthz", kAdminKey)->front(), '{');
  EXPECT_EQ(parse_cache_report(*call_admin(address(), "GET", "/healthz", kAdminKey)).error().reason,
            "bad_answer");
}

TEST_F(AdminClientTest, SaysWhenNobodyAnswers) {
  start();
  server->stop(std::chrono::milliseconds(0));

  const auto answer = call_admin(address(), "GET", "/admin/cache", kAdminKey);

  EXPECT_EQ(answer.error().reason, "server_unreachable");
  EXPECT_NE(answer.error().message.find("http://127.0.0.1:" + std::to_string(port)),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::api
