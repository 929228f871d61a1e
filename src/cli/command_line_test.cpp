#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tessera::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Options>
Options parsed(const std::vector<std::string>& arguments) {
  auto command = parse_command_line(arguments);
  if (!command) {
    ADD_FAILURE() << command.error().message;
    return {};
  }
  auto* options = std::get_if<Options>(&*command);
  if (options == nullptr) {
    ADD_FAILURE() << "another command was parsed: " << command->index();
    return {};
  }
  return std::move(*options);
}

std::string message_of(const std::vector<std::string>& arguments) {
  const auto command = parse_command_line(arguments);
  return command ? "no error" : command.error().message;
}

TEST(CommandLine, TheLastArgumentOfAskIsTheQuestion) {
  const auto ask = parsed<AskOptions>({"ask", "a.jpg", "b.png", "Which is red?"});

  EXPECT_THAT(ask.image_paths, ElementsAre("a.jpg", "b.png"));
  EXPECT_EQ(ask.question, "Which is red?");
  EXPECT_EQ(ask.temperature, 0.F);
  EXPECT_EQ(ask.max_tokens, std::nullopt);
  EXPECT_FALSE(ask.json);
}

TEST(CommandLine, AskNeedsNoImage) {
  const auto ask = parsed<AskOptions>({"ask", "What is a cat?"});

  EXPECT_THAT(ask.image_paths, IsEmpty());
  EXPECT_EQ(ask.question, "What is a cat?");
}

TEST(CommandLine, AskTakesItsOptionsAnywhere) {
  const auto ask = parsed<AskOptions>(
      {"ask", "--json", "a.jpg", "--max-tokens", "12", "--temperature", "0.5", "Why?",
       "--seed=18446744073709551615", "--system", "Be brief.", "-q", "--frames", "4"});

  EXPECT_THAT(ask.image_paths, ElementsAre("a.jpg"));
  EXPECT_EQ(ask.question, "Why?");
  EXPECT_EQ(ask.max_tokens, 12);
  EXPECT_EQ(ask.images.n_frames, 4);
  EXPECT_FLOAT_EQ(ask.temperature, 0.5F);
  EXPECT_EQ(ask.seed, 18446744073709551615U);
  EXPECT_EQ(ask.system, "Be brief.");
  EXPECT_TRUE(ask.json);
  EXPECT_TRUE(ask.quiet);
}

TEST(CommandLine, AQuestionMayLookLikeAnythingElse) {
  EXPECT_EQ(parsed<AskOptions>({"ask", "plan"}).question, "plan");
  EXPECT_EQ(parsed<AskOptions>({"ask", "[a,b]"}).question, "[a,b]");
  EXPECT_EQ(parsed<AskOptions>({"ask", "{}"}).question, "{}");
  EXPECT_EQ(parsed<AskOptions>({"ask", "a=b"}).question, "a=b");
  EXPECT_EQ(parsed<AskOptions>({"ask", "--", "-why"}).question, "-why");
  EXPECT_EQ(parsed<AskOptions>({"ask", "a.jpg", "--", "--json"}).question, "--json");
  EXPECT_EQ(parsed<AskOptions>({"ask", "two\nlines"}).question, "two\nlines");
  EXPECT_EQ(parsed<AskOptions>({"ask", "--system", "[x]", "q"}).system, "[x]");
}

TEST(CommandLine, AskRefusesWhatItCannotUse) {
  EXPECT_EQ(message_of({"ask"}), "a question is missing; see tessera ask --help");
  EXPECT_EQ(message_of({"ask", ""}), "a question is missing; see tessera ask --help");
  EXPECT_EQ(message_of({"ask", "q", "--max-tokens", "0"}),
            "--max-tokens: 0 is not between 1 and 2147483647; see tessera ask --help");
  EXPECT_EQ(message_of({"ask", "q", "--temperature", "nan"}),
            "--temperature: \"nan\" is not a number between 0 and 2; see tessera ask --help");
  EXPECT_EQ(message_of({"ask", "q", "--temperature=-1"}),
            "--temperature: \"-1\" is not a number between 0 and 2; see tessera ask --help");
  EXPECT_EQ(message_of({"ask", "q", "--seed", "x"}),
            "--seed: \"x\" is not a whole number; see tessera ask --help");
}

