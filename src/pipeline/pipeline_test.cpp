// The whole pipeline on the fake runtime and the real media worker.
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cache/test_folder.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::pipeline {
namespace {

using media::testing::ByteVector;
using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;

ByteVector small_png(ImageSize size = {56, 28}) {
  return media::testing::encode_png(media::testing::gradient(size));
}

/// A user message of one line, behind `n_images` copies of a picture.
Request ask(const std::string& text, int n_images = 0, const ByteVector& file = small_png()) {
  Request request;
  Message message;
  for (int i = 0; i < n_images; ++i) {
    message.parts.emplace_back(ImagePart{request.media.size(), ImageDetail::kAuto});
    request.media.push_back(media::testing::to_media(file));
  }
  message.parts.emplace_back(TextPart{text});
  request.messages.push_back(std::move(message));
  request.sampling.temperature = 0;
  return request;
}

Request plan_of(Request request) {
  request.plan_only = true;
  return request;
}

/// What came back for one request.
struct Answer {
  std::string text;
  std::optional<Error> error;
  std::optional<Trace> trace;
  int n_ends = 0;  // terminal events
  std::optional<PlanReport> plan;
};

Answer read_all(StreamReader& reader) {
  Answer answer;
  while (answer.n_ends == 0) {
    const auto event = reader->pop({});
    if (const auto* delta = std::get_if<TokenDelta>(&*event)) answer.text += delta->piece;
    if (const auto* end = std::get_if<StreamEnd>(&*event)) {
      answer.error = end->error;
      answer.trace = end->trace;
      answer.plan = end->plan;
      ++answer.n_ends;
    }
  }
  while (const auto event = reader->try_pop()) {
    answer.n_ends += std::holds_alternative<StreamEnd>(*event) ? 1 : 0;
  }
  return answer;
}

class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() { fake_.control = control_; }

  void start() {
    options_.decoder.zygotes.image = &media::testing::worker_zygote(media_worker_);
    options_.decoder.base_timeout = std::chrono::seconds(60);
    pipeline_ =
        std::make_unique<Pipeline>(runtime::fake::load(fake_).value(), options_, clock_, metrics_);
  }
  Result<StreamReader> submit(Request request) {
    return pipeline_->submit(std::move(request), TenantId{0}, Trace(clock_.now()));
  }
  Answer answer(Request request) {
    auto reader = submit(std::move(request));
    if (!reader) return {{}, reader.error(), {}, 0, {}};
    return read_all(*reader);
  }

  /// Images that a decoder made pixels of.
  int decodes() {
    const std::string text = metrics_.expose();
    const std::string line = "tessera_media_decodes_total{outcome=\"ok\",reason=\"none\"} ";
    const auto at = text.find(line);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + line.size()));
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  FakeOptions fake_;
  PipelineOptions options_;
  std::string media_worker_ = TESSERA_MEDIA_WORKER;
  SteadyClock clock_;
  metrics::Metrics metrics_{{"test", "fake"}};
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(PipelineTest, AnswersTextWithoutTouchingMediaOrEncoder) {
  start();

  const Answer got = answer(ask("say:hello"));

  EXPECT_FALSE(got.error);
  EXPECT_EQ(got.text, "hello");
  EXPECT_EQ(control_->n_calls(Call::kEncode), 0);
  EXPECT_EQ(got.trace->in(Stage::kMediaDecode), Duration{});
}

TEST_F(PipelineTest, AnswersAboutImagesThroughEveryStage) {
  start();

  const Answer got = answer(ask("say:two", 2));

  ASSERT_FALSE(got.error) << got.error->message;
  EXPECT_EQ(got.text, "two");
  EXPECT_EQ(got.trace->counts.n_images, 2);
  EXPECT_EQ(got.trace->counts.n_tiles, 2);
  EXPECT_EQ(got.trace->counts.n_visual_tokens, 4);  // 56×28 pixels are two cells each
  for (const Stage stage : {Stage::kMediaDecode, Stage::kPlan, Stage::kResize, Stage::kEncode,
                            Stage::kPrefillVisual, Stage::kPrefillText, Stage::kDecode}) {
    EXPECT_GT(got.trace->in(stage), Duration{}) << to_string(stage);
  }
  EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
}

TEST_F(PipelineTest, TheSecondMentionOfAnImageNeedsNoDecoderAndNoEncoder) {
  options_.features = {1'000'000, true};
  start();
  const Answer first = answer(ask("say:one", 1));
  ASSERT_FALSE(first.error) << first.error->message;
  ASSERT_EQ(control_->n_calls(Call::kEncode), 1);
  ASSERT_EQ(control_->n_calls(Call::kPrepare), 1);

  const Answer second = answer(ask("say:other words", 3));

  ASSERT_FALSE(second.error) << second.error->message;
  EXPECT_EQ(second.text, "other words");
  EXPECT_EQ(control_->n_calls(Call::kEncode), 1);
  EXPECT_EQ(control_->n_calls(Call::kPrepare), 1);
  EXPECT_EQ(second.trace->counts.n_cached_tiles, 3);
  EXPECT_EQ(second.trace->in(Stage::kEncode), Duration{});
  EXPECT_EQ(second.trace->in(Stage::kResize), Duration{});
  EXPECT_EQ(decodes(), 1);
}

TEST_F(PipelineTest, OnlyTheNewOneOfTwoImagesIsDecodedAndEncoded) {
  options_.features = {1'000'000, true};
  start();
  ASSERT_FALSE(answer(ask("say:one", 1)).error);
  Request both = ask("say:both", 1);
  both.media.push_back(media::testing::to_media(small_png({28, 56})));
  both.messages[0].parts.emplace_back(ImagePart{1});

  const Answer got = answer(std::move(both));

  ASSERT_FALSE(got.error) << got.error->message;
  EXPECT_EQ(control_->n_calls(Call::kPrepare), 2);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 2);
  EXPECT_EQ(got.trace->counts.n_cached_tiles, 1);
}

