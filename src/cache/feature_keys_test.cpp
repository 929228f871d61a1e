#include "cache/feature_keys.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string_view>

#include "core/unique_fd.h"

namespace tessera::cache {
namespace {

const SecretKey kSecret({1, 2, 3});

FeatureOrigin origin() {
  FeatureOrigin origin;
  origin.tenant = TenantId{7};
  origin.content.bytes[0] = 9;
  origin.frame = 3;
  origin.decoded = {640, 480};
  origin.planned = {512, 384};
  origin.n_tiles = 5;
  origin.tile = 2;
  origin.n_tokens = 64;
  return origin;
}

TEST(FeatureKeys, AreTheSameForTheSameOrigin) {
  const FeatureKeys keys(kSecret, "encoder");

  EXPECT_EQ(keys.key(origin()), keys.key(origin()));
  EXPECT_EQ(keys.key(origin()), FeatureKeys(kSecret, "encoder").key(origin()));
}

TEST(FeatureKeys, DifferWhenAnyComponentDiffers) {
  const std::function<void(FeatureOrigin&)> changes[] = {
      [](FeatureOrigin& o) { o.tenant = TenantId{8}; },
      [](FeatureOrigin& o) { o.content.bytes[0] ^= 1; },
      [](FeatureOrigin& o) { o.content.bytes[31] ^= 1; },
      [](FeatureOrigin& o) { o.frame = 4; },
      [](FeatureOrigin& o) { o.decoded.width += 1; },
      [](FeatureOrigin& o) { o.decoded.height += 1; },
      [](FeatureOrigin& o) { std::swap(o.decoded.width, o.decoded.height); },
      [](FeatureOrigin& o) { o.planned.width += 1; },
      [](FeatureOrigin& o) { o.planned.height += 1; },
      [](FeatureOrigin& o) { std::swap(o.planned, o.decoded); },
      [](FeatureOrigin& o) { o.n_tiles += 1; },
      [](FeatureOrigin& o) { o.tile += 1; },
      [](FeatureOrigin& o) { o.n_tokens += 1; },
      [](FeatureOrigin& o) { o.only_for = RequestId{0}; },
      [](FeatureOrigin& o) { o.only_for = RequestId{1}; },
      [](FeatureOrigin& o) { o.mention = 1; },
  };
  const FeatureKeys keys(kSecret, "encoder");
  std::set<Digest> all{keys.key(origin())};
  for (const auto& change : changes) {
    FeatureOrigin changed = origin();
    change(changed);
    EXPECT_TRUE(all.insert(keys.key(changed)).second) << "change " << all.size();
  }
  EXPECT_TRUE(all.insert(FeatureKeys(kSecret, "other encoder").key(origin())).second);
  EXPECT_TRUE(all.insert(FeatureKeys(SecretKey({1, 2, 4}), "encoder").key(origin())).second);
  EXPECT_TRUE(all.insert(FeatureKeys("encoder").key(origin())).second) << "a secret of its own";
  EXPECT_TRUE(all.insert(FeatureKeys("encoder").key(origin())).second);
}

TEST(FeatureKeys, AreOfATenantsNameAndNotOfItsPlaceInAKeyFile) {
  const FeatureKeys before(kSecret, "encoder", TenantNames({"", "anna", "ben"}));
  const FeatureKeys after(kSecret, "encoder", TenantNames({"", "carl", "anna", "ben"}));
  FeatureOrigin origin_before = origin();
  FeatureOrigin origin_after = origin();
  origin_before.tenant = TenantId{1};
  origin_after.tenant = TenantId{2};

  EXPECT_EQ(before.key(origin_before), after.key(origin_after));
  EXPECT_NE(before.key(origin_before), after.key(origin_before)) << "carl is not anna";
}

TEST(FeatureKeys, ATenantWithoutANameIsNoneThatIsNamedLikeItsNumber) {
  const FeatureKeys keys(kSecret, "encoder", TenantNames({"1", "number 1", "name 1"}));
  std::set<Digest> all;
  for (std::uint32_t tenant = 0; tenant < 6; ++tenant) {
    FeatureOrigin of_tenant = origin();
    of_tenant.tenant = TenantId{tenant};
    EXPECT_TRUE(all.insert(keys.key(of_tenant)).second) << tenant;
  }
}

Digest digest_of(std::string_view text, std::size_t n_bytes) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return content_digest(file.get(), n_bytes).value();
}

TEST(ContentDigest, IsSha256OfTheBytes) {
  // FIPS 180-2, appendix B.1.
  const Digest abc = digest_of("abc", 3);
  EXPECT_EQ(abc.bytes[0], 0xBA);
  EXPECT_EQ(abc.bytes[1], 0x78);
  EXPECT_EQ(abc.bytes[31], 0xAD);

  EXPECT_EQ(digest_of("abcdef", 3), abc);
  EXPECT_NE(digest_of("abd", 3), abc);
  const std::string large(200'000, 'x');
  EXPECT_EQ(digest_of(large, large.size()), digest_of(large, large.size()));
  EXPECT_NE(digest_of(large, large.size()), digest_of(large, large.size() - 1));
}

TEST(ContentDigest, AFileThatIsTooShortIsAnError) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));

  EXPECT_TRUE(content_digest(file.get(), 0));
  EXPECT_FALSE(content_digest(file.get(), 1));
  EXPECT_FALSE(content_digest(-1, 1));
}

}  // namespace
}  // namespace tessera::cache
