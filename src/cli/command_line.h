// The command line of the program `tessera`: parsed into plain values, without any side effect.
//
// Pure; any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/request.h"
#include "core/result.h"

namespace tessera::cli {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kRefused = 3,
  kInterrupted = 130,  // 128 + SIGINT, as shells report it
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};

/// Printed in every --help.
inline constexpr std::array<ExitCodeMeaning, 5> kExitCodes{{
    {ExitCode::kOk, "success"},
    {ExitCode::kFailed, "failed while working (model, media worker, time limit)"},
    {ExitCode::kUsage, "wrong usage or configuration"},
    {ExitCode::kRefused, "input refused (not an image, too large, too long)"},
    {ExitCode::kInterrupted, "interrupted"},
}};

/// What an error means for the exit code.
ExitCode exit_code_of(const Error& error);

/// The same for an error before the first request: what cannot be started is configured wrongly.
ExitCode startup_exit_code_of(const Error& error);

/// Settings given as flags; load_settings() takes both.
struct SettingFlags {
  std::optional<std::string> config_path;
  std::map<std::string, std::string> values;  // by setting key
};

/// How the images of a command are looked at.
struct ImageOptions {
  std::optional<int> n_frames;  // to take of a picture that moves
  ImageDetail detail = ImageDetail::kAuto;
  std::optional<int> visual_tokens_max;  // of all images together
};

struct AskOptions {
  std::vector<std::string> image_paths;
  std::string question;
  std::string system;  // empty = no system message
  std::optional<int> max_tokens;
  float temperature = 0.F;
  std::optional<std::uint64_t> seed;
  ImageOptions images;
  bool json = false;
  bool quiet = false;
  SettingFlags settings;
};

struct PlanOptions {
  std::vector<std::string> image_paths;
  ImageOptions images;
  bool json = false;
  SettingFlags settings;
};

struct ServeOptions {
  bool print_config = false;
  SettingFlags settings;
};

/// What `tessera cache` does.
enum class CacheVerb { kStats, kList, kPurge };

struct CacheOptions {
  CacheVerb verb = CacheVerb::kStats;
  std::optional<std::string> tenant;  // nothing with kPurge = everybody
  std::optional<std::string> url;     // of a server; nothing = where the settings say
  bool json = false;
  SettingFlags settings;  // with cache_dir among the flags: that folder, and no server
};

struct SimulateOptions {
  int n_requests = 10'000;
  double requests_per_second = 0.1;
  std::uint64_t seed = 1;
  bool by_count = false;                     // else by tokens
  std::chrono::milliseconds inter_token{0};  // 0 = the scheduler's own
  bool json = false;
};

struct VersionOptions {
  bool json = false;
};

/// Somebody asked for help: print it and leave with success.
struct HelpOptions {
  std::string text;
};

using CommandLine = std::variant<AskOptions, PlanOptions, ServeOptions, CacheOptions,
                                 SimulateOptions, VersionOptions, HelpOptions>;

/// @param arguments  without the program's name
/// @errors  invalid_argument (`bad_command_line`); the message ends with where to find help
Result<CommandLine> parse_command_line(std::span<const std::string> arguments);

}  // namespace tessera::cli
