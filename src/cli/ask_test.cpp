#include "cli/ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/fake_service.h"

namespace tessera::cli {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Ask : public ::testing::Test {
 protected:
  void answer_with(const std::vector<std::string>& pieces,
                   FinishReason reason = FinishReason::kStop) {
    for (const std::string& piece : pieces)
      service_.events.emplace_back(TokenDelta{0, 1, piece, {}, {}});
    service_.events.emplace_back(ChoiceEnd{0, reason, static_cast<int>(pieces.size()) + 1});
    end_with(std::nullopt);
  }

  void end_with(std::optional<Error> error) {
    Trace trace(clock_.now());
    trace.counts = {1, 1, 64, 20, 0, 3};
    service_.events.emplace_back(StreamEnd{std::move(error), trace});
  }

  ExitCode run(const AskOptions& options, std::size_t n_images = 0) {
    CommandInput input{std::vector<EncodedMedia>(n_images), Trace(clock_.now())};
    clock_.advance(milliseconds(250));
    return run_ask(options, std::move(input), service_, {out_, err_}, clock_, stop_.get_token());
  }

  test_support::FakeService service_;
  ManualClock clock_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::stop_source stop_;
};

TEST_F(Ask, SendsTheImagesBeforeTheQuestion) {
  answer_with({"Two."});
  AskOptions options;
  options.question = "How many?";
  options.system = "Be brief.";
  options.max_tokens = 7;
  options.seed = 3;

  run(options, 2);

  const Request& request = *service_.submitted;
  EXPECT_EQ(request.model, "fake-model");
  EXPECT_EQ(request.media.size(), 2U);
  ASSERT_EQ(request.messages.size(), 2U);
  EXPECT_EQ(request.messages[0].role, Role::kSystem);
  const auto& parts = request.messages[1].parts;
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(std::get<ImagePart>(parts[0]).media_index, 0U);
  EXPECT_EQ(std::get<ImagePart>(parts[1]).media_index, 1U);
  EXPECT_EQ(std::get<TextPart>(parts[2]).text, "How many?");
  EXPECT_EQ(request.max_output_tokens, 7);
  EXPECT_EQ(request.sampling.temperature, 0.F);
  EXPECT_EQ(request.sampling.seed, 3U);
}

TEST_F(Ask, SendsNoSystemMessageUnlessOneIsGiven) {
  answer_with({"Two."});

  run({});

  ASSERT_EQ(service_.submitted->messages.size(), 1U);
  EXPECT_EQ(service_.submitted->messages[0].role, Role::kUser);
}

TEST_F(Ask, PrintsTheAnswerAndThenTheStageTable) {
  answer_with({"Two ", "cir", "cles."});

  const ExitCode code = run({});

  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(out_.str(), "Two circles.\n");
  EXPECT_THAT(err_.str(), HasSubstr("\n  total"));
  EXPECT_THAT(err_.str(), HasSubstr("250.00 ms"));
  EXPECT_THAT(err_.str(), HasSubstr("64 visual, 20 text"));
}

TEST_F(Ask, PrintsCharactersThatSpanTokensWhole) {
  answer_with({"gr\xC3", "\xBC", "n"});

  run({});

  EXPECT_EQ(out_.str(), "grün\n");
}

TEST_F(Ask, QuietPrintsTheAnswerOnly) {
  answer_with({"Two."});
  AskOptions options;
  options.quiet = true;

  run(options);

  EXPECT_EQ(out_.str(), "Two.\n");
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(Ask, JsonIsOneObject) {
  answer_with({"Two \x1b[2Jcircles."}, FinishReason::kLength);
  AskOptions options;
  options.json = true;

  const ExitCode code = run(options);

  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(json["answer"], "Two \x1b[2Jcircles.");
  EXPECT_EQ(json["model"], "fake-model");
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_EQ(json["usage"]["prompt_tokens"], 84);
  EXPECT_DOUBLE_EQ(json["tessera"]["total_seconds"].get<double>(), 0.25);
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(Ask, AnAnswerCannotDriveTheTerminal) {
  answer_with({"a\x1b[31mb\r\x07\xC2\x9B", "c\td\ne\x7F"});

  run({});

  EXPECT_EQ(out_.str(), "a[31mbc\td\ne\n");
}

TEST_F(Ask, ARefusalIsPrintedAndExitsWithItsCode) {
  service_.refusal = make_error(ErrorCode::kTooLarge, "too_many_images", "17 images exceed 16");

  const ExitCode code = run({});

  EXPECT_EQ(code, ExitCode::kRefused);
  EXPECT_EQ(err_.str(), "tessera: 17 images exceed 16\n");
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(Ask, AFailureInTheMiddleKeepsWhatWasPrintedOnItsOwnLine) {
  service_.events.emplace_back(TokenDelta{0, 1, "Two", {}, {}});
  end_with(make_error(ErrorCode::kInternal, "model_failed", "the model failed"));

  const ExitCode code = run({});

  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_EQ(out_.str(), "Two\n");
  EXPECT_EQ(err_.str(), "tessera: the model failed\n");
}

TEST_F(Ask, AnErrorAsJsonIsOneObject) {
  service_.refusal =
      make_error(ErrorCode::kUnsupportedMedia, "unsupported_image", "a PDF is not supported");
  AskOptions options;
  options.json = true;

  const ExitCode code = run(options);

  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(code, ExitCode::kRefused);
  EXPECT_EQ(json["error"]["reason"], "unsupported_image");
  EXPECT_EQ(json["error"]["message"], "a PDF is not supported");
}

TEST_F(Ask, AnErrorAtTheStartIsAboutTheConfiguration) {
  const Error error = make_error(ErrorCode::kNotFound, "model_file_not_found", "no such model");

  const ExitCode code = print_startup_error(error, false, {out_, err_});

  EXPECT_EQ(code, ExitCode::kUsage);
  EXPECT_EQ(err_.str(), "tessera: no such model\n");
}

TEST_F(Ask, AnInterruptionCancelsTheRequest) {
  service_.events.emplace_back(TokenDelta{0, 1, "Two", {}, {}});
  stop_.request_stop();

  const ExitCode code = run({});

  EXPECT_EQ(code, ExitCode::kInterrupted);
  EXPECT_TRUE(service_.cancel.stop_requested());
  EXPECT_EQ(out_.str(), "Two\n");
}

TEST_F(Ask, TheFinishedTraceIsAccounted) {
  answer_with({"Two."});

  run({});

  ASSERT_EQ(service_.accounted.size(), 1U);
  EXPECT_TRUE(service_.accounted[0].first.finished());
  EXPECT_FALSE(service_.accounted[0].second.has_value());
}

TEST_F(Ask, OutputThatCannotBeWrittenIsAFailure) {
  answer_with({"Two."});
  out_.setstate(std::ios::badbit);

  EXPECT_EQ(run({}), ExitCode::kFailed);
}

TEST_F(Ask, AnEmptyAnswerPrintsNoLine) {
  answer_with({});

  EXPECT_EQ(run({}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_THAT(err_.str(), Not(IsEmpty()));
}

}  // namespace
}  // namespace tessera::cli
