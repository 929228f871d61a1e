#include "runtime/llama/llama_executor.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/llama/greedy_run.h"

namespace tessera::runtime::llama {
namespace {

using testing::Test;

/// Questions that the bundled model answers with a clear distance to the second best token.
const std::vector<ReadyPrompt>& clear_questions() {
  static const std::vector<ReadyPrompt> questions = [] {
    struct Question {
      const char* text;
      std::vector<Colour> colours;
    };
    std::vector<ReadyPrompt> ready;
    for (const Question& question :
         {Question{"How many circles are there?", {kRed, kBlue}},
          Question{"What color is the circle?", {kGreen}},
          Question{"List the shapes from left to right.", {kRed, kGreen, kBlue}},
          Question{"Is there a blue circle?", {kBlue, kRed}}}) {
      const std::vector<Image> images{picture_of_discs(question.colours)};
      ready.push_back(make_ready(bundled(), user_says(question.text, 1), images));
    }
    ready.push_back(make_ready(bundled(), user_says("How many shapes are there?"), {}));
    return ready;
  }();
  return questions;
}

std::vector<std::string> texts(const std::vector<GreedyAnswer>& answers) {
  std::vector<std::string> texts;
  for (const GreedyAnswer& answer : answers) texts.push_back(answer.text);
  return texts;
}

/// Every question alone, with the largest slices.
const std::vector<GreedyAnswer>& answers_alone() {
  static const std::vector<GreedyAnswer> answers = [] {
    std::vector<GreedyAnswer> alone;
    for (const ReadyPrompt& question : clear_questions()) {
      alone.push_back(run_greedy(bundled(), std::span(&question, 1), 512).front());
    }
    return alone;
  }();
  return answers;
}

TEST(LlamaExecutor, AnswersQuestionsAboutPictures) {
  const auto answers = texts(answers_alone());

  EXPECT_EQ(answers[0], "2");
  EXPECT_EQ(answers[1], "green");
  EXPECT_EQ(answers[2], "red circle, green circle, blue circle");
  EXPECT_EQ(answers[3], "yes");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_GT(answers_alone()[i].margin, 0.5F) << answers[i];
}

class SliceRows : public testing::TestWithParam<int> {};

TEST_P(SliceRows, DoNotChangeAnswers) {
  for (std::size_t i = 0; i < clear_questions().size(); ++i) {
    const auto sliced = run_greedy(bundled(), std::span(&clear_questions()[i], 1), GetParam());

    EXPECT_EQ(sliced.front().ids, answers_alone()[i].ids) << answers_alone()[i].text;
  }
}

TEST_P(SliceRows, DoNotChangeAnswersAmongOtherSequences) {
  const auto together = run_greedy(bundled(), clear_questions(), GetParam());

  EXPECT_EQ(texts(together), texts(answers_alone()));
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(together[i].ids, answers_alone()[i].ids);
  }
}

// Their texts have different lengths, so that text rows of some are beside images of others.
TEST_P(SliceRows, DoNotChangeAnswersWithTextAndImagesInOneCall) {
  ASSERT_TRUE(bundled().executor->can_mix());

  const auto together = run_greedy(bundled(), clear_questions(), GetParam(), /*mixes=*/true);

  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(together[i].ids, answers_alone()[i].ids) << answers_alone()[i].text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SliceRows, testing::Values(1, 7, 64, 100));

// --- cells --------------------------------------------------------------------------------------

std::vector<TokenRow> rows_of(int sequence, int n, Position first = 0) {
  std::vector<TokenRow> rows;
  for (int i = 0; i < n; ++i)
    rows.push_back({SequenceId{sequence}, 10 + i % 50, first + i, nullptr});
  return rows;
}

TEST(LlamaExecutor, CountsCellsAndFreesThemBySequence) {
  Executor& executor = *bundled().executor;
  ASSERT_EQ(executor.n_kv_cells_used(), 0);
  std::vector<TokenRow> rows = rows_of(0, 3);
  const auto others = rows_of(5, 4);
  rows.insert(rows.end(), others.begin(), others.end());
  ASSERT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);
  EXPECT_EQ(executor.n_kv_cells_used(), 7);

  executor.remove(SequenceId{0});
  executor.remove(SequenceId{0});
  EXPECT_EQ(executor.n_kv_cells_used(), 4);

  executor.remove(SequenceId{5});
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
}

std::vector<float> scores_of_last(Executor& executor, std::vector<TokenRow> rows) {
  const auto sampler = bundled().model->make_sampler({});
  rows.back().sampler = sampler->get();
  EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);
  const auto scores =
      static_cast<LlamaExecutor&>(executor).logits(static_cast<int>(rows.size()) - 1);
  return {scores.begin(), scores.end()};
}

