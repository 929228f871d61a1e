#include "cli/setting_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

using enum SettingGroup;

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kDayMs = 86'400'000;

// libllama's own ceiling for sequences of one context.
constexpr std::int64_t kSequencesMax = 256;

// A token per cell; the bound keeps products with row sizes inside 64 bits.
constexpr std::int64_t kTokensMax = std::int64_t{1} << 24;
constexpr std::int64_t kMillisecondsMax = 60'000;  // slower than a token a minute is no wish

// More threads than this is a typing error.
constexpr std::int64_t kThreadsMax = 1024;

// Above that no context length has room for their tokens; the decoder protocol has the same bound.
constexpr std::int64_t kFramesMax = 64;

// As many outputs at once as the fetcher may have fit into its address space.
constexpr std::int64_t kRemoteBytesMax = 64 * std::int64_t{kMiB};

// clang-format off: one setting a block, in the order of the documents.
constexpr std::array kTable = std::to_array<SettingDefinition>({
    {"model", kModel, [](Settings& s) -> SettingField { return &s.model_path; }, {}, "",
     "the bundled model", "GGUF file of the language model", ""},
    {"mmproj", kModel, [](Settings& s) -> SettingField { return &s.mmproj_path; }, {}, "",
     "the bundled one; none with another model",
     "GGUF file of the vision tower and projector; empty = text only", ""},
    {"model_name", kModel, [](Settings& s) -> SettingField { return &s.model_name; }, {}, "",
     "what the model file says", "name of the model in answers and in /v1/models", ""},
    {"context_length", kModel, [](Settings& s) -> SettingField { return &s.context_length; },
     {0, kTokensMax}, "tokens", "what the model was trained for", "longest sequence; 0 = default",
     ""},
    {"threads", kModel, [](Settings& s) -> SettingField { return &s.n_threads; }, {0, kThreadsMax},
     "threads", "every core the process may use",
     "compute threads, encoder and language model together; 0 = default", ""},

    {"media_threads", kMedia, [](Settings& s) -> SettingField { return &s.n_media_threads; },
     {1, 64}, "threads", "", "images decoded at once, each in its own process",
     "decoding is short beside encoding"},
    {"media_worker", kMedia, [](Settings& s) -> SettingField { return &s.media_worker_path; }, {},
     "", "tessera-media-worker beside the program", "program that decodes images", ""},
    {"allow_video", kMedia, [](Settings& s) -> SettingField { return &s.allow_video; }, {}, "",
     "", "look at frames of videos: MP4, QuickTime, Matroska and WebM, unless false",
     "their decoders are a process of their own, as those of images"},
    {"allow_heic", kMedia, [](Settings& s) -> SettingField { return &s.allow_heic; }, {}, "", "",
     "decode HEIC images", "libheif and libde265 of Debian 12 have faults that are not mended"},
    {"unsafe_decoders", kMedia, [](Settings& s) -> SettingField { return &s.unsafe_decoders; }, {},
     "", "", "decode images even where the kernel cannot confine decoders; for debugging only",
     "a decoder that a file takes over could do all that the server can"},

    {"sequences", kEngine, [](Settings& s) -> SettingField { return &s.n_sequences; },
     {1, kSequencesMax}, "sequences", "", "answers generated at once",
     "more share the same memory bandwidth for little gain on a CPU"},
    {"kv_cells", kEngine, [](Settings& s) -> SettingField { return &s.n_kv_cells; },
     {0, kTokensMax}, "tokens", "two full contexts",
     "KV cells shared by all sequences, rounded up to whole 256; 0 = default", ""},
    {"kept_prefixes", kEngine, [](Settings& s) -> SettingField { return &s.n_kept_prefixes; },
     {0, kSequencesMax}, "prompts", "",
     "prompts whose KV cells are kept after their answer, for requests of the same tenant that "
     "begin like them, e.g. about the same image; in half of the cells at most",
     "each is a look at every cell when it comes and goes"},
    {"step_rows", kEngine, [](Settings& s) -> SettingField { return &s.step_rows; },
     {1, 65'536}, "rows", "",
     "text and visual rows of one model call; raised to four more than there are sequences",
     "bounds how long a slice of a prompt or an image holds up other answers"},
    {"itl_slo_ms", kEngine, [](Settings& s) -> SettingField { return &s.itl_slo_ms; },
     {0, kMillisecondsMax}, "milliseconds", "2 times a step that only decodes, at least 50",
     "aim between two tokens of an answer while prompts are prefilled beside it: steps "
     "take fewer rows where more would take longer, but four at least; 0 = default",
     "with half of the time for each, a prompt takes twice as long as alone, and answers go on"},
    {"step_patches", kEngine, [](Settings& s) -> SettingField { return &s.step_patches; },
     {0, kTokensMax}, "patches", "each tile alone",
     "patches of one encoder step: as many tiles of one shape share it, where the projector can; "
     "0 = default",
     "batches pay on GPUs; on CPUs they were never faster"},

    {"feature_cache_bytes", kCache,
     [](Settings& s) -> SettingField { return &s.feature_cache_bytes; },
     {0, std::int64_t{1} << 40}, "", "",
     "memory for features of images that were asked about; 0 = keep none",
     "200 tiles of a 2B model, 4000 images of the bundled one"},
    {"feature_cache_f32", kCache,
     [](Settings& s) -> SettingField { return &s.feature_cache_f32; }, {}, "", "",
     "keep features in 32 bits instead of 16", "twice the memory, for the last bit of a score"},
    {"cache_dir", kCache, [](Settings& s) -> SettingField { return &s.cache_dir; }, {}, "",
     "features are kept in memory alone",
     "folder that features are kept in as well, encrypted, so that a restart loses none; made when "
     "missing, for one server",
     "what pictures leave behind is on a disk only where somebody wants it"},
    {"cache_dir_bytes", kCache, [](Settings& s) -> SettingField { return &s.cache_dir_bytes; },
     {kMiB, std::int64_t{1} << 50}, "", "",
     "disk space for them; what was used longest ago goes first",
     "130,000 tiles of 64 KiB"},
    {"cache_secret_file", kCache,
     [](Settings& s) -> SettingField { return &s.cache_secret_file; }, {}, "",
     "a file inside cache_dir",
     "file with the secret that they are encrypted with, at least 32 bytes; made when missing",
     "whoever has the disk but not this file can read none of them"},
    {"cache_rules", kCache, [](Settings& s) -> SettingField { return &s.cache_rules; }, {}, "",
     "requests decide",
     "for whom, where and how long features are kept, with blanks between: scope=request (tenant, "
     "request, none), tier=memory (all, memory), ttl_seconds=3600 for requests that do not say, "
     "scope_max=, tier_max=, ttl_seconds_max= for all; a name in the key file may have its own",
     "an operator knows what tenants were promised"},

    {"host", kServer, [](Settings& s) -> SettingField { return &s.host; }, {}, "", "",
     "address to listen on", "reachable from this machine only, until somebody decides otherwise"},
    {"port", kServer, [](Settings& s) -> SettingField { return &s.port; }, {0, 65'535}, "", "",
     "port to listen on; 0 = any free one", ""},
    {"http_threads", kServer, [](Settings& s) -> SettingField { return &s.n_http_threads; },
     {1, 64}, "threads", "", "threads that read requests and write answers",
     "they wait for sockets and for the engine most of the time"},
    {"api_key_file", kServer, [](Settings& s) -> SettingField { return &s.api_key_file; }, {}, "",
     "no key is asked for", "file with the API keys", ""},
    {"admin_key_file", kServer, [](Settings& s) -> SettingField { return &s.admin_key_file; }, {},
     "", "nobody may call /admin",
     "file with the keys for /admin and `tessera cache`, in the form of the API keys' file",
     "a key of a tenant must not reach what others have"},
    {"log_level", kServer, [](Settings& s) -> SettingField { return &s.log_level; }, {}, "", "",
     "error, warning, info or debug", ""},
    {"log_format", kServer, [](Settings& s) -> SettingField { return &s.log_format; }, {}, "", "",
     "text for people, or json: one object a line", ""},
    {"content_log", kServer, [](Settings& s) -> SettingField { return &s.content_log; }, {}, "",
     "no content is logged",
     "file for the text of every chat and its answers, one JSON object a line; needs "
     "content_log_consent",
     "users expect that nobody reads along; no image, key or URL goes there"},
    {"content_log_consent", kServer,
     [](Settings& s) -> SettingField { return &s.content_log_consent; }, {}, "", "none",
     "the words i-log-what-users-send, without which content_log is refused",
     "two settings are not made by accident"},

    {"allow_remote_media", kSources,
     [](Settings& s) -> SettingField { return &s.allow_remote_media; }, {}, "", "",
     "fetch images that a request names by https: URL, in a process of its own",
     "whoever may ask could make this machine send requests"},
    {"remote_media_domains", kSources,
     [](Settings& s) -> SettingField { return &s.remote_media_domains; }, {}, "",
     "any host of the public internet",
     "hosts to fetch from, with commas between: cdn.example.com, *.example.org", ""},
    {"remote_media_http", kSources,
     [](Settings& s) -> SettingField { return &s.remote_media_http; }, {}, "", "",
     "fetch http: URLs as well", "anybody on the way can read and change what comes by http"},
    {"media_root", kSources, [](Settings& s) -> SettingField { return &s.media_root; }, {}, "",
     "file: URLs are refused", "folder below which file: URLs may be read",
     "whoever may ask can have every image below it described"},
    {"uploads", kSources, [](Settings& s) -> SettingField { return &s.uploads; }, {}, "", "",
     "take files at /v1/files and keep them in memory for a while; --uploads=false refuses them",
     "the memory is bounded, and only the key that sent a file can use it"},

    {"limits.body_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.body_bytes_max; }, {1024, kGiB}, "", "",
     "body of one HTTP request", "three large photos in base64, with room"},
    {"limits.image_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_bytes_max; }, {1024, kGiB}, "", "",
     "one encoded image", "a 40 MP JPEG at high quality"},
    {"limits.video_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.video_bytes_max; }, {1024, kGiB}, "", "",
     "one encoded video; a body, a fetch and an upload have limits of their own",
     "ten minutes of a phone's 1080p at a low rate"},
    {"limits.text_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.text_bytes_max; }, {1024, kGiB}, "", "",
     "JSON of one request, without its images",
     "far above any context length"},
    {"limits.header_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.header_bytes_max; },
     {1024, std::int64_t{1} << 20}, "", "", "headers of one HTTP request",
     "one long bearer token and a proxy's additions"},
    {"limits.images_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.images_max; }, {0, 1024}, "images", "",
     "images and videos of one request", ""},
    {"limits.image_pixels_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_pixels_max; }, {1, kIntMax}, "pixels",
     "", "width times height of one image", "a 40 MP camera"},
    {"limits.request_pixels_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.request_pixels_max; },
     {1, std::int64_t{1} << 36}, "pixels", "",
     "pixels of one request: of the frames that are looked at, and of all images",
     "three of those at once: 360 MB of RGB"},
    {"limits.image_side_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_side_max; }, {1, 65'535}, "pixels",
     "", "longer side of an image", "no camera is longer; bounds row buffers"},
    {"limits.image_aspect_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_aspect_max; }, {1, 65'535}, "", "",
     "longer side divided by shorter side", "longer strips break models' own preprocessing"},
    {"limits.image_scans_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_scans_max; }, {1, 1000}, "scans", "",
     "scans of one progressive JPEG", "encoders write about ten"},
    {"limits.frames_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.frames_max; }, {1, kFramesMax}, "frames",
     "", "frames that a request may ask for, of one video or animation",
     "each is an image to the model"},
    {"limits.file_frames_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.file_frames_max; }, {1, 65'535}, "frames",
     "", "frames in an animation of which more than the first is asked for",
     "half a minute, as animations go"},
    {"limits.videos_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.videos_max; }, {0, 64}, "videos", "",
     "videos of one request; they count as images, too",
     "each needs its own frames of a context"},
    {"limits.video_seconds_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.video_seconds_max; }, {1, 86'400},
     "seconds", "", "length of one video, by the timestamps of its pictures", "ten minutes"},
    {"limits.video_frames_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.video_frames_max; }, {1, 1'000'000},
     "frames", "", "frames in one video", "ten minutes at 60 a second"},
    {"limits.video_pixels_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.video_pixels_max; },
     {1, std::int64_t{1} << 40}, "pixels", "",
     "pixels that decoding goes through, over all videos of one request",
     "a minute of a core at most"},
    {"limits.icc_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.icc_bytes_max; },
     {4096, 64 * std::int64_t{kMiB}}, "", "",
     "colour profile of one image; a larger one counts as absent", "real ones stay below 2 MiB"},
    {"limits.exif_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.exif_bytes_max; },
     {0, std::int64_t{kMiB}}, "", "",
     "EXIF of one image, read for its orientation; a larger one counts as absent",
     "what fits a JPEG's segment"},
    {"limits.output_tokens_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.output_tokens_max; }, {1, kTokensMax},
     "tokens", "", "output of one choice, at most", ""},
    {"limits.output_tokens_default", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.output_tokens_default; }, {1, kTokensMax},
     "tokens", "", "output of one choice, unless the request says", ""},
    {"limits.choices_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.choices_max; }, {1, kSequencesMax},
     "choices", "", "choices of one request (`n`)", ""},
    {"limits.visual_tokens_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.visual_tokens_max; }, {0, kTokensMax},
     "tokens", "", "visual tokens of one request", ""},
    {"limits.image_visual_tokens_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.image_visual_tokens_max; }, {0, kTokensMax},
     "tokens", "", "visual tokens of one image",
     "an image may have all of a request's; lower it to forbid that"},
    {"limits.answer_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.answer_bytes_max; }, {1024, kGiB}, "", "",
     "text and framing of one answer, all choices",
     "four choices of the longest tokens with log probabilities stay far below"},
    {"limits.requests_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.requests_max; }, {1, 65'536}, "requests",
     "", "requests in flight; the next one gets 429", ""},
    {"limits.tenant_requests_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.tenant_requests_max; }, {1, 65'536},
     "requests", "",
     "requests in flight of one API key, and as many whose bodies arrive; the next one gets 429",
     "two are needed to fill the server"},
    {"limits.connections_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.connections_max; }, {1, 65'536},
     "connections", "",
     "open sockets; one more takes the place of the one that has waited longest for a request", ""},
    {"limits.held_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.held_bytes_max; }, {1024, 1024 * kGiB}, "",
     "",
     "bodies of requests until they are answered; as much again for media that is named by URL",
     "16 bodies of the largest size"},
    {"limits.tenant_held_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.tenant_held_bytes_max; },
     {1024, 1024 * kGiB}, "", "", "the same of one API key",
     "two fill it"},
    {"limits.vision_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.vision_bytes_max; }, {1024, 1024 * kGiB},
     "", "",
     "prepared tiles until they are encoded and visual features until they are prefilled, of all "
     "requests; more of them wait",
     "two requests of 256 tiles of 512×512"},
    {"limits.tenant_vision_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.tenant_vision_bytes_max; },
     {1024, 1024 * kGiB}, "", "", "the same of one API key, and of one request",
     "two fill it"},
    {"limits.request_timeout", kLimits,
     [](Settings& s) -> SettingField { return &s.limits.request_timeout; }, {100, kDayMs}, "", "",
     "time of one request, arrival to last token", ""},
    {"limits.remote_urls_max", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.urls_max; }, {0, 1024}, "URLs", "",
     "https: and http: URLs of one request", "more media belongs into the body"},
    {"limits.remote_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.item_bytes_max; },
     {1024, kRemoteBytesMax}, "", "",
     "one image that is fetched", "as one in a body"},
    {"limits.remote_request_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.request_bytes_max; },
     {1024, kGiB}, "", "",
     "images of one request that are named by any URL, together", "as one body"},
    {"limits.remote_tenant_fetches_max", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.fetches_per_tenant; },
     {1, 32}, "fetches", "",
     "fetches of one API key at once; more wait",
     "two requests' worth, others keep the rest"},
    {"limits.remote_redirects_max", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.redirects_max; },
     {0, 20}, "redirects", "",
     "redirects of one fetch, each checked as the first URL", "short link → site → object store"},
    {"limits.remote_connect_timeout", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.connect_timeout; },
     {1, 60'000}, "", "",
     "time to connect to a host of a URL", "TCP and TLS; two lost packets"},
    {"limits.remote_total_timeout", kLimits,
     [](Settings& s) -> SettingField { return &s.remote_limits.total_timeout; },
     {1, 600'000}, "", "",
     "time of one fetch, with its redirects", "all hops: the largest item at 1.4 MB/s"},
    {"limits.upload_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.file_bytes_max; },
     {1024, kGiB}, "", "", "one uploaded file", "as one in a body"},
    {"limits.upload_tenant_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.tenant_bytes_max; },
     {1024, std::int64_t{1} << 40}, "", "",
     "uploaded files of one API key", "ten of the largest"},
    {"limits.upload_total_bytes_max", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.total_bytes_max; },
     {1024, std::int64_t{1} << 40}, "", "",
     "uploaded files of all", "beside the weights"},
    {"limits.upload_tenant_files_max", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.tenant_files_max; },
     {1, 4096}, "files", "",
     "uploaded files of one API key", "a list that one answer can hold"},
    {"limits.upload_total_files_max", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.total_files_max; },
     {1, 65'536}, "files", "",
     "uploaded files of all", "one descriptor each"},
    {"limits.upload_time_to_live", kLimits,
     [](Settings& s) -> SettingField { return &s.upload_limits.time_to_live; },
     {1000, kDayMs}, "", "",
     "time that an uploaded file is kept", "a session of a person; the memory is ours"},
});
// clang-format on

