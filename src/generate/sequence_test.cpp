#include "generate/sequence.h"

#include <gtest/gtest.h>

#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

using schedule::Phase;

class SequenceTest : public testing::Test {
 protected:
  ~SequenceTest() override { request.in_flight->end(std::nullopt, {}); }

  Sequence& start(const Ask& ask, int output_limit = 10) {
    request.in_flight = make_request(*model.model, model.encoder.get(), ask, asked, {});
    request.arrival = 5;
    sequence =
        std::make_unique<Sequence>(request, Sequence::Options{SequenceId{2}, 0, output_limit},
                                   std::move(*model.model->make_sampler({})));
    return *sequence;
  }

  runtime::LoadedModel model = std::move(runtime::fake::load({})).value();
  Asked asked;
  ActiveRequest request;
  std::unique_ptr<Sequence> sequence;
};

TEST_F(SequenceTest, WalksThroughSegmentsAndThenDecodes) {
  // user <image> | 1×2 visual tokens | </image> h i assistant
  Sequence& seq = start({.text = "hi", .images = {{28, 56}}});

  EXPECT_EQ(seq.view().phase, Phase::kPrefillText);
  EXPECT_EQ(seq.view().n_left, 2);
  EXPECT_EQ(seq.view().arrival, 5U);
  seq.advance(2);
  EXPECT_EQ(seq.view().phase, Phase::kPrefillVisual);
  EXPECT_EQ(seq.view().n_left, 2);
  seq.advance(1);
  EXPECT_EQ(seq.visual_rows(1).first_row, 1);
  EXPECT_EQ(seq.visual_rows(1).positions[0][0], 3);
  seq.advance(1);
  EXPECT_EQ(seq.view().phase, Phase::kPrefillText);
  seq.advance(4);
  EXPECT_EQ(seq.view().phase, Phase::kDecode);
  EXPECT_EQ(seq.view().n_left, 1);
}

TEST_F(SequenceTest, SaysWhatIsLeftOfItsPrompt) {
  Sequence& seq = start({.text = "hi", .images = {{28, 56}}});  // 2 + 2 + 4 tokens

  EXPECT_EQ(seq.view().n_prompt_left, 8);
  seq.advance(2);
  EXPECT_EQ(seq.view().n_prompt_left, 6);
}

TEST_F(SequenceTest, ChoosesATokenOnlyAfterTheLastRowOfThePrompt) {
  Sequence& seq = start({.text = "hi"});  // user h i assistant
  std::vector<runtime::TokenRow> rows;

  EXPECT_FALSE(seq.append_rows(3, rows));
  seq.advance(3);
  EXPECT_TRUE(seq.append_rows(1, rows));

  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2].sampler, nullptr);
  EXPECT_NE(rows[3].sampler, nullptr);
  EXPECT_EQ(rows[3].position, 3);
  EXPECT_EQ(rows[1].token, 'h');
}

TEST_F(SequenceTest, DescribesTheSameRowsUntilTheyAreCommitted) {
  Sequence& seq = start({.text = "hi"});
  std::vector<runtime::TokenRow> rows;

  seq.append_rows(2, rows);
  seq.append_rows(2, rows);

  EXPECT_EQ(rows[0].position, rows[2].position);
}

TEST_F(SequenceTest, DecodesItsLastTokenAtTheNextPosition) {
  Sequence& seq = start({.text = "hi"});
  seq.advance(4);
  EXPECT_EQ(seq.take(sampled('a'), "a"), std::nullopt);
  seq.advance(1);
  EXPECT_EQ(seq.take(sampled('b'), "b"), std::nullopt);

  std::vector<runtime::TokenRow> rows;
  EXPECT_TRUE(seq.append_rows(1, rows));

  EXPECT_EQ(rows[0].token, 'b');
  EXPECT_EQ(rows[0].position, 5);
  EXPECT_NE(rows[0].sampler, nullptr);
}

TEST_F(SequenceTest, RewoundItComputesWhatItHadAndChoosesNothingTwice) {
  Sequence& seq = start({.text = "hi"}, 100);
  seq.advance(4);
  for (const char token : {'a', 'b', 'c'}) {
    if (token != 'a') seq.advance(1);
    EXPECT_EQ(seq.take(sampled(token), std::string(1, token)), std::nullopt);
  }
  EXPECT_EQ(seq.n_cells(), 6);
  EXPECT_EQ(seq.need().n_kv_cells, 4 + 3 + schedule::kOutputAhead);
  EXPECT_EQ(seq.need().n_kv_cells_most, 104);

  seq.rewind();
  EXPECT_EQ(seq.view().phase, Phase::kAwaitPrefix) << "somebody may have its beginning";
  seq.await(std::nullopt);

  EXPECT_EQ(seq.n_cells(), 0);
  EXPECT_EQ(seq.view().n_prompt_left, 6);
  std::vector<runtime::TokenRow> rows;
  EXPECT_FALSE(seq.append_rows(4, rows));
  seq.advance(4);
  EXPECT_EQ(seq.view().phase, Phase::kPrefillText);
  EXPECT_EQ(seq.view().n_left, 2);
  EXPECT_FALSE(seq.append_rows(2, rows));
  seq.advance(2);
  EXPECT_EQ(seq.view().phase, Phase::kDecode);
  EXPECT_TRUE(seq.append_rows(1, rows));
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows[4].token, 'a');
  EXPECT_EQ(rows[5].token, 'b');
  EXPECT_EQ(rows[6].token, 'c');
  EXPECT_EQ(rows[6].position, 6);
  EXPECT_EQ(seq.n_output_tokens(), 3);
}

TEST_F(SequenceTest, OnlyFeaturesThatAreThereCanBeComputedAgain) {
  EXPECT_TRUE(start({.text = "hi"}).can_rewind());
  request.in_flight->end(std::nullopt, {});
  EXPECT_TRUE(start({.text = "hi", .images = {{28, 56}}}).can_rewind());
  request.in_flight->embeddings.clear();
  EXPECT_FALSE(sequence->can_rewind());
}

TEST_F(SequenceTest, EndsAtTheEndOfGenerationAtTheLimitAndAtAStopString) {
  Sequence& ends = start({.text = "x"});
  EXPECT_EQ(ends.take(sampled(256, true), ""), FinishReason::kStop);
  request.in_flight->end(std::nullopt, {});

  Sequence& limited = start({.text = "x"}, 2);
  EXPECT_EQ(limited.take(sampled('a'), "a"), std::nullopt);
  EXPECT_EQ(limited.take(sampled('a'), "a"), FinishReason::kLength);
  request.in_flight->end(std::nullopt, {});

  Sequence& stopped = start({.text = "x", .stop = {"END"}});
  EXPECT_EQ(stopped.take(sampled('E'), "xE"), std::nullopt);
  EXPECT_EQ(stopped.take(sampled('N'), "N"), std::nullopt);
  EXPECT_EQ(stopped.take(sampled('D'), "Dy"), FinishReason::kStop);
  EXPECT_EQ(stopped.n_output_tokens(), 3);
}

}  // namespace
}  // namespace tessera::generate
