#include "runtime/fake/fake_executor.h"

#include <gtest/gtest.h>

#include <map>
#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {
namespace {

class FakeExecutorTest : public testing::Test {
 protected:
  void start(FakeOptions options) {
    options.control = control;
    LoadedModel loaded = std::move(load(options)).value();
    SamplerOptions scores;
    scores.logprobs = true;
    scores.n_top_logprobs = kVocabularySize;
    sampler = loaded.model->make_sampler(scores).value();
    executor = std::move(loaded.executor);
  }

  TokenRow row(int sequence, TokenId token, Position position) {
    return {SequenceId{sequence}, token, position, nullptr};
  }
  TokenRow scored(int sequence, TokenId token, Position position) {
    return {SequenceId{sequence}, token, position, sampler.get()};
  }

  VisualRows slice(int sequence, int first_row, int n_rows) {
    return {SequenceId{sequence},
            std::span(rows).subspan(static_cast<std::size_t>(first_row * width),
                                    static_cast<std::size_t>(n_rows * width)),
            std::span(positions).subspan(static_cast<std::size_t>(first_row),
                                         static_cast<std::size_t>(n_rows)),
            first_row,
            3,
            false};
  }

  DecodeStatus decode(std::vector<TokenRow> tokens) {
    CallResult result = executor->decode(tokens, {}, {});
    sampled = std::move(result.sampled);
    return result.status;
  }
  DecodeStatus decode(std::vector<VisualRows> slices) {
    return executor->decode({}, slices, {}).status;
  }

  /// Of the i-th row that had a sampler: the probability of each token, by its id.
  std::map<TokenId, float> scores(std::size_t i) {
    std::map<TokenId, float> by_token;
    for (const TokenLogprob& one : sampled.at(i)->top_logprobs) by_token[one.token] = one.logprob;
    return by_token;
  }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Sampler> sampler;
  std::vector<Result<SampledToken>> sampled;  // by the last call on text
  int width = 8;
  std::vector<float> rows = std::vector<float>(24, 0.5F);
  std::vector<VisualPosition> positions = {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}};
};

TEST_F(FakeExecutorTest, ScoresDoNotDependOnTheBatch) {
  start({});
  ASSERT_EQ(decode({row(0, 'a', 0), scored(0, 'b', 1)}), DecodeStatus::kOk);
  const auto expected = scores(0);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kVocabularySize));

  ASSERT_EQ(decode({row(1, 'x', 0), row(2, 'a', 0)}), DecodeStatus::kOk);
  ASSERT_EQ(decode({scored(1, 'y', 1), scored(2, 'b', 1)}), DecodeStatus::kOk);

  EXPECT_EQ(scores(1), expected);
  EXPECT_NE(scores(0), expected);
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
  width = 4;
  expect_invalid(decode({slice(0, 0, 3)}));
}

TEST_F(FakeExecutorTest, ReportsTextInsideAVisualSegment) {
  start({});
  ASSERT_EQ(decode({slice(0, 0, 2)}), DecodeStatus::kOk);

  EXPECT_EQ(decode({row(0, 'a', 2)}), DecodeStatus::kInvalidBatch);
  EXPECT_EQ(control->n_violations(), 1);
}

TEST_F(FakeExecutorTest, ChoosesATokenForEachRowWithASamplerInOrder) {
  start({});

  ASSERT_EQ(decode({scored(0, 'a', 0), row(1, 'b', 0), scored(1, 'c', 1)}), DecodeStatus::kOk);
  EXPECT_EQ(sampled.size(), 2U);
  ASSERT_EQ(decode({row(0, 'a', 1)}), DecodeStatus::kOk);
  EXPECT_TRUE(sampled.empty());
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
  const std::vector<TokenRow> text = {row(0, 'a', 0), row(0, 'b', 1)};

  EXPECT_EQ(decode(text), DecodeStatus::kNoKvSlot);
  EXPECT_EQ(decode(text), DecodeStatus::kInvalidBatch);
  EXPECT_EQ(executor->n_kv_cells_used(), 0);
  EXPECT_EQ(decode(text), DecodeStatus::kAborted);
  EXPECT_EQ(executor->n_kv_cells_used(), 1);
  EXPECT_EQ(decode({slice(1, 0, 3)}), DecodeStatus::kFatal);
  EXPECT_EQ(executor->n_kv_cells_used(), 2);
  EXPECT_EQ(control->n_violations(), 0);
}

}  // namespace
}  // namespace tessera::runtime::fake
