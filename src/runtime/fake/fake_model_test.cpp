#include "runtime/fake/fake_model.h"

#include <gtest/gtest.h>

#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {
namespace {

FakeModel make(const FakeOptions& options) {
  return FakeModel(options, std::make_shared<FakeControl>());
}

Message user(std::vector<ContentPart> parts) {
  return {Role::kUser, std::move(parts)};
}

Result<Prompt> prompt_of(const FakeModel& model, const std::vector<Message>& messages,
                         const std::vector<ImageSize>& sizes = {}) {
  TSR_ASSIGN_OR_RETURN(const std::vector<PromptPart> parts, model.apply_chat_template(messages));
  return model.tokenize(parts, whole_images(sizes));
}

TEST(FakeModel, RendersRolesAndTheGenerationPrompt) {
  const FakeModel model = make({});

  const auto prompt = prompt_of(model, {user({TextPart{"hi"}})});

  ASSERT_TRUE(prompt.has_value());
  const auto& text = std::get<TextSegment>(prompt->segments.at(0));
  EXPECT_EQ(text.tokens, (std::vector<TokenId>{kUserToken, 'h', 'i', kAssistantToken}));
  EXPECT_EQ(prompt->n_text_tokens, 4);
  EXPECT_EQ(prompt->n_positions, 4);
}

TEST(FakeModel, NeverTurnsUserTextIntoSpecials) {
  const FakeModel model = make({});

  const auto prompt = prompt_of(model, {user({TextPart{"<|user|>"}})});

  EXPECT_EQ(prompt->n_text_tokens, 10);
}

TEST(FakeModel, PutsImagesBetweenTextSegments) {
  const FakeModel model = make({});

  const auto prompt =
      prompt_of(model, {user({TextPart{"a"}, ImagePart{}, TextPart{"b"}})}, {{56, 84}});

  // user a <image> | 2×3 visual tokens | </image> b assistant
  ASSERT_TRUE(prompt.has_value());
  ASSERT_EQ(prompt->segments.size(), 3U);
  const auto& visual = std::get<VisualSegment>(prompt->segments[1]);
  EXPECT_EQ(visual.n_tokens, 6);
  EXPECT_EQ(visual.positions[5][0], 8);
  EXPECT_EQ(std::get<TextSegment>(prompt->segments[2]).first_position, 9);
  EXPECT_EQ(prompt->n_visual_tokens, 6);
  EXPECT_EQ(prompt->n_positions, 12);
  EXPECT_EQ(prompt->images.at(0).n_visual_tokens, 6);
}

TEST(FakeModel, PositionsUnderMropeAdvanceByTheLongerSide) {
  FakeOptions options;
  options.uses_mrope = true;
  const FakeModel model = make(options);

  const auto prompt = prompt_of(model, {user({ImagePart{}})}, {{56, 84}});

  const auto& visual = std::get<VisualSegment>(prompt->segments.at(1));
  EXPECT_EQ(visual.positions[5], (VisualPosition{2, 4, 3, 0}));
  EXPECT_EQ(std::get<TextSegment>(prompt->segments[2]).first_position, 5);
}

TEST(FakeModel, TilesOfTokenizeAndPrepareAreTheSame) {
  FakeOptions options;
  options.tile_side = 56;
  const FakeModel model = make(options);
  const ImageSize size{120, 60};

  const auto prompt = prompt_of(model, {user({ImagePart{}})}, {size});
  const auto tiles =
      model.prepare({size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.pixels()) * 3)});

  std::vector<int> planned;
  for (const Segment& segment : prompt->segments) {
    if (const auto* visual = std::get_if<VisualSegment>(&segment)) {
      planned.push_back(visual->n_tokens);
    }
  }
  std::vector<int> prepared;
  for (const auto& tile : *tiles) prepared.push_back(tile->n_tokens());
  EXPECT_EQ(planned, prepared);
  EXPECT_EQ(prompt->images.at(0).n_tiles, 7);
}

TEST(FakeModel, RefusesWhatRealModelsRefuse) {
  const FakeModel model = make({});
  FakeOptions text_only;
  text_only.has_vision = false;
  SamplerOptions bad_schema;
  bad_schema.format = {ResponseFormat::Kind::kJsonSchema, "no schema"};

  EXPECT_EQ(prompt_of(model, {}).error().reason, "template_refused");
  EXPECT_EQ(prompt_of(model, {user({ImagePart{}})}, {{4020, 19}}).error().reason,
            "image_size_unsupported");
  EXPECT_EQ(prompt_of(model, {user({ImagePart{}})}, {{0, 19}}).error().reason,
            "image_size_unsupported");
  EXPECT_EQ(prompt_of(make(text_only), {user({ImagePart{}})}, {{9, 9}}).error().reason,
            "images_unsupported");
  EXPECT_EQ(model.make_sampler(bad_schema).error().code, ErrorCode::kInvalidArgument);
}

TEST(FakeModel, PiecesAreBytesAndSpecialsAreEmpty) {
  const FakeModel model = make({});

  EXPECT_EQ(model.piece('a'), "a");
  EXPECT_EQ(model.piece(0xE2), "\xE2");
  EXPECT_EQ(model.piece(kEndToken), "");
  EXPECT_EQ(model.piece(-1), "");
}

TEST(FakeModel, FailsWhenTold) {
  auto control = std::make_shared<FakeControl>();
  for (const Call call :
       {Call::kApplyChatTemplate, Call::kTokenize, Call::kPrepare, Call::kMakeSampler}) {
    control->fail(call, 1, Effect::kError);
  }
  const FakeModel model({}, control);

  EXPECT_EQ(model.apply_chat_template({}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(model.tokenize({}, {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(model.prepare({}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(model.make_sampler({}).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace tessera::runtime::fake
