#include "generate/batch.h"

#include <gtest/gtest.h>

#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

class BatchTest : public testing::Test {
 protected:
  BatchTest() : sequences(4) {}
  ~BatchTest() override {
    for (auto& request : requests) request->in_flight->end(std::nullopt, {});
  }

  Sequence& add(int id, const Ask& ask) {
    requests.push_back(std::make_unique<ActiveRequest>());
    requests.back()->in_flight = make_request(*model.model, model.encoder.get(), ask, asked, {});
    sequences[static_cast<std::size_t>(id)] =
        std::make_unique<Sequence>(*requests.back(), Sequence::Options{SequenceId{id}, 0, 10},
                                   std::move(*model.model->make_sampler({})));
    return *sequences[static_cast<std::size_t>(id)];
  }

  runtime::LoadedModel model = std::move(runtime::fake::load({})).value();
  Asked asked;
  std::vector<std::unique_ptr<ActiveRequest>> requests;
  SequenceTable sequences;
};

TEST_F(BatchTest, PutsDecodeRowsBeforePrefillAndMarksWhereTokensAreSampled) {
  Sequence& decoding = add(1, {.text = "hi"});
  decoding.advance(4);
  decoding.take(sampled('z'), "z");
  add(2, {.text = "hi"});  // user h i assistant
  add(3, {.text = "hi"});

  const Batch batch = build_batch({{{1}}, {{{2}, 4}, {{3}, 2}}}, sequences);

  ASSERT_EQ(batch.tokens.size(), 7U);
  EXPECT_EQ(batch.tokens[0].token, 'z');
  ASSERT_EQ(batch.parts.size(), 3U);
  EXPECT_TRUE(batch.parts[0].samples);
  EXPECT_TRUE(batch.parts[1].samples);
  EXPECT_FALSE(batch.parts[2].samples);
  EXPECT_EQ(batch.parts[2].n_rows, 2);
}

TEST_F(BatchTest, BorrowsVisualRowsFromTheRequest) {
  Sequence& sequence = add(0, {.text = "x", .images = {{56, 56}}});
  sequence.advance(2);

  const Batch batch = build_batch({{}, {{{0}, 3}}}, sequences);

  ASSERT_EQ(batch.visual.size(), 1U);
  EXPECT_EQ(batch.n_visual_rows, 3);
  EXPECT_EQ(batch.visual[0].rows.data(), requests[0]->in_flight->embeddings[0]->rows.data());
  EXPECT_EQ(batch.visual[0].positions.size(), 3U);
}

TEST_F(BatchTest, CountsRowsOfTextApartFromVisualOnes) {
  Sequence& decoding = add(1, {.text = "hi"});
  decoding.advance(4);
  decoding.take(sampled('z'), "z");
  add(2, {.text = "x", .images = {{56, 56}}}).advance(2);
  add(3, {.text = "hi"});

  // The image goes before the text of a younger prompt; the scores keep their row all the same.
  const Batch batch = build_batch({{{1}}, {{{2}, 3}, {{3}, 4}}}, sequences);

  EXPECT_EQ(batch.tokens.size(), 5U);
  EXPECT_EQ(batch.n_visual_rows, 3);
  ASSERT_EQ(batch.parts.size(), 3U);
  EXPECT_EQ(batch.parts[1].phase, schedule::Phase::kPrefillVisual);
  EXPECT_FALSE(batch.parts[1].samples);
  EXPECT_TRUE(batch.parts[2].samples);
}

TEST_F(BatchTest, LeavesOutSequencesThatHaveEnded) {
  EXPECT_EQ(build_batch({{{1}}, {{{2}, 4}, {{3}, 3}}}, sequences).n_rows(), 0);
}

}  // namespace
}  // namespace tessera::generate
