#include "api/http_rules.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

TEST(MatchRoute, KnowsEveryRouteWithAndWithoutAQuery) {
  const std::tuple<const char*, const char*, Route> routes[] = {
      {"POST", "/v1/chat/completions", Route::kChat}, {"GET", "/v1/models?x=1", Route::kModels},
      {"GET", "/v1/models/tiny", Route::kModel},      {"POST", "/v1/files?x", Route::kFileUpload},
      {"HEAD", "/healthz", Route::kHealth},           {"GET", "/readyz?", Route::kReady},
      {"GET", "/metrics", Route::kMetrics},
  };
  for (const auto& [method, target, route] : routes) {
    const auto matched = match_route(method, target);
    ASSERT_TRUE(std::holds_alternative<MatchedRoute>(matched)) << target;
    EXPECT_EQ(std::get<MatchedRoute>(matched).route, route);
  }
}

TEST(MatchRoute, DecodesAModelsName) {
  const auto matched = match_route("GET", "/v1/models/org%2Ftiny%20x%zz%4");

  EXPECT_EQ(std::get<MatchedRoute>(matched).id, "org/tiny x%zz%4");
}

TEST(MatchRoute, TellsWrongPathsFromWrongMethods) {
  for (const char* target :
       {"/", "", "/v1", "/v1/models/", "/healthz/", "*", "/v1/chat/completions/"}) {
    EXPECT_EQ(std::get<Reply>(match_route("GET", target)).status, 404) << target;
  }
  const auto get = std::get<Reply>(match_route("GET", "/v1/chat/completions"));
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.allow, "POST");
  const auto del = std::get<Reply>(match_route("DELETE", "/v1/models/tiny"));
  EXPECT_EQ(del.status, 405);
  EXPECT_EQ(del.allow, "GET, HEAD");
}

TEST(BearerKey, IsTakenFromItsSchemeOnly) {
  EXPECT_EQ(bearer_key("Bearer abc"), "abc");
  EXPECT_EQ(bearer_key("bearer   abc"), "abc");
  EXPECT_EQ(bearer_key("Bearer"), "");
  EXPECT_EQ(bearer_key("Bearer  "), "");
  EXPECT_EQ(bearer_key("Basic abc"), "");
  EXPECT_EQ(bearer_key(""), "");
}

TEST(NeedsKey, CoversExactlyTheApi) {
  EXPECT_TRUE(needs_key("/v1/models"));
  EXPECT_TRUE(needs_key("/v1/no-such-path"));
  EXPECT_FALSE(needs_key("/healthz"));
  EXPECT_FALSE(needs_key("/metrics"));
}

TEST(RefuseBody, AcceptsJsonOfAKnownOrChunkedLength) {
  const Limits limits;
  EXPECT_FALSE(refuse_body({limits.body_bytes_max, false, false, "application/json", ""}, limits));
  EXPECT_FALSE(refuse_body(
      {std::nullopt, true, false, "Application/JSON ; charset=utf-8", "identity"}, limits));
}

TEST(RefuseBody, ClosesTheConnectionWithEveryRefusal) {
  const Limits limits;
  const std::tuple<BodyHead, int, const char*> refusals[] = {
      {{limits.body_bytes_max + 1, false, false, "application/json", ""}, 413, "body_too_large"},
      {{std::nullopt, false, false, "application/json", ""}, 411, "length_required"},
      {{5, true, false, "application/json", ""}, 400, "malformed_http"},
      {{std::nullopt, true, true, "application/json", ""}, 400, "malformed_http"},
      {{5, false, false, "application/json", "gzip"}, 415, "unsupported_content_encoding"},
      {{5, false, false, "text/plain", ""}, 415, "unsupported_content_type"},
      {{5, false, false, "", ""}, 415, "unsupported_content_type"},
  };
  for (const auto& [head, status, reason] : refusals) {
    const auto refusal = refuse_body(head, limits);
    ASSERT_TRUE(refusal) << reason;
    EXPECT_EQ(refusal->status, status) << reason;
    EXPECT_TRUE(refusal->close);
    EXPECT_NE(refusal->body.find(reason), std::string::npos) << refusal->body;
  }
}

TEST(ErrorReply, SaysWhenToRetry) {
  Error busy = make_error(ErrorCode::kResourceExhausted, "server_busy", "x");
  EXPECT_EQ(error_reply(busy).status, 429);
  EXPECT_EQ(error_reply(busy).retry_after.count(), 1);
  busy.retry_after = std::chrono::seconds(7);
  EXPECT_EQ(error_reply(busy).retry_after.count(), 7);
  EXPECT_EQ(error_reply(make_error(ErrorCode::kInternal, "x", "y")).retry_after.count(), 0);
}

TEST(NoStore, IsFoundAmongOtherDirectives) {
  for (const char* yes : {"no-store", "No-Store", " no-store ", "max-age=5, no-store",
                          "no-store,private", "\tno-cache ,\tno-store"}) {
    EXPECT_TRUE(says_no_store(yes)) << yes;
  }
  for (const char* no : {"", ",", " ", "no-cache", "no-stored", "x-no-store", "no store",
                         "max-age=5,", "a=no-store"}) {
    EXPECT_FALSE(says_no_store(no)) << no;
  }
}

TEST(Models, HaveOpenAisShape) {
  EXPECT_EQ(models_json("tiny", 5),
            R"({"object":"list","data":[{"id":"tiny","object":"model","created":5,)"
            R"("owned_by":"tessera"}]})");
  EXPECT_EQ(model_json("tiny", 5),
            R"({"id":"tiny","object":"model","created":5,"owned_by":"tessera"})");
}

}  // namespace
}  // namespace tessera::api