constexpr std::string_view kIntroduction = R"(# Configuration

Each setting can be given in four places; the first that has it wins:

1. a flag: `tessera serve --port 9000`
2. an environment variable: `TESSERA_PORT=9000`
3. a TOML file, named by `--config FILE` or `TESSERA_CONFIG`: `port = 9000`
4. the default below

An empty environment variable counts as unset. A key that the file should not have is an error,
with its line. `tessera serve --print-config` prints every setting with the place it came from; the
output is itself such a file. `ask` and `plan` take the flags of *Model* and *Media*, and read all
settings from environment and file.

Sizes are bytes, or a number with `KiB`, `MiB` or `GiB`; in the file, those are strings. Durations
need a unit: `ms`, `s`, `min` or `h`.

This page is printed from `src/cli/setting_table.cpp` and compared with it by a test;
`TESSERA_UPDATE_DOCS=1` rewrites it.
)";

/// Letters inserted, removed, replaced, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::span<const SettingDefinition> setting_table() {
  return kTable;
}

std::string_view group_title(SettingGroup group) {
  switch (group) {
    case kModel:
      return "Model";
    case kMedia:
      return "Media";
    case kEngine:
      return "Engine";
    case kCache:
      return "Cache";
    case kServer:
      return "Server";
    case kSources:
      return "Media by URL and uploads";
    case kLimits:
      return "Limits";
  }
  return "";
}

