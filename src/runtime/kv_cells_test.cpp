#include "runtime/kv_cells.h"

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

constexpr SequenceId kOne{0};
constexpr SequenceId kTwo{1};
constexpr SequenceId kThree{2};

void add(KvCells& cells, SequenceId sequence, int n) {
  for (int i = 0; i < n; ++i) cells.add(sequence);
}

TEST(KvCells, ASharedCellCountsOnceAndLivesAsLongAsItsLastUser) {
  KvCells cells(3);
  add(cells, kOne, 5);
  cells.share(kOne, kTwo, {0, 4, 0, 4});
  add(cells, kTwo, 2);
  cells.share(kTwo, kThree, {0, 6, 0, 6});
  EXPECT_EQ(cells.n_used(), 7);

  cells.remove(kOne);
  EXPECT_EQ(cells.n_used(), 6);
  cells.remove(kTwo);
  EXPECT_EQ(cells.n_used(), 6);
  cells.remove(kThree);
  cells.remove(kThree);
  EXPECT_EQ(cells.n_used(), 0);
}

TEST(KvCells, FreedCellsAreUsedAgain) {
  KvCells cells(2);
  for (int i = 0; i < 100; ++i) {
    add(cells, kOne, 10);
    cells.share(kOne, kTwo, {0, 10, 0, 10});
    EXPECT_EQ(cells.n_used(), 10);
    cells.remove(kOne);
    cells.remove(kTwo);
  }
  EXPECT_EQ(cells.n_used(), 0);
}

TEST(KvCells, ClearedIsEmpty) {
  KvCells cells(2);
  add(cells, kOne, 3);
  cells.share(kOne, kTwo, {0, 3, 0, 3});

  cells.clear();

  EXPECT_EQ(cells.n_used(), 0);
  add(cells, kTwo, 1);
  EXPECT_EQ(cells.n_used(), 1);
}

}  // namespace
}  // namespace tessera::runtime