TEST_F(PipelineTest, FeaturesAreNobodyElses) {
  options_.features = {1'000'000, true};
  start();
  ASSERT_FALSE(answer(ask("say:one", 1)).error);

  auto other = pipeline_->submit(ask("say:one", 1), TenantId{1}, Trace(clock_.now()));
  const Answer got = read_all(*other);

  EXPECT_EQ(control_->n_calls(Call::kEncode), 2);
  EXPECT_EQ(got.trace->counts.n_cached_tiles, 0);
  EXPECT_EQ(decodes(), 2) << "nor what the file is";
}

TEST_F(PipelineTest, ARequestThatSharesWithNoneReadsNothingAndLeavesNothing) {
  options_.features = {1'000'000, true};
  start();
  const auto alone = [] {
    Request request = ask("say:one", 2);
    request.cache.scope = CachePolicy::Scope::kRequest;
    return request;
  };
  ASSERT_FALSE(answer(ask("say:one", 1)).error);

  ASSERT_FALSE(answer(alone()).error);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 2) << "the same image twice";
  ASSERT_FALSE(answer(alone()).error);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 3);
  EXPECT_EQ(decodes(), 3) << "not even what the file is";
}

TEST_F(PipelineTest, ARequestWithoutAnyScopeComputesEachMention) {
  options_.features = {1'000'000, true};
  start();
  Request request = ask("say:one", 2);
  request.cache.scope = CachePolicy::Scope::kNone;

  ASSERT_FALSE(answer(std::move(request)).error);

  EXPECT_EQ(control_->n_calls(Call::kEncode), 2);
  ASSERT_FALSE(answer(ask("say:one", 1)).error);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 3) << "and leaves nothing";
}

