#include "core/tenant_places.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

TEST(TenantPlaces, OneTenantsPlacesAreNotAnothers) {
  TenantPlaces places(2);
  const auto first = places.try_take(kTenant);
  const auto second = places.try_take(kTenant);

  EXPECT_TRUE(first && second);
  EXPECT_FALSE(places.try_take(kTenant));
  EXPECT_TRUE(places.try_take(kOther));
}

TEST(TenantPlaces, APlaceIsGivenBackOnceHoweverItMoves) {
  TenantPlaces places(1);
  {
    auto place = places.try_take(kTenant);
    const TenantPlaces::Place moved = std::move(*place);
    EXPECT_FALSE(places.try_take(kTenant));
  }
  const auto again = places.try_take(kTenant);
  EXPECT_TRUE(again);
  EXPECT_FALSE(places.try_take(kTenant));
}

TEST(TenantPlaces, AnAssignedPlaceGivesBackTheOldOne) {
  TenantPlaces places(1);
  auto mine = places.try_take(kTenant);
  auto other = places.try_take(kOther);

  mine = std::move(other);
  other.reset();

  EXPECT_TRUE(places.try_take(kTenant));
  EXPECT_FALSE(places.try_take(kOther));
}

}  // namespace
}  // namespace tessera