// The last id: beyond the number of sequences that the library was told, it could not be copied.
TEST(LlamaExecutor, WhatWasSetAsideGoesOnWhereItWas) {
  Executor& executor = *bundled().executor;
  const int last = executor.n_sequences_max() - 1;
  ASSERT_EQ(executor.decode(rows_of(last, 100), {}, {}).status, DecodeStatus::kOk);
  const auto expected = scores_of_last(executor, rows_of(last, 1, 100));
  executor.remove(SequenceId{last});
  ASSERT_EQ(executor.decode(rows_of(last, 100), {}, {}).status, DecodeStatus::kOk);
  executor.share(SequenceId{last}, SequenceId{0}, {0, 60, 0, 60});

  ASSERT_TRUE(executor.set_aside(SequenceId{last}));
  EXPECT_EQ(executor.n_kv_cells_used(), 60) << "the other has those that it shared";
  ASSERT_EQ(executor.decode(rows_of(0, 30, 60), {}, {}).status, DecodeStatus::kOk);
  ASSERT_TRUE(executor.bring_back(SequenceId{last}));

  EXPECT_EQ(executor.n_kv_cells_used(), 190);
  const auto scores = scores_of_last(executor, rows_of(last, 1, 100));
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i) ASSERT_NEAR(scores[i], expected[i], 1e-3F);
  executor.remove(SequenceId{0});
  executor.remove(SequenceId{last});
}

TEST(LlamaExecutor, WhatDoesNotComeBackIsGone) {
  Executor& executor = *bundled().executor;
  ASSERT_EQ(executor.decode(rows_of(0, 50), {}, {}).status, DecodeStatus::kOk);
  ASSERT_TRUE(executor.set_aside(SequenceId{0}));
  const int n_cells = executor.n_kv_cells();
  for (int n = 0; n < n_cells; n += 100) {
    const int n_rows = std::min(100, n_cells - n);
    ASSERT_EQ(executor.decode(rows_of(1, n_rows, n), {}, {}).status, DecodeStatus::kOk);
  }

  EXPECT_FALSE(executor.bring_back(SequenceId{0})) << "the cache is full";
  EXPECT_EQ(executor.n_kv_cells_used(), n_cells);
  executor.remove(SequenceId{1});
  EXPECT_FALSE(executor.bring_back(SequenceId{0})) << "once";
  EXPECT_EQ(executor.n_kv_cells_used(), 0);

  ASSERT_EQ(executor.decode(rows_of(0, 50), {}, {}).status, DecodeStatus::kOk);
  ASSERT_TRUE(executor.set_aside(SequenceId{0}));
  executor.remove(SequenceId{0});
  EXPECT_FALSE(executor.bring_back(SequenceId{0})) << "a copy ends with its sequence";
}

TEST(LlamaExecutor, ACallThatIsStoppedLeavesNothingBehind) {
  Executor& executor = *bundled().executor;
  const std::vector<TokenRow> rows = rows_of(0, 300);
  const auto expected = scores_of_last(executor, rows);
  executor.remove(SequenceId{0});
  int n_asked = 0;

  EXPECT_EQ(executor.decode(rows, {}, [&] { return ++n_asked == 40; }).status,
            DecodeStatus::kAborted);

  EXPECT_EQ(n_asked, 40) << "not asked again";
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
  EXPECT_EQ(scores_of_last(executor, rows), expected);
  executor.remove(SequenceId{0});
}

TEST(LlamaExecutor, SharedCellsServeLikeOwnOnesAndGoWithTheirLastUser) {
  Executor& executor = *bundled().executor;
  ASSERT_TRUE(executor.can_share());
  const std::vector<TokenRow> own = rows_of(0, 20);
  const auto expected = scores_of_last(executor, own);

  executor.share(SequenceId{0}, SequenceId{3}, {0, 12, 0, 12});
  executor.share(SequenceId{0}, SequenceId{3}, {12, 7, 12, 19});
  EXPECT_EQ(executor.n_kv_cells_used(), 20) << "nothing was copied";
  executor.remove(SequenceId{0});
  EXPECT_EQ(executor.n_kv_cells_used(), 19);

  TokenRow last = own.back();
  last.sequence = SequenceId{3};
  const auto shared = scores_of_last(executor, {last});
  ASSERT_EQ(shared.size(), expected.size());
  for (std::size_t i = 0; i < shared.size(); ++i) {
    ASSERT_NEAR(shared[i], expected[i], 2e-2) << "only as far apart as batches of other sizes are";
  }
  executor.remove(SequenceId{3});
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
}

