#include "core/public_id.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

TEST(PublicId, IsHexAndNeverTheSameAndNothingFollowsFromTheLastOne) {
  const PublicId first = PublicId::make();
  const PublicId second = PublicId::make();

  EXPECT_EQ(first.view().size(), 32U);
  EXPECT_EQ(first.view().find_first_not_of("0123456789abcdef"), std::string_view::npos);
  std::size_t n_equal = 0;  // of 32 digits two random ids share two
  for (std::size_t i = 0; i < 32; ++i) {
    if (first.view()[i] == second.view()[i]) ++n_equal;
  }
  EXPECT_LT(n_equal, 16U);
}

}  // namespace
}  // namespace tessera