TEST(CommandLine, SettingsAreCollectedByKey) {
  const auto serve =
      parsed<ServeOptions>({"serve", "--port", "9000", "--limits-images-max", "2", "--config",
                            "t.toml", "--print-config", "--port", "9001"});

  EXPECT_TRUE(serve.print_config);
  EXPECT_EQ(serve.settings.config_path, "t.toml");
  EXPECT_EQ(serve.settings.values,
            (std::map<std::string, std::string>{{"port", "9001"}, {"limits.images_max", "2"}}));
}

TEST(CommandLine, ASwitchNeedsNoValue) {
  const auto parsed = parse_command_line(std::vector<std::string>{"serve", "--unsafe-decoders"});

  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(std::get<ServeOptions>(*parsed).settings.values.at("unsafe_decoders"), "true");
}

TEST(CommandLine, ASwitchMayBeTurnedOff) {
  const auto off = parsed<ServeOptions>({"serve", "--uploads=false", "--allow-remote-media"});

  EXPECT_EQ(off.settings.values, (std::map<std::string, std::string>{
                                     {"uploads", "false"}, {"allow_remote_media", "true"}}));
}

TEST(CommandLine, SettingsNotGivenAreNotThere) {
  const auto serve = parsed<ServeOptions>({"serve"});

  EXPECT_FALSE(serve.print_config);
  EXPECT_EQ(serve.settings.config_path, std::nullopt);
  EXPECT_THAT(serve.settings.values, IsEmpty());
}

TEST(CommandLine, AnEmptySettingIsGiven) {
  const auto ask = parsed<AskOptions>({"ask", "q", "--mmproj", ""});

  EXPECT_EQ(ask.settings.values, (std::map<std::string, std::string>{{"mmproj", ""}}));
}

TEST(CommandLine, OnlyServeTakesServerSettings) {
  EXPECT_THAT(message_of({"ask", "q", "--port", "1"}), HasSubstr("unknown option --port"));
}

TEST(CommandLine, PlanTakesImages) {
  const auto plan = parsed<PlanOptions>({"plan", "a.jpg", "b.png", "--json", "--model", "m.gguf"});

  EXPECT_THAT(plan.image_paths, ElementsAre("a.jpg", "b.png"));
  EXPECT_TRUE(plan.json);
  EXPECT_EQ(plan.settings.values.at("model"), "m.gguf");
  EXPECT_EQ(message_of({"plan"}), "an image is missing; see tessera plan --help");
}

TEST(CommandLine, VersionIsACommandAndAFlag) {
  EXPECT_FALSE(parsed<VersionOptions>({"version"}).json);
  EXPECT_TRUE(parsed<VersionOptions>({"version", "--json"}).json);
  EXPECT_FALSE(parsed<VersionOptions>({"--version"}).json);
}

TEST(CommandLine, UnknownWordsGetASuggestion) {
  EXPECT_EQ(message_of({"aks", "q"}), "unknown command aks; did you mean ask?; see tessera --help");
  EXPECT_EQ(message_of({"serve", "--prot", "1"}),
            "unknown option --prot; did you mean --port?; see tessera serve --help");
  EXPECT_EQ(message_of({"serve", "now"}), "unexpected argument now; see tessera serve --help");
  EXPECT_EQ(message_of({}), "a command is missing; see tessera --help");
}

TEST(CommandLine, AnOptionWithoutItsValueIsAnError) {
  EXPECT_THAT(message_of({"serve", "--port"}), HasSubstr("--port"));
}

TEST(CommandLine, ErrorsAreUsageErrors) {
  const auto command = parse_command_line(std::vector<std::string>{"aks"});

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(command.error().reason, "bad_command_line");
}

TEST(CommandLine, HelpComesBeforeWhatIsMissing) {
  EXPECT_THAT(parsed<HelpOptions>({"ask", "--help"}).text, HasSubstr("usage: tessera ask"));
  EXPECT_THAT(parsed<HelpOptions>({"--help"}).text, HasSubstr("usage: tessera COMMAND"));
  EXPECT_THAT(parsed<HelpOptions>({"serve", "-h"}).text, HasSubstr("usage: tessera serve"));
}

TEST(CommandLine, ExitCodesFollowFromTheErrorCode) {
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kUnsupportedMedia, "", "")), ExitCode::kRefused);
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kTooLarge, "", "")), ExitCode::kRefused);
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kInternal, "", "")), ExitCode::kFailed);
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kDeadlineExceeded, "", "")), ExitCode::kFailed);
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kCancelled, "", "")), ExitCode::kInterrupted);
}