std::string flag_name(const SettingDefinition& setting) {
  std::string name = "--" + std::string(setting.key);
  std::ranges::replace_if(name, [](char c) { return c == '_' || c == '.'; }, '-');
  return name;
}

std::string variable_name(const SettingDefinition& setting) {
  std::string name = "TESSERA_";
  for (const char c : setting.key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string default_text(const SettingDefinition& setting, DefaultUnit unit) {
  if (!setting.default_text.empty()) return std::string(setting.default_text);
  Settings defaults;
  std::string text = toml_value(setting.field(defaults));
  std::erase(text, '"');
  if (unit == DefaultUnit::kYes && !setting.unit.empty()) text += " " + std::string(setting.unit);
  return text;
}

std::optional<std::string> closest_name(std::string_view name, std::span<const std::string> names) {
  // One letter in three may be wrong; beyond that a suggestion is a guess.
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string configuration_markdown() {
  std::ostringstream out;
  out << kIntroduction;
  std::optional<SettingGroup> group;
  for (const SettingDefinition& setting : setting_table()) {
    if (group != setting.group) {
      group = setting.group;
      out << "\n## " << group_title(*group) << "\n\n";
      if (group == kLimits) {
        out << "Ceilings for what others send. A request may lower them, never raise them.\n\n";
      }
      out << "| in the file | flag | environment | default | meaning |\n|---|---|---|---|---|\n";
    }
    out << "| `" << setting.key << "` | `" << flag_name(setting) << "` | `"
        << variable_name(setting) << "` | " << default_text(setting, DefaultUnit::kYes) << " | "
        << setting.help;
    if (!setting.reason.empty()) out << ". *Why: " << setting.reason << ".*";
    out << " |\n";
  }
  return out.str();
}

}  // namespace tessera::cli
