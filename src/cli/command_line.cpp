#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/command_help.h"
#include "cli/setting_table.h"

namespace tessera::cli {
namespace {

// CLI11 splits an argument that looks like "[a,b]" or "{}" into several, and forgets whose
// positionals follow a "--". A mark in front of an argument makes it plain text; unmarked() takes
// it off again.
constexpr char kMark = '\x01';

/// In the reverse order that CLI11 asks for.
std::vector<std::string> marked(std::span<const std::string> arguments) {
  std::vector<std::string> out;
  bool only_positionals = false;
  for (const std::string& argument : arguments) {
    if (argument == "--" && !only_positionals) {
      only_positionals = true;
      continue;
    }
    const bool splits = argument.starts_with('[') || argument.starts_with('{');
    out.push_back(only_positionals || splits ? kMark + argument : argument);
  }
  std::ranges::reverse(out);
  return out;
}

std::string unmarked(const std::string& argument) {
  return !argument.empty() && argument[0] == kMark ? argument.substr(1) : argument;
}

/// What CLI11 writes to, as text; the meaning comes after.
struct RawCommand {
  CLI::App* app = nullptr;
  std::vector<std::string> positionals;
  std::map<std::string, std::string> texts;  // by option: {"--seed", "7"}
  std::map<std::string, std::string> settings;
  bool json = false;
  bool quiet = false;
  bool print_config = false;
  bool all = false;
};

void add_text(RawCommand& command, const std::string& name, const std::string& type,
              const std::string& description) {
  command.app->add_option(name, command.texts[name], description)
      ->type_name(type)
      ->take_last()
      ->group("options");
}

std::string type_name_of(const SettingDefinition& setting) {
  Settings unused;
  const SettingField field = setting.field(unused);
  if (std::holds_alternative<std::size_t*>(field)) return "SIZE";
  if (std::holds_alternative<std::chrono::milliseconds*>(field)) return "TIME";
  if (std::holds_alternative<LogLevel*>(field)) return "LEVEL";
  if (std::holds_alternative<LogFormat*>(field)) return "FORMAT";
  if (!std::holds_alternative<std::string*>(field)) return "N";
  for (const std::string_view path : {"GGUF file", "file with", "program that", "folder below"}) {
    if (setting.help.starts_with(path)) return "FILE";
  }
  return "TEXT";
}

bool is_switch(const SettingDefinition& setting) {
  Settings unused;
  return std::holds_alternative<bool*>(setting.field(unused));
}

void add_settings(RawCommand& command, SettingGroup last_group) {
  for (const SettingDefinition& setting : setting_table()) {
    if (setting.group > last_group) continue;
    std::string title(group_title(setting.group));
    title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
    if (is_switch(setting)) {
      command.app
          ->add_flag(flag_name(setting), command.settings[std::string(setting.key)],
                     std::string(setting.help))
          ->take_last()
          ->group(title);
      continue;
    }
    command.app
        ->add_option(
            flag_name(setting), command.settings[std::string(setting.key)],
            std::string(setting.help) + " [" + default_text(setting, DefaultUnit::kNo) + "]")
        ->type_name(type_name_of(setting))
        ->take_last()
        ->group(title);
  }
}

void add_command(CLI::App& program, RawCommand& command, const std::string& name) {
  command.app = program.add_subcommand(name);
  command.app->allow_extras();  // reported by us, with a suggestion
  command.app->set_help_flag("-h,--help", "print this and exit")->group("options");
}

void add_image_options(RawCommand& command) {
  add_text(command, "--detail", "WORD",
           "low, auto or high: how closely images are looked at [auto]");
  add_text(command, "--visual-tokens", "N", "visual tokens of all images together, at most");
  add_text(command, "--frames", "N",
           "frames to look at of each video [8], animated GIF or WebP [1]");
}

/// A setting, as `tessera cache` means it.
void add_setting(RawCommand& command, const std::string& key, const std::string& type,
                 const std::string& description) {
  const auto setting = std::ranges::find(setting_table(), key, &SettingDefinition::key);
  command.app->add_option(flag_name(*setting), command.settings[key], description)
      ->type_name(type)
      ->take_last()
      ->group("options");
}

void add_cache_options(RawCommand& command) {
  command.app->add_option("arguments", command.positionals)->group("options");
  add_text(command, "--tenant", "NAME",
           "of the key file, or as list shows it; needed by purge, unless --all");
  command.app->add_flag("--all", command.all, "purge: what everybody has")->group("options");
  add_text(command, "--url", "URL", "of the server [where the settings host and port say]");
  add_setting(command, "admin_key_file", "FILE",
              "file with the key for the server [TESSERA_ADMIN_KEY_FILE; or the key itself is in "
              "TESSERA_ADMIN_KEY]");
  add_setting(command, "cache_dir", "FOLDER", "that a server has left: this, and no server");
  add_setting(command, "cache_secret_file", "FILE",
              "the folder's secret [TESSERA_CACHE_SECRET_FILE, or in the folder]");
  add_setting(command, "api_key_file", "FILE",
              "the server's, for the names of tenants in the folder [TESSERA_API_KEY_FILE]");
}

void add_json(RawCommand& command, const std::string& what) {
  command.app->add_flag("--json", command.json, what)->group("options");
}

struct RawProgram {
  CLI::App app;
  RawCommand ask;
  RawCommand serve;
  RawCommand plan;
  RawCommand cache;
  RawCommand simulate;
  RawCommand version;
  bool wants_version = false;

