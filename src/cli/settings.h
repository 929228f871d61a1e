// Everything an operator can set, and how flags, environment and a TOML file become one value.
//
// The loading is pure: whoever calls it has read the file and the environment. Values; any thread.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "core/log.h"
#include "core/remote_limits.h"
#include "core/result.h"
#include "core/upload_limits.h"

namespace tessera::cli {

/// "error", "warning", "info", "debug"; in the order of LogLevel.
inline constexpr std::array<std::string_view, 4> kLogLevelNames{"error", "warning", "info",
                                                                "debug"};

/// In the order of LogFormat.
inline constexpr std::array<std::string_view, 2> kLogFormatNames{"text", "json"};

/// What an operator has to say to have content logged: a path alone is set too easily.
inline constexpr std::string_view kContentLogConsent = "i-log-what-users-send";

struct Settings {
  // Model.
  std::string model_path;
  std::string mmproj_path;  // empty = text only
  std::string model_name;   // empty = what the model file says
  int context_length = 0;   // tokens per sequence; 0 = what the model was trained for
  int n_threads = 0;        // encode and language model together; 0 = every core we may use

  // Engine.
  int n_sequences = 16;
  int n_kv_cells = 0;  // shared by the sequences; 0 = two full contexts
  int n_kept_prefixes = 16;
  int step_rows = 64;    // of one model call: generate/engine_options.h says why
  int itl_slo_ms = 0;    // between two tokens of an answer; 0 = schedule/step_budget.h says
  int step_patches = 0;  // of one encoder step with several tiles; 0 = each tile alone

  // Cache.
  std::size_t feature_cache_bytes = 512 * kMiB;
  bool feature_cache_f32 = false;  // keep features as they are, not as halves
  std::string cache_dir;           // folder of the disk tier; empty = none
  std::size_t cache_dir_bytes = 8192 * kMiB;
  std::string cache_secret_file;  // empty = inside cache_dir
  std::string cache_rules;        // as admission::parse_cache_rules() takes them

  // Media.
  int n_media_threads = 2;
  std::string media_worker_path;  // empty = beside the program
  bool unsafe_decoders = false;   // decode even where decoders cannot be confined
  bool allow_video = true;
  bool allow_heic = false;

  // Server.
  std::string host = "127.0.0.1";
  int port = 8080;  // 0 = any free one
  int n_http_threads = 2;
  std::string api_key_file;    // empty = no key is asked for
  std::string admin_key_file;  // empty = nobody may call /admin
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::string content_log;          // file of what users send and are answered; empty = none
  std::string content_log_consent;  // kContentLogConsent, or content_log is refused

  // Media that a request names instead of sending it.
  bool allow_remote_media = false;
  std::string remote_media_domains;  // separated by commas; empty = the public internet
  bool remote_media_http = false;
  std::string media_root;  // folder for file: URLs; empty = none are read
  bool uploads = true;

  Limits limits;
  RemoteLimits remote_limits;
  UploadLimits upload_limits;
};

/// The model that answers when none is named.
struct BundledModel {
  std::string model_path;
  std::string mmproj_path;
};

struct ConfigFile {
  std::string name;  // as people know it; printed with line numbers
  std::string text;
};

struct SettingInputs {
  std::map<std::string, std::string> flags;        // by setting key: {"port", "80"}
  std::map<std::string, std::string> environment;  // by variable; others are ignored
  std::optional<ConfigFile> file;
  BundledModel bundled;
};

/// Where a value came from.
struct SettingSource {
  enum class Kind { kDefault, kFile, kEnvironment, kFlag };
  Kind kind = Kind::kDefault;
  std::string place;  // "", "tessera.toml:12", "TESSERA_PORT", "--port"
};

struct LoadedSettings {
  Settings values;
  std::vector<SettingSource> sources;  // in the order of setting_table()
};

/// Flag over environment over file over default. An empty environment variable counts as unset.
/// @errors  invalid_argument (`bad_setting`: unknown key, wrong type, out of range, or two settings
///          that contradict each other); the message names the place
Result<LoadedSettings> load_settings(const SettingInputs& inputs);

/// The settings as a TOML file that gives the same settings, each with its source in a comment.
std::string print_config(const LoadedSettings& settings);

/// The variables of an environment block that can be settings: those that start with TESSERA_.
std::map<std::string, std::string> tessera_environment(const char* const* variables);

/// Reads the file named by `--config`, else by TESSERA_CONFIG; nothing when neither is given.
/// @errors  invalid_argument (`bad_config_file`)
Result<std::optional<ConfigFile>> read_config_file(
    const std::optional<std::string>& flag, const std::map<std::string, std::string>& environment);

/// A configuration has about 40 lines; what is longer than this is some other file.
inline constexpr std::size_t kConfigFileBytesMax = kMiB;

}  // namespace tessera::cli
