#include "fetch/own_addresses.h"

#include <gtest/gtest.h>

#include "fetch/address_rules.h"

namespace tessera::fetch {
namespace {

bool is_own(std::string_view text) {
  const auto address = parse_address(text);
  return address && is_own_address(reinterpret_cast<const sockaddr&>(*address));
}

TEST(OwnAddresses, HoldTheLoopbackAddressOfThisMachine) {
  EXPECT_TRUE(is_own("127.0.0.1"));
}

TEST(OwnAddresses, DoNotHoldAddressesThatNoMachineHas) {
  EXPECT_FALSE(is_own("203.0.113.77"));
  EXPECT_FALSE(is_own("2001:db8::77"));
}

}  // namespace
}  // namespace tessera::fetch