TEST_F(PipelineTest, FeaturesOfYesterdayAreFoundAfterARestart) {
  const cache::TestFolder folder;
  options_.features = {1'000'000, true};
  options_.encoder = "the same weights";
  const auto restart = [&](cache::DiskTier& tier) {
    pipeline_.reset();
    options_.feature_disk = &tier;
    start();
  };
  const auto open = [&folder] {
    cache::DiskTierOptions options;
    options.folder = folder.path();
    options.bytes_max = 1'000'000;
    return cache::DiskTier::open(std::move(options)).value();
  };
  auto disk = open();
  restart(*disk);
  const Answer yesterday = answer(ask("say:two", 2));
  ASSERT_EQ(yesterday.trace->counts.n_cached_tiles, 0);
  pipeline_.reset();
  disk.reset();
  disk = open();
  restart(*disk);

  const Answer today = answer(ask("say:two", 2));

  EXPECT_EQ(today.text, yesterday.text);
  EXPECT_EQ(today.trace->counts.n_cached_tiles, 2);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 1) << "the same image twice, yesterday";
  pipeline_.reset();
  disk.reset();

  disk = open();
  options_.encoder = "other weights";
  restart(*disk);
  EXPECT_EQ(answer(ask("say:two", 2)).trace->counts.n_cached_tiles, 0);
  pipeline_.reset();
}

TEST_F(PipelineTest, ImagesOfOneContentAskedAboutAtOnceAreEncodedOnce) {
  options_.features = {1'000'000, true};
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  start();
  std::vector<StreamReader> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(submit(ask("say:yes", 1)).value());
  control_->wait_until_held();
  control_->release();

  for (auto& reader : readers) EXPECT_EQ(read_all(reader).text, "yes");
  EXPECT_EQ(control_->n_calls(Call::kEncode), 1);
}

TEST_F(PipelineTest, StagesSumToTheTotal) {
  start();

  Answer got = answer(ask("count:20", 1));
  got.trace->finish(clock_.now());

  Duration sum{};
  for (std::size_t i = 0; i < kStageCount; ++i) sum += got.trace->in(static_cast<Stage>(i));
  EXPECT_EQ(sum, got.trace->total());
}

TEST_F(PipelineTest, AnswersAreTheSameAloneAndInACrowd) {
  start();
  const std::string alone = answer(ask("what is it?", 1)).text;

  std::vector<StreamReader> readers;
  for (int i = 0; i < 30; ++i) {
    readers.push_back(submit(i % 3 == 0 ? ask("what is it?", 1) : ask("count:9")).value());
  }

  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Answer got = read_all(readers[i]);
    ASSERT_FALSE(got.error);
    if (i % 3 == 0) {
      EXPECT_EQ(got.text, alone);
    }
  }
  EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
}

TEST_F(PipelineTest, EachFaultOfTheRuntimeEndsInExactlyOneTerminalEvent) {
  const std::vector<std::pair<Call, Effect>> faults{
      {Call::kApplyChatTemplate, Effect::kError}, {Call::kTokenize, Effect::kError},
      {Call::kPrepare, Effect::kError},           {Call::kEncode, Effect::kError},
      {Call::kEncode, Effect::kCancelled},        {Call::kDecodeTokens, Effect::kFatal},
      {Call::kDecodeTokens, Effect::kNoKvSlot},   {Call::kDecodeVisual, Effect::kFatal},
      {Call::kMakeSampler, Effect::kError},       {Call::kSample, Effect::kError}};
  for (const auto& [call, effect] : faults) {
    fake_.control = std::make_shared<FakeControl>();
    fake_.control->fail(call, 1, effect);
    start();

    const Answer failed = answer(ask("say:one", 1));
    const Answer next = answer(ask("say:two", 1));

    EXPECT_EQ(failed.n_ends, 1);
    EXPECT_FALSE(next.error) << next.error->message;
    EXPECT_EQ(next.text, "two") << "after fault of call " << static_cast<int>(call);
    EXPECT_EQ(fake_.control->n_violations(), 0) << fake_.control->last_violation();
  }
}

