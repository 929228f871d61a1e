#include "fetch/fetch_group.h"

#include <gtest/gtest.h>

#include "fetch/program_link.h"

namespace tessera::fetch {
namespace {

using std::chrono::milliseconds;

/// A fetcher that misbehaves in the way that `mode` names.
Result<std::vector<EncodedMedia>> fetch_from_fake(const std::string& mode) {
  FetcherOptions options;
  options.dispatcher = {link_program(mode, TESSERA_FAKE_FETCHER), milliseconds(0), milliseconds(1),
                        milliseconds(0)};
  options.limits.total_timeout = milliseconds(mode == "hang" ? 10 : 60'000);
  options.limits.item_bytes_max = 4096;
  options.rules.domains = DomainRules::public_internet();
  options.is_media = [](std::span<const std::byte> head) { return head.size() >= 8; };
  auto fetcher = Fetcher::create(std::move(options));
  EXPECT_TRUE(fetcher);
  const std::vector<RedactedUrl> urls{RedactedUrl("https://a.example.com/")};
  return (*fetcher)->fetch(urls, TenantId{1}, {});
}

TEST(FetchGroup, AnHonestReplyOfTheFakeIsTaken) {
  for (const char* mode : {"honest", "grow", "twice"}) {
    const auto media = fetch_from_fake(mode);
    ASSERT_TRUE(media) << mode;
    EXPECT_EQ(media->front().size_bytes, 17U);
  }
}

TEST(FetchGroup, AFetcherThatBreaksItsPromisesIsNotBelieved) {
  for (const char* mode :
       {"exit", "die", "short", "descriptors", "future_id", "no_id", "wrong_kind", "wrong_version",
        "unknown_outcome", "huge_size", "busy", "keep_mapping", "shrink", "hang"}) {
    const auto media = fetch_from_fake(mode);
    ASSERT_FALSE(media) << mode;
    EXPECT_EQ(media.error().reason, "media_fetcher_unavailable") << mode;
  }
}

TEST(FetchGroup, AnEmptyFileIsNoMedia) {
  const auto media = fetch_from_fake("empty");
  ASSERT_FALSE(media);
  EXPECT_EQ(media.error().reason, "media_url_unavailable");
}

}  // namespace
}  // namespace tessera::fetch
