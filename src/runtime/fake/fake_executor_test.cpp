#include "runtime/fake/fake_executor.h"

#include <gtest/gtest.h>

namespace tessera::runtime::fake {
namespace {

class FakeExecutorTest : public testing::Test {
 protected:
  void start(FakeOptions options) {
    options.control = control;
    executor = std::move(load(options)).value().executor;
  }

  TokenRow row(int sequence, TokenId token, Position position, bool wants_logits = false) {
    return {SequenceId{sequence}, token, position, wants_logits};
  }

  VisualRows slice(int sequence, int first_row, int n_rows) {
    return {SequenceId{sequence},
            &embedding,
            std::span(positions).subspan(static_cast<std::size_t>(first_row),
                                         static_cast<std::size_t>(n_rows)),
            first_row,
            n_rows,
            false};
  }

  DecodeStatus decode(std::vector<TokenRow> rows) { return executor->decode(rows, {}, {}); }
  DecodeStatus decode(std::vector<VisualRows> slices) { return executor->decode({}, slices, {}); }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  std::unique_ptr<Executor> executor;
  Embedding embedding{3, 8, std::vector<float>(24, 0.5F)};
  std::vector<VisualPosition> positions = {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}};
};

TEST_F(FakeExecutorTest, ScoresDoNotDependOnTheBatch) {
  start({});
  ASSERT_EQ(decode({row(0, 'a', 0), row(0, 'b', 1, true)}), DecodeStatus::kOk);
  const auto alone = executor->logits(1);
  const std::vector<float> expected(alone.begin(), alone.end());

  ASSERT_EQ(decode({row(1, 'x', 0), row(2, 'a', 0)}), DecodeStatus::kOk);
  ASSERT_EQ(decode({row(1, 'y', 1, true), row(2, 'b', 1, true)}), DecodeStatus::kOk);

  const auto among_others = executor->logits(1);
  EXPECT_EQ(std::vector<float>(among_others.begin(), among_others.end()), expected);
  EXPECT_NE(executor->logits(0)[0], expected[0]);
  EXPECT_EQ(control->n_violations(), 0);
}

TEST_F(FakeExecutorTest, CountsCellsAndFreesThem) {
  start({});
  ASSERT_EQ(decode({row(0, 'a', 0), row(1, 'a', 0), row(1, 'b', 1)}), DecodeStatus::kOk);
  EXPECT_EQ(executor->n_kv_cells_used(), 3);

  executor->remove(SequenceId{1});
  executor->remove(SequenceId{1});

  EXPECT_EQ(executor->n_kv_cells_used(), 1);
  EXPECT_EQ(decode({row(1, 'c', 0)}), DecodeStatus::kOk);
}

TEST_F(FakeExecutorTest, SaysSoWhenNoCellIsFree) {
  FakeOptions options;
  options.n_kv_cells = 2;
  start(options);

  EXPECT_EQ(decode({row(0, 'a', 0), row(0, 'b', 1), row(0, 'c', 2)}), DecodeStatus::kNoKvSlot);

  EXPECT_EQ(executor->n_kv_cells_used(), 0);
  EXPECT_EQ(control->n_violations(), 0);
}

TEST_F(FakeExecutorTest, TakesAVisualSegmentInSlices) {
  start({});

  EXPECT_EQ(decode({slice(0, 0, 2)}), DecodeStatus::kOk);
  EXPECT_EQ(decode({slice(0, 2, 1)}), DecodeStatus::kOk);
  EXPECT_EQ(decode({row(0, 'a', 3)}), DecodeStatus::kOk);

  EXPECT_EQ(control->last_violation(), "");
}

TEST_F(FakeExecutorTest, ReportsEveryInvalidBatchAndComputesNothing) {
  start({});
  auto non_causal = slice(0, 0, 2);
  non_causal.non_causal = true;
  int n_expected = 0;
  const auto expect_invalid = [&](DecodeStatus status) {
    EXPECT_EQ(status, DecodeStatus::kInvalidBatch);
    EXPECT_EQ(control->n_violations(), ++n_expected);
    EXPECT_EQ(executor->n_kv_cells_used(), 0);
  };

  expect_invalid(decode(std::vector<TokenRow>{}));
  expect_invalid(decode(std::vector<TokenRow>(513, row(0, 'a', 0))));
  expect_invalid(decode({row(16, 'a', 0)}));
  expect_invalid(decode({row(0, kVocabularySize, 0)}));
  expect_invalid(decode({row(0, 'a', 1)}));
  expect_invalid(decode({row(0, 'a', 0), row(0, 'b', 2)}));
  expect_invalid(decode(std::vector<VisualRows>{}));
  expect_invalid(decode({slice(0, 1, 2)}));
  expect_invalid(decode({non_causal}));
  positions[0] = {1, 0, 0, 0};
  expect_invalid(decode({slice(0, 0, 3)}));
  embedding.row_width = 4;
  expect_invalid(decode({slice(0, 0, 3)}));
}

TEST_F(FakeExecutorTest, ReportsTextInsideAVisualSegment) {
  start({});
  ASSERT_EQ(decode({slice(0, 0, 2)}), DecodeStatus::kOk);

  EXPECT_EQ(decode({row(0, 'a', 2)}), DecodeStatus::kInvalidBatch);
  EXPECT_EQ(control->n_violations(), 1);
}

TEST_F(FakeExecutorTest, ReportsLogitsThatNobodyWanted) {
  start({});
  ASSERT_EQ(decode({row(0, 'a', 0)}), DecodeStatus::kOk);

  EXPECT_EQ(executor->logits(0).size(), static_cast<std::size_t>(kVocabularySize));
  EXPECT_EQ(control->n_violations(), 1);
}

TEST_F(FakeExecutorTest, ReportsASecondThread) {
  start({});
  EXPECT_EQ(executor->n_kv_cells_used(), 0);

  std::jthread([&] { executor->remove(SequenceId{0}); }).join();

  EXPECT_EQ(control->n_violations(), 1);
}

TEST_F(FakeExecutorTest, ReturnsThePlannedStatus) {
  start({});
  control->fail(Call::kDecodeTokens, 1, Effect::kNoKvSlot);
  control->fail(Call::kDecodeTokens, 2, Effect::kInvalidBatch);
  control->fail(Call::kDecodeTokens, 3, Effect::kAborted);
  control->fail(Call::kDecodeVisual, 1, Effect::kFatal);
  const std::vector<TokenRow> rows = {row(0, 'a', 0), row(0, 'b', 1)};

  EXPECT_EQ(decode(rows), DecodeStatus::kNoKvSlot);
  EXPECT_EQ(decode(rows), DecodeStatus::kInvalidBatch);
  EXPECT_EQ(executor->n_kv_cells_used(), 0);
  EXPECT_EQ(decode(rows), DecodeStatus::kAborted);
  EXPECT_EQ(executor->n_kv_cells_used(), 1);
  EXPECT_EQ(decode({slice(1, 0, 3)}), DecodeStatus::kFatal);
  EXPECT_EQ(executor->n_kv_cells_used(), 2);
  EXPECT_EQ(control->n_violations(), 0);
}

}  // namespace
}  // namespace tessera::runtime::fake