TEST_F(PipelineTest, BadImagesAreTheSendersErrorAndNobodyElses) {
  start();
  const ByteVector png = small_png();
  const ByteVector truncated(png.begin(), png.begin() + static_cast<long>(png.size() / 2));
  const ByteVector text{'h', 'e', 'l', 'l', 'o'};

  EXPECT_EQ(answer(ask("?", 1, truncated)).error->reason, "image_invalid");
  EXPECT_EQ(answer(ask("?", 1, text)).error->reason, "image_format_unsupported");
  EXPECT_EQ(answer(ask("?", 1, ByteVector{})).error->reason, "image_empty");
  EXPECT_EQ(answer(ask("say:fine", 1)).text, "fine");
}

TEST_F(PipelineTest, ATenantThatLosesMediaIsCountedInTheMetrics) {
  // The fake worker's name says what it does.
  const std::string name = "tessera-pipeline-" + std::to_string(::getpid());
  const auto folder = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(TESSERA_MEDIA_FAKE_WORKER, folder / "probe_die");
  media_worker_ = folder / "probe_die";
  start();
  const auto n_suspended = [this] {
    pipeline_->publish_gauges();
    const std::string text = metrics_.expose();
    const std::string_view line = "\ntessera_media_suspended_tenants ";
    return text.substr(text.find(line) + line.size(), 1);
  };

  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(n_suspended(), "0") << i;
    const ByteVector another = small_png({28, 28 + i});
    EXPECT_EQ(answer(ask("?", 1, another)).error->reason, "media_decoder_failed");
  }

  EXPECT_EQ(n_suspended(), "1");
  EXPECT_EQ(answer(ask("?", 1)).error->reason, "media_suspended");
  std::filesystem::remove_all(folder);
}

TEST_F(PipelineTest, RefusesMoreRequestsThanItsLimit) {
  options_.limits.requests_max = 1;
  control_->fail(Call::kDecodeTokens, 1, Effect::kSlow);
  start();
  auto first = submit(ask("say:first")).value();
  control_->wait_until_held();

  const auto second = submit(ask("say:second"));

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kResourceExhausted);
  control_->release();
  EXPECT_EQ(read_all(first).text, "first");
}

TEST_F(PipelineTest, PlacesAreFreeAgainWhenRequestsEnd) {
  options_.limits.requests_max = 1;
  start();

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer(ask("say:again")).text, "again");
  }
}

TEST_F(PipelineTest, ReaderThatGoesAwayDuringAnEncodeFreesTheEncoder) {
  control_->fail(Call::kEncode, 1, Effect::kSlow);
  start();
  {
    const auto gone = submit(ask("say:gone", 1)).value();
    control_->wait_until_held();
  }

  EXPECT_EQ(answer(ask("say:next", 1)).text, "next");
}

TEST_F(PipelineTest, ContextOverflowIsRefusedWithTheNumbers) {
  fake_.context_length = 64;
  start();

  const Answer got = answer(ask(std::string(100, 'a')));

  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->reason, "context_length_exceeded");
  EXPECT_NE(got.error->message.find("64"), std::string::npos);
}

TEST_F(PipelineTest, VisualTokenCeilingIsHeldBeforeAnyPixelIsDecoded) {
  options_.limits.visual_tokens_max = 1;
  start();

  const Answer got = answer(ask("?", 2));

  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->reason, "visual_tokens_exceeded");
  EXPECT_EQ(control_->n_calls(Call::kPrepare), 0);
}

TEST_F(PipelineTest, ModelWithoutVisionRefusesImagesAtOnce) {
  fake_.has_vision = false;
  start();

  const auto refused = submit(ask("?", 1));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "vision_not_supported");
  EXPECT_EQ(answer(ask("say:text")).text, "text");
}