// --- what is computed before it is asked for ----------------------------------------------------

class Anticipation : public testing::Test {
 protected:
  Anticipation() {
    SamplerOptions greedy;
    greedy.sampling.temperature = 0;
    sampler = bundled().model->make_sampler(greedy).value();
  }
  ~Anticipation() override {
    for (int i = 0; i < 3; ++i) executor.remove(SequenceId{i});
    EXPECT_EQ(executor.n_kv_cells_used(), 0);
  }

  /// Prompts of 20 and 30 tokens, and a first token of each.
  std::vector<TokenRow> begin() {
    for (int i = 0; i < 2; ++i) executor.remove(SequenceId{i});
    EXPECT_EQ(executor.decode(rows_of(0, 20), {}, {}).status, DecodeStatus::kOk);
    EXPECT_EQ(executor.decode(rows_of(1, 30), {}, {}).status, DecodeStatus::kOk);
    return next_of({{SequenceId{0}, 7, 20, sampler.get()}, {SequenceId{1}, 8, 30, sampler.get()}});
  }

  /// Decodes these rows. @return those that follow them
  std::vector<TokenRow> next_of(std::vector<TokenRow> rows) {
    n_asked = 0;
    const CallResult result = executor.decode(rows, {}, [this] {
      ++n_asked;
      return false;
    });
    EXPECT_EQ(result.status, DecodeStatus::kOk);
    scores.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto of_row = executor.logits(static_cast<int>(i));
      scores.emplace_back(of_row.begin(), of_row.end());
      rows[i].token = result.sampled.at(i)->token;
      ++rows[i].position;
    }
    return rows;
  }

  LlamaExecutor& executor = static_cast<LlamaExecutor&>(*bundled().executor);
  std::unique_ptr<Sampler> sampler;
  int n_asked = 0;                         // whether to stop, by the nodes of the last call
  std::vector<std::vector<float>> scores;  // of each row of the last call
};

TEST_F(Anticipation, ACallThatWasExpectedIsComputedAlreadyAndTheSame) {
  const auto next = begin();
  const auto after = next_of(next);
  const auto expected = scores;
  EXPECT_GT(n_asked, 0);

  begin();
  executor.anticipate();
  EXPECT_EQ(executor.n_kv_cells_used(), 52) << "nothing tells that it ran";

  EXPECT_EQ(next_of(next), after);
  EXPECT_EQ(n_asked, 0) << "nothing was computed";
  EXPECT_EQ(scores, expected);
  EXPECT_EQ(executor.n_kv_cells_used(), 54);
}

TEST_F(Anticipation, AnotherCallFindsNothingOfIt) {
  auto other = begin();
  other.front().token = other.front().token == 3 ? 4 : 3;
  const auto after = next_of(other);
  const auto expected = scores;

  begin();
  executor.anticipate();

  EXPECT_EQ(next_of(other), after);
  EXPECT_GT(n_asked, 0);
  EXPECT_EQ(scores, expected);
}

TEST_F(Anticipation, NeitherDoesOneWithOneSequenceLess) {
  auto one = begin();
  one.pop_back();
  const auto after = next_of(one);
  const auto expected = scores;

  begin();
  executor.anticipate();

  EXPECT_EQ(next_of(one), after);
  EXPECT_EQ(scores, expected);
  EXPECT_EQ(executor.n_kv_cells_used(), 53);
}

TEST_F(Anticipation, NorWhoTakesOverTheIdOrTheCells) {
  const auto next = begin();
  const std::vector<TokenRow> again{{SequenceId{0}, 9, 21, sampler.get()}};
  const std::vector<TokenRow> shared{{SequenceId{2}, 9, 30, sampler.get()}};
  executor.remove(SequenceId{0});
  executor.share(SequenceId{1}, SequenceId{0}, {0, 21, 0, 21});
  next_of(again);
  const auto expected_again = scores;
  executor.share(SequenceId{1}, SequenceId{2}, {0, 30, 0, 30});
  next_of(shared);
  const auto expected_shared = scores;
  executor.remove(SequenceId{2});

  begin();
  executor.anticipate();
  executor.remove(SequenceId{0});
  executor.share(SequenceId{1}, SequenceId{0}, {0, 21, 0, 21});
  next_of(again);
  EXPECT_EQ(scores, expected_again);
  executor.share(SequenceId{1}, SequenceId{2}, {0, 30, 0, 30});
  next_of(shared);
  EXPECT_EQ(scores, expected_shared);
}

