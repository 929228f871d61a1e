// One model call with the text of one sequence and the image of another gives both what two calls
// give them, for each way in which an architecture numbers rows and takes their features.
#include <cmath>

#include "runtime/llama/llama_executor.h"
#include "runtime/llama/random_model/made_model.h"

namespace tessera::runtime::llama::random_model {
namespace {

constexpr SequenceId kText{0};
constexpr SequenceId kImage{1};

Shape shape_named(const std::string& name) {
  const std::vector<Shape> shapes = all_shapes();
  const auto found = std::ranges::find(shapes, name, &Shape::name);
  EXPECT_NE(found, shapes.end()) << name;
  return *found;
}

/// @param sampler  of the last
std::vector<TokenRow> rows_of(SequenceId sequence, std::span<const TokenId> tokens, Position first,
                              Sampler* sampler = nullptr) {
  std::vector<TokenRow> rows;
  for (const TokenId token : tokens) {
    rows.push_back({sequence, token, first + static_cast<Position>(rows.size()), nullptr});
  }
  rows.back().sampler = sampler;
  return rows;
}

struct Scores {
  std::vector<float> of_text;   // after the row that was beside the image
  std::vector<float> of_image;  // after the text behind the image
};

class MixedRows : public testing::TestWithParam<const char*> {
 protected:
  MixedRows() : made(shape_named(GetParam())) {
    const auto planned = plan_of(made.model(), kSize);
    EXPECT_TRUE(planned);
    prompt = planned.value();
    const auto tiles = made.model().prepare(drawn_image(kSize));
    embedding = made.encoder().encode(*tiles.value().front(), {}).value();
    sampler = made.model().make_sampler({}).value();
  }

  std::vector<float> logits(int row) {
    const auto scores = static_cast<LlamaExecutor&>(made.executor()).logits(row);
    return {scores.begin(), scores.end()};
  }

  /// Up to the first image, and all of that.
  Scores run(bool mixes) {
    Executor& executor = made.executor();
    const auto& before = std::get<TextSegment>(prompt.segments[0]);
    const auto& image = std::get<VisualSegment>(prompt.segments[1]);
    const auto& after = std::get<TextSegment>(prompt.segments[2]);
    const std::span<const TokenId> text = before.tokens;
    const auto n_text = static_cast<Position>(text.size());
    std::vector<TokenRow> rows = rows_of(kText, text, 0);
    for (const TokenRow& row : rows_of(kImage, text, 0)) rows.push_back(row);
    EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);

    const std::vector<TokenRow> next = rows_of(kText, text.first(1), n_text, sampler.get());
    const std::vector<VisualRows> slices{
        {kImage, embedding.rows, image.positions, 0, image.n_tokens, image.non_causal}};
    Scores scores;
    EXPECT_EQ(
        executor.decode(next, mixes ? std::span(slices) : std::span<const VisualRows>(), {}).status,
        DecodeStatus::kOk);
    scores.of_text = logits(0);
    if (!mixes) EXPECT_EQ(executor.decode({}, slices, {}).status, DecodeStatus::kOk);

    rows = rows_of(kImage, after.tokens, after.first_position, sampler.get());
    EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);
    scores.of_image = logits(static_cast<int>(rows.size()) - 1);
    executor.remove(kText);
    executor.remove(kImage);
    return scores;
  }

  static constexpr ImageSize kSize{112, 112};
  MadeModel made;
  Prompt prompt;
  Embedding embedding;
  std::unique_ptr<Sampler> sampler;
};

/// Batches of another size are computed in another order.
void expect_near(const std::vector<float>& scores, const std::vector<float>& expected) {
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i) ASSERT_NEAR(scores[i], expected[i], 2e-3) << i;
}

TEST_P(MixedRows, GiveTheSameScoresAsTwoCalls) {
  ASSERT_TRUE(made.executor().can_mix());

  const Scores apart = run(false);
  const Scores mixed = run(true);

  expect_near(mixed.of_text, apart.of_text);
  expect_near(mixed.of_image, apart.of_image);
}

INSTANTIATE_TEST_SUITE_P(All, MixedRows,
                         testing::Values("tiny-llava", "tiny-gemma3", "tiny-qwen2vl",
                                         "tiny-qwen3vl"),
                         [](const auto& info) { return test_name({info.param, nullptr}); });

}  // namespace
}  // namespace tessera::runtime::llama::random_model