TEST(CommandLine, WrongUsageAndConfigurationHaveTheirOwnExitCode) {
  const auto command = parse_command_line(std::vector<std::string>{"aks"});

  ASSERT_FALSE(command);
  EXPECT_EQ(exit_code_of(command.error()), ExitCode::kUsage);
  EXPECT_EQ(exit_code_of(make_error(ErrorCode::kInvalidArgument, "bad_setting", "")),
            ExitCode::kUsage);
}

TEST(CommandLine, WhatCannotBeStartedIsConfiguredWrongly) {
  const Error missing = make_error(ErrorCode::kNotFound, "model_file_not_found", "");
  const Error failed = make_error(ErrorCode::kInternal, "internal_error", "");

  EXPECT_EQ(startup_exit_code_of(missing), ExitCode::kUsage);
  EXPECT_EQ(startup_exit_code_of(failed), ExitCode::kFailed);
}

TEST(CommandLine, ExitCodesAreDistinctAndExplained) {
  std::set<ExitCode> codes;
  for (const ExitCodeMeaning& row : kExitCodes) {
    EXPECT_TRUE(codes.insert(row.code).second);
    EXPECT_FALSE(row.meaning.empty());
  }
}

TEST(CommandLine, ReadsWhatToSimulate) {
  const auto plain = parsed<SimulateOptions>({"simulate"});
  EXPECT_EQ(plain.n_requests, 10'000);
  EXPECT_FALSE(plain.by_count);
  const auto all =
      parsed<SimulateOptions>({"simulate", "--requests", "50", "--load", "0.25", "--seed", "9",
                               "--policy", "count", "--itl-slo-ms", "80", "--json"});
  EXPECT_EQ(all.n_requests, 50);
  EXPECT_EQ(all.requests_per_second, 0.25);
  EXPECT_EQ(all.seed, 9U);
  EXPECT_TRUE(all.by_count && all.json);
  EXPECT_EQ(all.inter_token, std::chrono::milliseconds(80));

  EXPECT_THAT(message_of({"simulate", "--load", "0"}), HasSubstr("--load: \"0\" is not a number"));
  EXPECT_THAT(message_of({"simulate", "--load", "nan"}), HasSubstr("--load"));
  EXPECT_THAT(message_of({"simulate", "--policy", "x"}), HasSubstr("none of tokens, count"));
  EXPECT_THAT(message_of({"simulate", "--requests", "10000001"}), HasSubstr("at most 10000000"));
  EXPECT_THAT(message_of({"simulate", "--seed", "-1"}), HasSubstr("--seed"));
}

TEST(CommandLine, CacheAsksAServerOrAFolder) {
  const auto stats = parsed<CacheOptions>({"cache", "stats"});
  EXPECT_EQ(stats.verb, CacheVerb::kStats);
  EXPECT_FALSE(stats.json);
  EXPECT_EQ(stats.url, std::nullopt);

  const auto list =
      parsed<CacheOptions>({"cache", "list", "--json", "--url", "http://x:1", "--tenant", "alice"});
  EXPECT_EQ(list.verb, CacheVerb::kList);
  EXPECT_TRUE(list.json);
  EXPECT_EQ(list.url, "http://x:1");
  EXPECT_EQ(list.tenant, "alice");

  const auto purge = parsed<CacheOptions>({"cache", "purge", "--all", "--cache-dir", "f"});
  EXPECT_EQ(purge.verb, CacheVerb::kPurge);
  EXPECT_EQ(purge.tenant, std::nullopt);
  EXPECT_EQ(purge.settings.values.at("cache_dir"), "f");
}

TEST(CommandLine, APurgeOfEverybodyHasToBeSaid) {
  EXPECT_THAT(message_of({"cache", "purge"}), HasSubstr("either --tenant NAME or --all"));
  EXPECT_THAT(message_of({"cache", "purge", "--tenant", "a", "--all"}), HasSubstr("either"));
  EXPECT_THAT(message_of({"cache", "purge", "--tenant", ""}), HasSubstr("--tenant: is empty"));
  EXPECT_THAT(message_of({"cache", "stats", "--all"}), HasSubstr("--all: belongs to purge"));
  EXPECT_THAT(message_of({"cache"}), HasSubstr("stats, list or purge is missing"));
  EXPECT_THAT(message_of({"cache", "clear"}), HasSubstr("none of stats, list, purge"));
  EXPECT_THAT(message_of({"cache", "list", "x"}), HasSubstr("unexpected argument x"));
  EXPECT_THAT(message_of({"cache", "list", "--url", "http://x", "--cache-dir", "f"}),
              HasSubstr("a server or a folder, not both"));
}

}  // namespace
}  // namespace tessera::cli
