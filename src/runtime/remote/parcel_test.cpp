#include <gtest/gtest.h>

#include "runtime/remote/messages.h"

namespace tessera::runtime::remote {
namespace {

template <typename T>
std::vector<std::byte> written(const T& value) {
  ParcelWriter parcel;
  parcel(value);
  return {parcel.bytes().begin(), parcel.bytes().end()};
}

/// @return  whether the bytes are exactly such a value
template <typename T>
bool read(std::span<const std::byte> bytes, T& value) {
  ParcelReader parcel(bytes);
  parcel(value);
  return parcel.complete();
}

/// What is written is read, and written again is the same bytes; whatever is cut off is missed.
template <typename T>
void expect_round_trip(const T& value) {
  const auto bytes = written(value);
  T again{};
  ASSERT_TRUE(read(bytes, again));
  EXPECT_EQ(written(again), bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    T part{};
    EXPECT_FALSE(read(std::span(bytes).first(n), part)) << n << " of " << bytes.size();
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  T rest{};
  EXPECT_FALSE(read(longer, rest));
}

Prompt some_prompt() {
  Prompt prompt;
  prompt.segments.emplace_back(TextSegment{{1, 2, 3}, 0});
  prompt.segments.emplace_back(VisualSegment{0, 1, 2, true, {{3, 0, 0, 0}, {3, 0, 1, 0}}});
  ImagePlan plan;
  plan.source = {640, 480};
  plan.n_visual_tokens = 2;
  plan.overview_only = true;
  prompt.images.push_back(plan);
  prompt.n_text_tokens = 3;
  prompt.n_visual_tokens = 2;
  prompt.n_positions = 5;
  return prompt;
}

TEST(Parcel, CarriesEveryValueThatGoesBetweenTheProcesses) {
  expect_round_trip(some_prompt());
  expect_round_trip(Image{{2, 1}, {1, 2, 3, 4, 5, 6}});
  expect_round_trip(Embedding{2, 2, {0.5F, -1.F, 2.F, 3.F}});
  expect_round_trip(std::vector<Message>{
      {Role::kSystem, {TextPart{"be brief"}}},
      {Role::kUser, {ImagePart{3, ImageDetail::kLow, 64}, TextPart{"what is it?"}}}});
  expect_round_trip(
      TokenizeCall{{TemplateText{"<s>"}, MediaPlace{0}, UserText{"hi"}}, {{{640, 480}, true}}});
  MakeSamplerCall sampler;
  sampler.sampler = 7;
  sampler.options.sampling.seed = 5;
  sampler.options.format = {ResponseFormat::Kind::kJsonSchema, "{}"};
  expect_round_trip(sampler);
  SampledToken token;
  token.logprob = -0.5F;
  token.top_logprobs = {{4, "a", -0.1F}, {5, "b", -2.F}};
  expect_round_trip(CallResult{DecodeStatus::kOk, {token, engine_lost_error()}});
  Facts facts;
  facts.model.name = "tiny";
  facts.pieces = {"a", "", "b"};
  expect_round_trip(facts);
  DecodeCall decode;
  decode.orders = {{SequenceId{1}, SequenceId{2}, {0, 4, 0, 4}}};
  decode.tokens = {{SequenceId{1}, 42, 4, 7}};
  decode.visual = {{SequenceId{0}, {1.F, 2.F}, {{0, 0, 0, 0}}, 0, 1, false}};
  expect_round_trip(decode);
}

TEST(Parcel, CarriesErrorsInPlaceOfResults) {
  Error error = make_error(ErrorCode::kNotFound, "no_such_model", "there is none", "model");
  error.retry_after = std::chrono::seconds(3);

  auto again = Result<Prompt>(Prompt{});
  ASSERT_TRUE(read(written(Result<Prompt>(error)), again));

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, error.code);
  EXPECT_EQ(again.error().reason, error.reason);
  EXPECT_EQ(again.error().message, error.message);
  EXPECT_EQ(again.error().param, error.param);
  EXPECT_EQ(again.error().retry_after, error.retry_after);
}

TEST(Parcel, RefusesACountThatNoParcelCouldHold) {
  for (const std::uint64_t count : {std::uint64_t{9}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    auto bytes = written(count);
    bytes.resize(bytes.size() + 8);
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> texts;
    std::string text;
    EXPECT_FALSE(read(bytes, numbers));
    EXPECT_TRUE(numbers.empty());
    EXPECT_FALSE(read(bytes, texts));
    EXPECT_FALSE(read(bytes, text));
  }
}

TEST(Parcel, RefusesValuesOutsideOfAnEnumOrAVariant) {
  for (const std::int32_t number : {-1, static_cast<std::int32_t>(DecodeStatus::kLost) + 1}) {
    DecodeStatus status{};
    EXPECT_FALSE(read(written(number), status));
    EXPECT_EQ(status, DecodeStatus::kOk);
  }
  PromptPart part;
  EXPECT_FALSE(read(written(std::uint32_t{3}), part));
}

TEST(Parcel, TakesAnyByteAsABool) {
  bool value = false;
  EXPECT_TRUE(read(written(std::uint8_t{7}), value));
  EXPECT_TRUE(value);
}

}  // namespace
}  // namespace tessera::runtime::remote
