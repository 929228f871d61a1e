#include "api/cache_json.h"

#include <gtest/gtest.h>

#include "api/error_response.h"

namespace tessera::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

pipeline::CacheReport report() {
  pipeline::TierReport memory;
  memory.tier = "memory";
  memory.n_entries = 2;
  memory.n_bytes = 5000;
  memory.bytes_max = 1 << 20;
  memory.n_hits = 7;
  memory.n_misses = 3;
  memory.n_evicted = 1;
  memory.saved = milliseconds(1500);
  memory.oldest_use = seconds(90);
  pipeline::TenantUse use;
  use.tenant = "alice \"a\"";
  use.n_entries = 2;
  use.n_bytes = 5000;
  use.n_hits = 7;
  use.oldest_use = seconds(90);
  use.last_use = milliseconds(2500);
  memory.tenants = {use};
  pipeline::TierReport disk;
  disk.tier = "disk";
  disk.on = false;
  disk.n_errors = 1;
  return {{memory, disk}};
}

TEST(CacheJson, AReportComesBackAsItWas) {
  const std::string json = cache_report_json(report());

  const auto read = parse_cache_report(json);

  ASSERT_TRUE(read) << json;
  EXPECT_EQ(cache_report_json(*read), json);
  ASSERT_EQ(read->tiers.size(), 2U);
  EXPECT_EQ(read->tiers[0].n_misses, 3U);
  EXPECT_EQ(read->tiers[0].saved, milliseconds(1500));
  EXPECT_EQ(read->tiers[0].tenants[0].tenant, "alice \"a\"");
  EXPECT_EQ(read->tiers[0].tenants[0].last_use, milliseconds(2500));
  EXPECT_FALSE(read->tiers[1].on);
  EXPECT_EQ(read->tiers[1].n_errors, 1U);
  EXPECT_EQ(read->tiers[1].oldest_use, std::nullopt);
}

TEST(CacheJson, APurgeComesBackAsItWas) {
  const auto read = parse_forgotten(forgotten_json({3, 4}));

  ASSERT_TRUE(read);
  EXPECT_EQ(read->n_memory, 3U);
  EXPECT_EQ(read->n_disk, 4U);
}

TEST(CacheJson, AnythingElseIsABadAnswer) {
  const std::string whole = cache_report_json(report());
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("<html>"),
        whole.substr(0, whole.size() - 1), std::string(R"({"tiers":[{"tier":"memory"}]})"),
        std::string(R"({"tiers":{}})"), std::string(R"({"tiers":[1]})")}) {
    EXPECT_EQ(parse_cache_report(text).error().reason, "bad_answer") << text;
    EXPECT_EQ(parse_forgotten(text).error().reason, "bad_answer") << text;
  }
}

TEST(CacheJson, AnErrorKeepsItsWordsAndGetsTheCodeOfItsStatus) {
  const Error sent = make_error(ErrorCode::kNotFound, "tenant_unknown", "there is none");
  const Error read = parse_error(error_json(sent), 404);
  EXPECT_EQ(read.reason, "tenant_unknown");
  EXPECT_EQ(read.message, "there is none");
  EXPECT_EQ(read.code, ErrorCode::kNotFound);

  EXPECT_EQ(parse_error(error_json(sent), 403).code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(parse_error(error_json(sent), 400).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(parse_error("<html>", 502).reason, "bad_answer");
  EXPECT_EQ(parse_error("<html>", 502).code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tessera::api
