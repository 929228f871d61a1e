#include "fetch/outcome_name.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::fetch {
namespace {

TEST(OutcomeName, EachOutcomeHasAWordOfItsOwn) {
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < wire::kOutcomeCount; ++i) {
    names.insert(outcome_name(static_cast<wire::Outcome>(i)));
  }
  EXPECT_EQ(names.size(), wire::kOutcomeCount);
}

}  // namespace
}  // namespace tessera::fetch
