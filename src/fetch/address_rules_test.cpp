#include "fetch/address_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::fetch {
namespace {

using enum AddressVerdict;

AddressVerdict judge(const std::string& text, std::span<const AddressRange> denied = {}) {
  const auto storage = parse_address(text);
  if (!storage) return kUnknownFamily;
  return judge_address(reinterpret_cast<const sockaddr&>(*storage), denied);
}

struct JudgedCase {
  const char* address;
  AddressVerdict verdict;
};

TEST(AddressRules, RangesOfIpv4ThatAreNotPublicAreRefusedFromFirstToLast) {
  const std::vector<JudgedCase> cases{
      {"0.0.0.0", kThisNetwork},
      {"0.255.255.255", kThisNetwork},
      {"10.0.0.0", kPrivate},
      {"10.255.255.255", kPrivate},
      {"100.64.0.0", kShared},
      {"100.127.255.255", kShared},
      {"127.0.0.0", kLoopback},
      {"127.255.255.255", kLoopback},
      {"169.254.0.0", kLinkLocal},
      {"169.254.169.254", kLinkLocal},
      {"169.254.255.255", kLinkLocal},
      {"172.16.0.0", kPrivate},
      {"172.31.255.255", kPrivate},
      {"192.0.0.0", kReserved},
      {"192.0.0.255", kReserved},
      {"192.0.2.0", kDocumentation},
      {"192.0.2.255", kDocumentation},
      {"192.88.99.0", kReserved},
      {"192.88.99.255", kReserved},
      {"192.168.0.0", kPrivate},
      {"192.168.255.255", kPrivate},
      {"198.18.0.0", kBenchmark},
      {"198.19.255.255", kBenchmark},
      {"198.51.100.0", kDocumentation},
      {"198.51.100.255", kDocumentation},
      {"203.0.113.0", kDocumentation},
      {"203.0.113.255", kDocumentation},
      {"224.0.0.0", kMulticast},
      {"239.255.255.255", kMulticast},
      {"240.0.0.0", kReserved},
      {"255.255.255.255", kReserved},
  };
  for (const JudgedCase& row : cases) EXPECT_EQ(judge(row.address), row.verdict) << row.address;
}

TEST(AddressRules, NeighboursOfRefusedIpv4RangesArePublic) {
  for (const char* address :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",       "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",      "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",     "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.88.98.255",  "192.88.100.0",
        "192.167.255.255", "192.169.0.0",     "198.17.255.255", "198.20.0.0",
        "198.51.99.255",   "198.51.101.0",    "203.0.112.255",  "203.0.114.0",
        "223.255.255.255", "8.8.8.8"}) {
    EXPECT_EQ(judge(address), kPublic) << address;
  }
}

TEST(AddressRules, RangesOfIpv6ThatAreNotPublicAreRefused) {
  const std::vector<JudgedCase> cases{
      {"::", kThisNetwork},
      {"::1", kLoopback},
      {"fc00::", kPrivate},
      {"fdff:ffff::1", kPrivate},
      {"fec0::1", kPrivate},
      {"feff::1", kPrivate},
      {"fe80::1", kLinkLocal},
      {"febf::1", kLinkLocal},
      {"ff00::", kMulticast},
      {"ff02::1", kMulticast},
      {"2001:db8::1", kDocumentation},
      {"2001:db8:ffff::1", kDocumentation},
      {"3fff::1", kDocumentation},
      {"2001:2::1", kReserved},
      {"2001:1ff::1", kReserved},
      {"100::1", kNotGlobal},
      {"4000::1", kNotGlobal},
      {"1fff::1", kNotGlobal},
      {"5f00::1", kNotGlobal},
  };
  for (const JudgedCase& row : cases) EXPECT_EQ(judge(row.address), row.verdict) << row.address;
}

TEST(AddressRules, AddressesThatWrapAnIpv4AddressAreRefusedWhateverIsInside) {
  for (const char* address : {
           "::ffff:127.0.0.1",
           "::ffff:8.8.8.8",
           "::ffff:a9fe:a9fe",  // mapped
           "::127.0.0.1",
           "::8.8.8.8",
           "::2",  // compatible
           "64:ff9b::7f00:1",
           "64:ff9b::808:808",  // NAT64
           "64:ff9b:1::a00:1",
           "64:ff9b:1:ffff::1",  // NAT64 of a site
           "2002:7f00:1::",
           "2002:a00:1::1",
           "2002:808:808::1",  // 6to4
           "2001:0:4136:e378:8000:63bf:80ff:fffe",
           "2001::1",  // Teredo
           "2606:4700::5efe:7f00:1",
           "2606:4700::200:5efe:a00:1",  // ISATAP
           "2606:4700:1:2:0:5efe:8.8.8.8",
       }) {
    EXPECT_EQ(judge(address), kEmbedsIpv4) << address;
  }
}

TEST(AddressRules, GlobalIpv6AddressesArePublic) {
  for (const char* address : {"2606:4700::1111", "2a00:1450:4001::5", "2001:4860:4860::8888",
                              "2001:200::1", "2003::1", "3ffe::1", "2606:4700::5eff:1:1"}) {
    EXPECT_EQ(judge(address), kPublic) << address;
  }
}

TEST(AddressRules, OperatorsRangesAreRefusedToo) {
  const std::vector<AddressRange> denied{*parse_range("8.8.8.0/23"), *parse_range("2606:4700::/33"),
                                         *parse_range("9.9.9.9")};
  EXPECT_EQ(judge("8.8.9.1", denied), kOperatorDenied);
  EXPECT_EQ(judge("8.8.10.1", denied), kPublic);
  EXPECT_EQ(judge("9.9.9.9", denied), kOperatorDenied);
  EXPECT_EQ(judge("9.9.9.8", denied), kPublic);
  EXPECT_EQ(judge("2606:4700:7fff::1", denied), kOperatorDenied);
  EXPECT_EQ(judge("2606:4700:8000::1", denied), kPublic);
  EXPECT_EQ(judge("127.0.0.1", denied), kLoopback);
}

TEST(AddressRules, OtherFamiliesAreRefused) {
  sockaddr address{};
  for (const int family : {AF_UNSPEC, AF_UNIX, AF_NETLINK}) {
    address.sa_family = static_cast<sa_family_t>(family);
    EXPECT_EQ(judge_address(address, {}), kUnknownFamily) << family;
  }
}

TEST(AddressRules, TextThatIsNoRangeIsAnError) {
  for (const char* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/129",
                           "fd00::/8x", "host", "10.0.0.0/8/8", " 10.0.0.0/8"}) {
    const auto range = parse_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().reason, "address_range_invalid");
  }
}

}  // namespace
}  // namespace tessera::fetch
