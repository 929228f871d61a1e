#include "api/admin_routes.h"

#include <gtest/gtest.h>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::get;
using test_support::post;
using test_support::Response;

constexpr const char* kTenants = "alice: alice-key-0123456789";
constexpr const char* kAdmins = "operator: admin-key-0123456789";
const std::string kAlice = "Authorization: Bearer alice-key-0123456789\r\n";
const std::string kAdmin = "Authorization: Bearer admin-key-0123456789\r\n";

std::string del(const std::string& target, const std::string& more_fields) {
  return "DELETE " + target + " HTTP/1.1\r\nHost: x\r\n" + more_fields + "\r\n";
}

class AdminRoutesTest : public test_support::ServerTest {
 protected:
  AdminRoutesTest() {
    options.keys = admission::ApiKeys::parse(kTenants).value();
    options.admin_keys = admission::ApiKeys::parse(kAdmins).value();
  }
};

TEST(MatchAdminRoute, KnowsItsMethodsAndKeepsAPurgesQuery) {
  EXPECT_EQ(std::get<MatchedRoute>(match_route("GET", "/admin/cache?x")).route,
            Route::kCacheReport);
  const auto purge = std::get<MatchedRoute>(match_route("DELETE", "/admin/cache?tenant=a%20b"));
  EXPECT_EQ(purge.route, Route::kCachePurge);
  EXPECT_EQ(purge.id, "tenant=a%20b");
  EXPECT_EQ(std::get<MatchedRoute>(match_route("DELETE", "/admin/cache")).id, "");
  EXPECT_EQ(std::get<Reply>(match_route("POST", "/admin/cache")).allow, "GET, HEAD, DELETE");
  EXPECT_EQ(std::get<Reply>(match_route("GET", "/admin/caches")).status, 404);
  EXPECT_EQ(std::get<Reply>(match_route("GET", "/admin/cache/x")).status, 404);
}

TEST_F(AdminRoutesTest, WithoutAnAdminKeyThereIsNoSuchRoute) {
  options.admin_keys = {};
  start();

  for (const std::string& key : {std::string(), kAlice, kAdmin}) {
    const Response response = exchange(get("/admin/cache", key));
    EXPECT_EQ(response.status, 404);
    EXPECT_TRUE(response.has(R"("code":"admin_disabled")")) << response.body;
  }
  EXPECT_EQ(exchange(del("/admin/cache?all=true", kAlice)).status, 404);
  EXPECT_EQ(service.forgotten, "");
}

TEST_F(AdminRoutesTest, OnlyAnAdminKeyOpensThem) {
  start();

  const Response none = exchange(get("/admin/cache"));
  EXPECT_EQ(none.status, 401);
  EXPECT_TRUE(none.has(R"("code":"missing_admin_key")")) << none.body;
  for (const std::string& request :
       {get("/admin/cache", kAlice), del("/admin/cache?tenant=alice", kAlice),
        del("/admin/cache?all=true", kAlice), get("/admin/nothing", kAlice),
        get("/admin/cache", "Authorization: Bearer admin-key-012345678\r\n")}) {
    const Response response = exchange(request);
    EXPECT_EQ(response.status, 403) << request;
    EXPECT_TRUE(response.has(R"("code":"not_an_admin_key")")) << response.body;
  }
  EXPECT_EQ(service.forgotten, "");
  EXPECT_EQ(exchange(get("/admin/cache", kAdmin)).status, 200);
}

TEST_F(AdminRoutesTest, EvenAServerWithoutTenantsKeysAsksForAnAdminKey) {
  options.keys = {};
  start();

  EXPECT_EQ(exchange(get("/admin/cache")).status, 401);
  EXPECT_EQ(exchange(del("/admin/cache?all=true", kAlice)).status, 403);
  EXPECT_EQ(exchange(get("/admin/cache", kAdmin)).status, 200);
}

TEST_F(AdminRoutesTest, AnAdminKeyIsNoTenants) {
  start();

  EXPECT_EQ(exchange(post(test_support::chat_body(), kAdmin)).status, 401);
  EXPECT_EQ(exchange(get("/v1/models", kAdmin)).status, 401);
}

TEST_F(AdminRoutesTest, TheReportHasTiersAndTenants) {
  pipeline::TierReport memory;
  memory.tier = "memory";
  memory.n_entries = 3;
  pipeline::TenantUse use;
  use.tenant = "alice";
  use.n_entries = 3;
  memory.tenants = {use};
  service.cache.tiers = {memory};
  start();

  const Response response = exchange(get("/admin/cache", kAdmin));

  EXPECT_TRUE(
      response.has(R"({"object":"cache","tiers":[{"tier":"memory","on":true,"n_entries":3)"))
      << response.body;
  EXPECT_TRUE(response.has(R"("tenants":[{"tenant":"alice","n_entries":3,)")) << response.body;
}

TEST_F(AdminRoutesTest, APurgeNamesItsTenantOrSaysAll) {
  start();

  const Response one = exchange(del("/admin/cache?tenant=a%2Bb%3A1", kAdmin));
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(one.body, R"({"object":"cache.purge","n_memory":2,"n_disk":1})");
  EXPECT_EQ(service.forgotten, "a+b:1");
  EXPECT_EQ(exchange(del("/admin/cache?all=true", kAdmin)).status, 200);
  EXPECT_EQ(service.forgotten, "(everybody)");

  service.forgotten.clear();
  for (const char* query : {"", "?", "?tenant=", "?tenant", "?all", "?all=1", "?all=false",
                            "?tenant=a&all=true", "?tenant=a&tenant=b", "?tenants=a", "?&"}) {
    const Response refused = exchange(del("/admin/cache" + std::string(query), kAdmin));
    EXPECT_EQ(refused.status, 400) << query;
    EXPECT_TRUE(refused.has(R"("code":"missing_field")")) << refused.body;
  }
  EXPECT_EQ(service.forgotten, "") << "nothing that cannot be taken back by mistake";
}

TEST_F(AdminRoutesTest, WhatGoesWrongIsSaid) {
  service.forget_error = make_error(ErrorCode::kNotFound, "tenant_unknown", "there is none");
  start();

  const Response response = exchange(del("/admin/cache?tenant=x", kAdmin));

  EXPECT_EQ(response.status, 404);
  EXPECT_TRUE(response.has(R"("code":"tenant_unknown")")) << response.body;
}

}  // namespace
}  // namespace tessera::api