TEST_F(Anticipation, IsOfCallsThatOnlyDecode) {
  executor.anticipate();
  const auto next = begin();
  std::vector<TokenRow> mixed = rows_of(2, 5);
  mixed.insert(mixed.begin(), next.begin(), next.end());
  ASSERT_EQ(executor.decode(mixed, {}, {}).status, DecodeStatus::kOk);
  executor.anticipate();

  // Had it been anticipated, this would be the second row at its position.
  next_of({{SequenceId{0}, 5, 22, sampler.get()}});
  EXPECT_GT(n_asked, 0);
}

// --- room ---------------------------------------------------------------------------------------

LoadedModel load_with_cells(int n_cells) {
  LoadOptions options = bundled_options();
  options.mmproj_path.clear();
  options.n_kv_cells = n_cells;
  return load_or_fail(options);
}

TEST(LlamaExecutor, SaysHowManyCellsThereReallyAre) {
  const LoadedModel loaded = load_with_cells(300);
  Executor& executor = *loaded.executor;
  const int n_cells = executor.n_kv_cells();
  ASSERT_GE(n_cells, 300);
  for (int i = 0; i < n_cells; i += 64) {
    const int n = std::min(64, n_cells - i);
    ASSERT_EQ(executor.decode(rows_of(0, n, i), {}, {}).status, DecodeStatus::kOk) << i;
  }

  EXPECT_EQ(executor.n_kv_cells_used(), n_cells);
  EXPECT_EQ(executor.decode(rows_of(1, 1), {}, {}).status, DecodeStatus::kNoKvSlot);
}

TEST(LlamaExecutor, ComputesNothingWithoutACellAndGoesOnAfterRemove) {
  const LoadedModel loaded = load_with_cells(256);
  Executor& executor = *loaded.executor;
  ASSERT_EQ(executor.decode(rows_of(0, 200), {}, {}).status, DecodeStatus::kOk);

  EXPECT_EQ(executor.decode(rows_of(1, 57), {}, {}).status, DecodeStatus::kNoKvSlot);
  EXPECT_EQ(executor.n_kv_cells_used(), 200);

  // Nothing of the refused call was kept: it may be smaller, and start at position 0.
  EXPECT_EQ(executor.decode(rows_of(1, 56), {}, {}).status, DecodeStatus::kOk);
  EXPECT_EQ(executor.decode(rows_of(0, 1, 200), {}, {}).status, DecodeStatus::kNoKvSlot);
  executor.remove(SequenceId{1});
  EXPECT_EQ(executor.decode(rows_of(0, 1, 200), {}, {}).status, DecodeStatus::kOk);
  EXPECT_EQ(executor.n_kv_cells_used(), 201);
}

TEST(LlamaExecutor, RefusesPositionsThatGoBack) {
  Executor& executor = *bundled().executor;
  ASSERT_EQ(executor.decode(rows_of(0, 3), {}, {}).status, DecodeStatus::kOk);

  EXPECT_EQ(executor.decode(rows_of(0, 1, 1), {}, {}).status, DecodeStatus::kInvalidBatch);
  EXPECT_EQ(executor.n_kv_cells_used(), 3);

  EXPECT_EQ(executor.decode(rows_of(0, 1, 3), {}, {}).status, DecodeStatus::kOk);
  executor.remove(SequenceId{0});
}

TEST(LlamaExecutor, RefusesATokenOutsideTheVocabulary) {
  Executor& executor = *bundled().executor;
  const std::vector<TokenRow> rows{{SequenceId{0}, 1'000'000, 0, nullptr}};

  EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kInvalidBatch);
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
}

TEST(LlamaExecutor, TakesOneIdForEverySequenceItAnnounces) {
  LoadedModel& loaded = bundled();
  const int last = loaded.executor->n_sequences_max() - 1;

  EXPECT_EQ(loaded.executor->decode(rows_of(last, 2), {}, {}).status, DecodeStatus::kOk);

  loaded.executor->remove(SequenceId{last});
  EXPECT_EQ(loaded.executor->n_kv_cells_used(), 0);
}

/// With two threads, and an encode at the same time: the pools share the cores.
TEST(LlamaExecutor, GivesTheSameAnswersBesideAnEncode) {
  LoadOptions options = bundled_options();
  options.n_threads = 2;
  LoadedModel loaded = load_or_fail(options);
  const auto tiles = loaded.model->prepare(drawn_image({224, 224}));
  std::jthread encode([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(loaded.encoder->encode(*tiles->front(), {}));
  });

  std::vector<GreedyAnswer> answers;
  std::jthread engine([&] { answers = run_greedy(loaded, clear_questions(), 64); });
  engine.join();
  encode.request_stop();

  EXPECT_EQ(texts(answers), texts(answers_alone()));
}

}  // namespace
}  // namespace tessera::runtime::llama