TEST_F(PipelineTest, ShutdownEndsEveryRequestWithAllStagesBusy) {
  control_->fail(Call::kEncode, 2, Effect::kSlow);
  start();
  std::vector<StreamReader> readers;
  readers.push_back(submit(ask("count:4000")).value());
  for (int i = 0; i < 20; ++i) readers.push_back(submit(ask("count:4000", 1 + i % 3)).value());
  control_->wait_until_held();

  pipeline_->shutdown();

  for (StreamReader& reader : readers) EXPECT_EQ(read_all(reader).n_ends, 1);
  EXPECT_EQ(submit(ask("?")).error().code, ErrorCode::kUnavailable);
}

TEST_F(PipelineTest, PlansWithoutRunningTheModelOrDecodingAPixel) {
  start();

  const Answer got = answer(plan_of(ask("?", 2, small_png({280, 140}))));

  ASSERT_TRUE(got.plan);
  ASSERT_EQ(got.plan->images.size(), 2U);
  EXPECT_EQ(got.plan->images[0].source, (ImageSize{280, 140}));
  EXPECT_EQ(got.plan->n_visual_tokens, 2 * 50);
  EXPECT_EQ(got.plan->images[0].n_cached_tiles, 0);
  EXPECT_FALSE(got.plan->encode_seconds);  // nothing was measured yet
  EXPECT_EQ(control_->n_calls(Call::kEncode) + control_->n_calls(Call::kDecodeTokens), 0);
  EXPECT_EQ(decodes(), 0);
}

TEST_F(PipelineTest, PlansTextWithoutAModelCall) {
  start();

  const Answer got = answer(plan_of(ask("say:hello")));

  ASSERT_TRUE(got.plan);
  EXPECT_GT(got.plan->n_text_tokens, 5);
  EXPECT_EQ(got.text, "");
  EXPECT_EQ(control_->n_calls(Call::kDecodeTokens), 0);
}

TEST_F(PipelineTest, APlanKnowsWhatIsCachedAndHowLongTheRestWillTake) {
  options_.features.bytes_max = 1U << 20U;
  start();
  ASSERT_FALSE(answer(ask("say:seen", 1, small_png({280, 140}))).error);

  const Answer seen = answer(plan_of(ask("?", 1, small_png({280, 140}))));
  const Answer fresh = answer(plan_of(ask("?", 1, small_png({140, 280}))));

  ASSERT_TRUE(seen.plan && fresh.plan);
  EXPECT_EQ(seen.plan->images[0].n_cached_tiles, 1);
  EXPECT_EQ(seen.plan->encode_seconds, 0);
  EXPECT_EQ(seen.plan->media_decode_seconds, 0);
  EXPECT_EQ(fresh.plan->images[0].n_cached_tiles, 0);
  EXPECT_GT(fresh.plan->encode_seconds.value_or(0), 0);
  EXPECT_GT(fresh.plan->prefill_seconds.value_or(0), 0);
  EXPECT_EQ(decodes(), 1) << "a plan decodes nothing";
}

TEST_F(PipelineTest, ASmallerBudgetIsAnsweredFromASmallerImage) {
  start();
  Request request = ask("say:small", 1, small_png({280, 140}));
  request.visual_tokens_max = 20;

  const Answer got = answer(std::move(request));

  ASSERT_FALSE(got.error) << got.error->message;
  EXPECT_EQ(got.text, "small");
  ASSERT_EQ(got.trace->images.size(), 1U);
  EXPECT_LE(got.trace->counts.n_visual_tokens, 20);
  EXPECT_GE(got.trace->counts.n_visual_tokens, 15);
  EXPECT_EQ(got.trace->images[0].budget, 20);
  EXPECT_EQ(got.trace->images[0].source, (ImageSize{280, 140}));
  EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
}

