#include <gtest/gtest.h>

#include <set>

#include "media/testing/corpus.h"

namespace tessera::media::testing {
namespace {

TEST(CorpusOfSizes, NamesItsFilesApartAndMakesThemTheSameEachTime) {
  const auto files = corpus_of_sizes();
  const auto again = corpus_of_sizes();
  std::set<std::string> names;

  ASSERT_EQ(files.size(), again.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_TRUE(names.insert(files[i].name).second) << files[i].name;
    EXPECT_EQ(files[i].bytes, again[i].bytes) << files[i].name;
  }
}

}  // namespace
}  // namespace tessera::media::testing
