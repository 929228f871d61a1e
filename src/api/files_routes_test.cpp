#include "api/files_routes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::api {
namespace {

using std::chrono::seconds;

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};
constexpr std::int64_t kNow = 1'700'000'000;

EncodedMedia file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return {std::move(fd), bytes.size()};
}

class FilesRoutesTest : public ::testing::Test {
 protected:
  std::string add(TenantId tenant, std::string_view bytes = "a cat") {
    return store_.add(tenant, file_of(bytes)).value().id;
  }
  Reply reply(Route route, const std::string& id = {}, TenantId tenant = kTenant) {
    return files_reply(store_, {route, id}, tenant, kNow);
  }

  ManualClock clock_;
  uploads::UploadStore store_{{.time_to_live = seconds(100)}, clock_};
};

TEST(MatchFilesRoute, KnowsEveryRoute) {
  const std::tuple<const char*, const char*, Route, const char*> routes[] = {
      {"POST", "/v1/files", Route::kFileUpload, ""},
      {"GET", "/v1/files", Route::kFileList, ""},
      {"HEAD", "/v1/files", Route::kFileList, ""},
      {"GET", "/v1/files/tessera-file-1", Route::kFile, "tessera-file-1"},
      {"DELETE", "/v1/files/tessera-file-1", Route::kFileDelete, "tessera-file-1"},
  };
  for (const auto& [method, path, route, id] : routes) {
    const auto matched = match_files_route(method, path);
    ASSERT_TRUE(std::holds_alternative<MatchedRoute>(matched)) << path;
    EXPECT_EQ(std::get<MatchedRoute>(matched).route, route);
    EXPECT_EQ(std::get<MatchedRoute>(matched).id, id);
  }
}

TEST(MatchFilesRoute, TellsWrongPathsFromWrongMethods) {
  for (const char* path : {"/v1/files/", "/v1/filesystem", "/v1/file", "/v1/files/a/content", ""}) {
    EXPECT_EQ(std::get<Reply>(match_files_route("GET", path)).status, 404) << path;
  }
  EXPECT_EQ(std::get<Reply>(match_files_route("DELETE", "/v1/files")).allow, "GET, HEAD, POST");
  EXPECT_EQ(std::get<Reply>(match_files_route("POST", "/v1/files/a")).allow, "GET, HEAD, DELETE");
}

TEST(RefuseUpload, TakesAFormThatFits) {
  EXPECT_FALSE(refuse_upload({100 + kFormBytesMax, false, false, "", ""}, "", 100));
  EXPECT_FALSE(refuse_upload({std::nullopt, true, false, "", ""}, "", 100));
}

TEST(RefuseUpload, ClosesTheConnectionWithEveryRefusal) {
  const std::tuple<BodyHead, const char*, const char*> refusals[] = {
      {{101 + kFormBytesMax, false, false, "", ""}, "", "body_too_large"},
      {{std::nullopt, false, false, "", ""}, "", "length_required"},
      {{5, false, false, "", "gzip"}, "", "unsupported_content_encoding"},
      {{5, false, false, "", ""}, "https://example.com", "origin_not_allowed"},
      {{5, false, false, "", ""}, "null", "origin_not_allowed"},
  };
  for (const auto& [head, origin, reason] : refusals) {
    const auto refusal = refuse_upload(head, origin, 100);
    ASSERT_TRUE(refusal) << reason;
    EXPECT_EQ(refusal->error->reason, reason);
    EXPECT_TRUE(refusal->close);
    EXPECT_EQ(refusal->body.find("example.com"), std::string::npos);
  }
}

TEST(CheckPurpose, TakesFilesThatAModelIsToLookAt) {
  EXPECT_TRUE(check_purpose("vision"));
  EXPECT_TRUE(check_purpose("user_data"));
  for (const char* purpose : {"", "fine-tune", "Vision", "vision "}) {
    const auto checked = check_purpose(purpose);
    ASSERT_FALSE(checked) << purpose;
    EXPECT_EQ(checked.error().param, "purpose");
  }
}

TEST_F(FilesRoutesTest, AFileIsToldInTheShapeOfOpenAi) {
  const std::string id = add(kTenant);
  clock_.advance(seconds(30));

  EXPECT_EQ(reply(Route::kFile, id).body,
            R"({"id":")" + id +
                R"(","object":"file","bytes":5,"created_at":1699999970,"expires_at":1700000070,)"
                R"("filename":"","purpose":"vision","status":"processed"})");
}

TEST_F(FilesRoutesTest, AListHasTheTenantsFilesAlone) {
  EXPECT_EQ(reply(Route::kFileList).body, R"({"object":"list","data":[],"has_more":false})");
  const std::string first = add(kTenant);
  const std::string second = add(kTenant);
  const std::string others = add(kOther);

  const std::string list = reply(Route::kFileList).body;

  EXPECT_LT(list.find(first), list.find(second));
  EXPECT_EQ(list.find(others), std::string::npos);
  EXPECT_TRUE(list.ends_with(R"("has_more":false,"first_id":")" + first + R"(","last_id":")" +
                             second + "\"}"));
}

TEST_F(FilesRoutesTest, ARemovedFileIsGone) {
  const std::string id = add(kTenant);

  EXPECT_EQ(reply(Route::kFileDelete, id).body,
            R"({"id":")" + id + R"(","object":"file","deleted":true})");
  EXPECT_EQ(reply(Route::kFile, id).status, 404);
  EXPECT_EQ(reply(Route::kFileDelete, id).status, 404);
}

TEST_F(FilesRoutesTest, WhoMayNotSeeAFileLearnsNothingOfIt) {
  const std::string id = add(kTenant);

  const Reply others = reply(Route::kFile, id, kOther);
  const Reply unknown = reply(Route::kFile, "tessera-file-0", kOther);
  const Reply removal = reply(Route::kFileDelete, id, kOther);

  EXPECT_EQ(others.status, 404);
  EXPECT_EQ(others.body, unknown.body);
  EXPECT_EQ(removal.body, unknown.body);
  EXPECT_EQ(reply(Route::kFile, id).status, 200);
}

}  // namespace
}  // namespace tessera::api