TEST_F(PipelineTest, AnOverviewAloneIsOneTileOfThoseThatArePrepared) {
  fake_.tile_side = 56;
  fake_.has_overview = true;
  start();
  Request request = ask("say:whole", 1, small_png({140, 140}));
  std::get<ImagePart>(request.messages[0].parts[0]).detail = ImageDetail::kLow;

  const Answer got = answer(std::move(request));

  ASSERT_FALSE(got.error) << got.error->message;
  EXPECT_EQ(got.trace->counts.n_tiles, 1);
  EXPECT_EQ(control_->n_calls(Call::kEncode), 1);
}

TEST_F(PipelineTest, ImagesByUrlAreAnsweredAsThoseInTheBody) {
  options_.sources.upload = [](TenantId, std::string_view) {
    return Result<EncodedMedia>(media::testing::to_media(small_png()));
  };
  start();
  const Answer in_body = answer(ask("what is it?", 2));
  Request request = ask("what is it?", 2);
  request.media[1] = EncodedMedia{};
  request.pending.push_back({1, RedactedUrl("tessera-file:1")});

  const Answer by_url = answer(std::move(request));

  ASSERT_FALSE(by_url.error) << by_url.error->message;
  EXPECT_EQ(by_url.text, in_body.text);
  EXPECT_GT(by_url.trace->in(Stage::kFetch), Duration{});
  EXPECT_EQ(in_body.trace->in(Stage::kFetch), Duration{});
}

TEST_F(PipelineTest, AnImageThatCannotBeHadEndsItsRequest) {
  start();
  Request request = ask("what is it?", 1);
  request.media[0] = EncodedMedia{};
  request.pending.push_back({0, RedactedUrl("https://a.example.com/")});

  const Answer got = answer(std::move(request));

  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->reason, "media_url_unavailable");
  EXPECT_EQ(got.n_ends, 1);
}

/// In whichever call the engine is lost, the client learns nothing of it before the first token.
class LossIn : public PipelineTest, public testing::WithParamInterface<std::pair<Call, int>> {};

TEST_P(LossIn, IsMadeGoodOnce) {
  control_->fail(GetParam().first, GetParam().second, Effect::kLost);
  start();

  const Answer got = answer(ask("say:two", 2));

  ASSERT_FALSE(got.error) << got.error->message;
  EXPECT_EQ(got.text, "two");
  EXPECT_EQ(got.trace->counts.n_images, 2);
  EXPECT_EQ(control_->n_violations(), 0) << control_->last_violation();
}

TEST_P(LossIn, IsAnErrorTheSecondTime) {
  for (int nth = GetParam().second; nth < 10; ++nth) {
    control_->fail(GetParam().first, nth, Effect::kLost);
  }
  start();

  const Answer got = answer(ask("say:two", 2));
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->reason, "engine_lost");
  EXPECT_EQ(got.n_ends, 1);
}

INSTANTIATE_TEST_SUITE_P(Calls, LossIn,
                         testing::Values(std::pair(Call::kApplyChatTemplate, 1),
                                         std::pair(Call::kTokenize, 1),
                                         std::pair(Call::kPrepare, 2), std::pair(Call::kEncode, 1),
                                         std::pair(Call::kDecodeVisual, 1),
                                         std::pair(Call::kDecodeTokens, 1)));

TEST_F(PipelineTest, ATextRequestIsDoneAgainToo) {
  control_->fail(Call::kTokenize, 1, Effect::kLost);
  start();
  EXPECT_EQ(answer(ask("say:hello")).text, "hello");
}

TEST_F(PipelineTest, AfterItsFirstTokenALossIsTheEndOfARequest) {
  control_->fail(Call::kDecodeTokens, 3, Effect::kLost);
  start();

  const Answer got = answer(ask("say:hello"));
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->reason, "engine_lost");
  EXPECT_EQ(got.text, "he");
}

}  // namespace
}  // namespace tessera::pipeline