  RawProgram() {
    app.require_subcommand(0, 1);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this and exit")->group("options");
    app.add_flag("--version", wants_version, "same as the command version")->group("options");

    add_command(app, ask, "ask");
    ask.app->add_option("arguments", ask.positionals)->group("options");
    add_text(ask, "--system", "TEXT", "instructions that come before the question");
    add_text(ask, "--max-tokens", "N", "longest answer [limits.output_tokens_default]");
    add_text(ask, "--temperature", "T", "0 = always the likeliest token, up to 2 [0]");
    add_text(ask, "--seed", "N", "makes sampling repeatable");
    add_image_options(ask);
    add_json(ask, "print one JSON object: answer, usage, stages");
    ask.app->add_flag("-q,--quiet", ask.quiet, "print the answer only")->group("options");
    add_text(ask, "--config", "FILE", "TOML file with settings [TESSERA_CONFIG]");
    add_settings(ask, SettingGroup::kMedia);

    add_command(app, serve, "serve");
    serve.app->add_flag("--print-config", serve.print_config, "print all settings and exit")
        ->group("options");
    add_text(serve, "--config", "FILE", "TOML file with settings [TESSERA_CONFIG]");
    add_settings(serve, SettingGroup::kLimits);

    add_command(app, plan, "plan");
    plan.app->add_option("arguments", plan.positionals)->group("options");
    add_image_options(plan);
    add_json(plan, "print one JSON object");
    add_text(plan, "--config", "FILE", "TOML file with settings [TESSERA_CONFIG]");
    add_settings(plan, SettingGroup::kMedia);

    add_command(app, cache, "cache");
    add_cache_options(cache);
    add_json(cache, "print one JSON object");
    add_text(cache, "--config", "FILE", "TOML file with settings [TESSERA_CONFIG]");

    add_command(app, simulate, "simulate");
    add_text(simulate, "--requests", "N", "how many come [10000]");
    add_text(simulate, "--load", "RATE", "requests a second, on average [0.1]");
    add_text(simulate, "--seed", "N", "another load of the same kind [1]");
    add_text(simulate, "--policy", "WORD",
             "tokens: as this server schedules; count: eight requests at a time, to compare with "
             "[tokens]");
    add_text(simulate, "--itl-slo-ms", "N", "as serve takes it [0]");
    add_json(simulate, "print one JSON object");

    add_command(app, version, "version");
    add_json(version, "print one JSON object");
  }
};

Error bad_usage(std::string message, std::string_view command) {
  message += "; see tessera ";
  if (!command.empty()) message += std::string(command) + " ";
  return make_error(ErrorCode::kInvalidArgument, "bad_command_line", message + "--help");
}

/// The text of an option that was given.
std::optional<std::string> text_of(const RawCommand& command, const std::string& name) {
  if (command.app->get_option(name)->count() == 0) return std::nullopt;
  return unmarked(command.texts.at(name));
}

SettingFlags setting_flags(const RawCommand& command) {
  SettingFlags flags;
  flags.config_path = text_of(command, "--config");
  for (const SettingDefinition& setting : setting_table()) {
    const CLI::Option* option = command.app->get_option_no_throw(flag_name(setting));
    if (option == nullptr || option->count() == 0) continue;
    const std::string key(setting.key);
    flags.values.emplace(key, unmarked(command.settings.at(key)));
  }
  return flags;
}

Result<std::optional<int>> whole_number(const RawCommand& command, const std::string& name) {
  const auto text = text_of(command, name);
  if (!text) return std::optional<int>();
  int number = 0;
  if (auto parsed = parse_value(*text, &number, {1, std::numeric_limits<int>::max()}); !parsed) {
    return bad_usage(name + ": " + parsed.error().message, command.app->get_name());
  }
  return std::optional<int>(number);
}

Result<std::optional<std::uint64_t>> seed_of(const RawCommand& command) {
  const auto text = text_of(command, "--seed");
  if (!text) return std::optional<std::uint64_t>();
  std::uint64_t seed = 0;
  const char* const end = text->data() + text->size();
  if (const auto parsed = std::from_chars(text->data(), end, seed);
      parsed.ec != std::errc{} || parsed.ptr != end) {
    return bad_usage("--seed: \"" + *text + "\" is not a whole number", command.app->get_name());
  }
  return std::optional<std::uint64_t>(seed);
}

/// A number in a range that both ends belong to.
/// @param range  for people: "between 0 and 2"
Result<double> number_of(const RawCommand& command, const std::string& name, double otherwise,
                         std::pair<double, double> bounds, const std::string& range) {
  const auto text = text_of(command, name);
  if (!text) return otherwise;
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  const bool in_range = number >= bounds.first && number <= bounds.second;  // false for NaN
  if (parsed.ec != std::errc{} || parsed.ptr != end || !in_range) {
    return bad_usage(name + ": \"" + *text + "\" is not a number " + range,
                     command.app->get_name());
  }
  return number;
}

std::vector<std::string> positionals_of(const RawCommand& command) {
  std::vector<std::string> all;
  for (const std::string& argument : command.positionals) all.push_back(unmarked(argument));
  return all;
}

Result<ImageOptions> image_options(const RawCommand& command) {
  ImageOptions options;
  TSR_ASSIGN_OR_RETURN(options.n_frames, whole_number(command, "--frames"));
  TSR_ASSIGN_OR_RETURN(options.visual_tokens_max, whole_number(command, "--visual-tokens"));
  const std::string detail = text_of(command, "--detail").value_or("auto");
  if (detail == "low") {
    options.detail = ImageDetail::kLow;
  } else if (detail == "high") {
    options.detail = ImageDetail::kHigh;
  } else if (detail != "auto") {
    return bad_usage("--detail: \"" + detail + "\" is none of low, auto, high",
                     command.app->get_name());
  }
  return options;
}

Result<CommandLine> ask_options(const RawCommand& command) {
  AskOptions options;
  options.image_paths = positionals_of(command);
  if (options.image_paths.empty() || options.image_paths.back().empty()) {
    return bad_usage("a question is missing", "ask");
  }
  options.question = std::move(options.image_paths.back());
  options.image_paths.pop_back();
  std::error_code ignored;
  if (options.image_paths.empty() && std::filesystem::is_regular_file(options.question, ignored)) {
    return bad_usage("a question is missing: \"" + options.question + "\" is a file", "ask");
  }
  options.system = text_of(command, "--system").value_or("");
  TSR_ASSIGN_OR_RETURN(options.max_tokens, whole_number(command, "--max-tokens"));
  TSR_ASSIGN_OR_RETURN(options.images, image_options(command));
  TSR_ASSIGN_OR_RETURN(const double temperature,
                       number_of(command, "--temperature", 0, {0, 2}, "between 0 and 2"));
  options.temperature = static_cast<float>(temperature);
  TSR_ASSIGN_OR_RETURN(options.seed, seed_of(command));
  options.json = command.json;
  options.quiet = command.quiet;
  options.settings = setting_flags(command);
  return CommandLine(std::move(options));
}

Result<CommandLine> plan_options(const RawCommand& command) {
  TSR_ASSIGN_OR_RETURN(const ImageOptions images, image_options(command));
  PlanOptions options{positionals_of(command), images, command.json, setting_flags(command)};
  if (options.image_paths.empty()) return bad_usage("an image is missing", "plan");
  return CommandLine(std::move(options));
}

Result<CacheVerb> cache_verb(const std::vector<std::string>& words) {
  if (words.empty()) return bad_usage("stats, list or purge is missing", "cache");
  if (words.size() > 1) return bad_usage("unexpected argument " + words[1], "cache");
  if (words[0] == "stats") return CacheVerb::kStats;
  if (words[0] == "list") return CacheVerb::kList;
  if (words[0] == "purge") return CacheVerb::kPurge;
  return bad_usage("\"" + words[0] + "\" is none of stats, list, purge", "cache");
}

Result<CommandLine> cache_options(const RawCommand& command) {
  CacheOptions options;
  TSR_ASSIGN_OR_RETURN(options.verb, cache_verb(positionals_of(command)));
  options.tenant = text_of(command, "--tenant");
  options.url = text_of(command, "--url");
  options.json = command.json;
  options.settings = setting_flags(command);
  const bool is_purge = options.verb == CacheVerb::kPurge;
  if (options.tenant && options.tenant->empty()) return bad_usage("--tenant: is empty", "cache");
  if (command.all && !is_purge) return bad_usage("--all: belongs to purge", "cache");
  // It cannot be taken back, so that nobody shall do it by leaving something out.
  if (is_purge && command.all == options.tenant.has_value()) {
    return bad_usage("purge needs either --tenant NAME or --all", "cache");
  }
  if (options.url && options.settings.values.contains("cache_dir")) {
    return bad_usage("--url and --cache-dir: a server or a folder, not both", "cache");
  }
  return CommandLine(std::move(options));
}

Result<CommandLine> simulate_options(const RawCommand& command) {
  SimulateOptions options;
  constexpr int kRequestsMax = 10'000'000;  // some minutes, and a gigabyte
  TSR_ASSIGN_OR_RETURN(const auto n_requests, whole_number(command, "--requests"));
  options.n_requests = n_requests.value_or(options.n_requests);
  if (options.n_requests > kRequestsMax) {
    return bad_usage("--requests: at most " + std::to_string(kRequestsMax), "simulate");
  }
  TSR_ASSIGN_OR_RETURN(options.requests_per_second,
                       number_of(command, "--load", options.requests_per_second, {1e-6, 1e6},
                                 "between 0.000001 and 1000000"));
  TSR_ASSIGN_OR_RETURN(const auto seed, seed_of(command));
  options.seed = seed.value_or(options.seed);
  const std::string policy = text_of(command, "--policy").value_or("tokens");
  if (policy != "tokens" && policy != "count") {
    return bad_usage("--policy: \"" + policy + "\" is none of tokens, count", "simulate");
  }
  options.by_count = policy == "count";
  TSR_ASSIGN_OR_RETURN(const double inter_token,
                       number_of(command, "--itl-slo-ms", 0, {0, 60'000}, "between 0 and 60000"));
  options.inter_token = std::chrono::milliseconds(static_cast<int>(inter_token));
  options.json = command.json;
  return CommandLine(options);
}

/// Unknown options and words, which CLI11 was told to leave to us.
Result<void> refuse_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return {};
  const bool is_program = app.get_parent() == nullptr;
  const std::string word = unmarked(extras.front());
  std::vector<std::string> names;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) names.push_back(option->get_name());
    }
  } else if (is_program) {
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  }
  std::string message = word.starts_with('-') ? "unknown option "
                        : is_program          ? "unknown command "
                                              : "unexpected argument ";
  message += word;
  if (const auto closest = closest_name(word, names)) message += "; did you mean " + *closest + "?";
  return bad_usage(message, is_program ? "" : app.get_name());
}

Result<CommandLine> to_options(const RawProgram& program) {
  const auto parsed = program.app.get_subcommands();
  if (!parsed.empty()) TSR_RETURN_IF_ERROR(refuse_extras(*parsed.front()));
  TSR_RETURN_IF_ERROR(refuse_extras(program.app));
  if (program.wants_version) return CommandLine(VersionOptions{});
  if (parsed.empty()) return bad_usage("a command is missing", "");
  const CLI::App* app = parsed.front();
  if (app == program.ask.app) return ask_options(program.ask);
  if (app == program.plan.app) return plan_options(program.plan);
  if (app == program.cache.app) return cache_options(program.cache);
  if (app == program.simulate.app) return simulate_options(program.simulate);
  if (app == program.version.app) return CommandLine(VersionOptions{program.version.json});
  return CommandLine(ServeOptions{program.serve.print_config, setting_flags(program.serve)});
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  // Ours, from this file and settings.cpp: they never come from a request.
  for (const std::string_view reason : {"bad_command_line", "bad_setting", "bad_config_file"}) {
    if (error.reason == reason) return ExitCode::kUsage;
  }
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupportedMedia:
    case ErrorCode::kUnprocessableMedia:
    case ErrorCode::kTooLarge:
      return ExitCode::kRefused;
    case ErrorCode::kCancelled:
      return ExitCode::kInterrupted;
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
      return ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

ExitCode startup_exit_code_of(const Error& error) {
  const ExitCode code = exit_code_of(error);
  return code == ExitCode::kRefused ? ExitCode::kUsage : code;
}

Result<CommandLine> parse_command_line(std::span<const std::string> arguments) {
  RawProgram program;
  const auto command = [&program]() -> const CLI::App& {
    const auto parsed = program.app.get_subcommands();
    return parsed.empty() ? program.app : *parsed.front();
  };
  try {
    program.app.parse(marked(arguments));
  } catch (const CLI::CallForHelp&) {
    return CommandLine(HelpOptions{help_text(command())});
  } catch (const CLI::Error& error) {
    const bool is_program = command().get_parent() == nullptr;
    return bad_usage(error.what(), is_program ? "" : command().get_name());
  }
  return to_options(program);
}

}  // namespace tessera::cli
