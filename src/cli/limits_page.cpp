#include "cli/limits_page.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include "admission/lower_limits.h"
#include "cli/setting_table.h"
#include "core/limits.h"
#include "media/quarantine.h"
#include "media/validate.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kPrefix = "limits.";

// In the order of the setting table.
constexpr std::array kRefusals = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"limits.body_bytes_max", "body_too_large"},
    {"limits.image_bytes_max", "image_too_large"},
    {"limits.video_bytes_max", "video_bytes_too_large"},
    {"limits.text_bytes_max", "text_too_large"},
    {"limits.header_bytes_max", "header_too_large"},
    {"limits.images_max", "too_many_images"},
    {"limits.image_pixels_max", "image_too_large"},
    {"limits.request_pixels_max", "request_pixels_too_large"},
    {"limits.image_side_max", "image_side_too_large"},
    {"limits.image_aspect_max", "image_aspect_too_large"},
    {"limits.image_scans_max", "image_scans_too_many"},
    {"limits.frames_max", "too_many_frames"},
    {"limits.file_frames_max", "image_frames_too_many"},
    {"limits.videos_max", "too_many_videos"},
    {"limits.video_seconds_max", "video_too_long"},
    {"limits.video_frames_max", "video_frames_too_many"},
    {"limits.video_pixels_max", "video_pixels_too_many"},
    {"limits.icc_bytes_max", "–"},
    {"limits.exif_bytes_max", "–"},
    {"limits.output_tokens_max", "invalid_value"},
    {"limits.output_tokens_default", "–"},
    {"limits.choices_max", "invalid_value"},
    {"limits.visual_tokens_max", "visual_tokens_exceeded"},
    {"limits.image_visual_tokens_max", "visual_tokens_exceeded"},
    {"limits.answer_bytes_max", "answer_too_large"},
    {"limits.requests_max", "server_busy"},
    {"limits.tenant_requests_max", "tenant_busy"},
    {"limits.connections_max", "–"},
    {"limits.held_bytes_max", "server_busy"},
    {"limits.tenant_held_bytes_max", "tenant_busy"},
    {"limits.vision_bytes_max", "vision_bytes_exceeded"},
    {"limits.tenant_vision_bytes_max", "vision_bytes_exceeded"},
    {"limits.request_timeout", "deadline_exceeded"},
    {"limits.remote_urls_max", "too_many_media_urls"},
    {"limits.remote_bytes_max", "media_url_too_large"},
    {"limits.remote_request_bytes_max", "media_url_too_large"},
    {"limits.remote_tenant_fetches_max", "–"},
    {"limits.remote_redirects_max", "media_url_unavailable"},
    {"limits.remote_connect_timeout", "media_url_unavailable"},
    {"limits.remote_total_timeout", "media_url_timeout"},
    {"limits.upload_bytes_max", "upload_too_large"},
    {"limits.upload_tenant_bytes_max", "upload_space_exhausted"},
    {"limits.upload_total_bytes_max", "upload_space_exhausted"},
    {"limits.upload_tenant_files_max", "upload_space_exhausted"},
    {"limits.upload_total_files_max", "upload_space_exhausted"},
    {"limits.upload_time_to_live", "upload_not_found"},
});

constexpr std::string_view kIntroduction = R"(# Limits

Everything that comes from outside has a ceiling, and acts on it before memory or time is spent:
bytes are counted while they arrive, pixels from the header of a file, visual tokens from its size.
A refusal says what, the value and the limit; its `error.code` is in the third column
([errors](errors.md)).

The operator sets a limit by flag, environment variable or file, under the names of
[configuration](configuration.md#limits). A request may lower the limits with a *yes*, and raise
none:

```json
{"messages": [ … ], "tessera": {"limits": {"images_max": 2, "visual_tokens_max": 1024}}}
```

| limit | default | refused as | a request may lower it | what, and why this default |
|---|---|---|---|---|
)";

struct FixedLimit {
  std::string_view what;
  std::string value;
  std::string_view why;
};

std::string minutes(std::chrono::minutes time) {
  return std::to_string(time.count()) + " minutes";
}

/// From the constants themselves, but for those of folders that this one may not see.
std::vector<FixedLimit> fixed_limits() {
  using std::to_string;
  return {
      {"JSON values of one body", "200000", "a parsed value takes some 50 bytes: 10 MB"},
      {"members of one JSON object", "512", "the parser looks keys up one by one"},
      {"stop strings", to_string(kStopStringsMax) + " of 256 bytes",
       "as OpenAI; the emitter holds back as much of a stream"},
      {"top log probabilities", to_string(kTopLogprobsMax), "as OpenAI"},
      {"limits in `tessera.limits`", to_string(kLimitWishesMax), "there are fewer"},
      {"pixels of a JPEG, over all scans",
       to_string(media::kJpegPixelScansMax / 1'000'000) + " million",
       "a crafted file of 300 KB otherwise takes 24 s"},
      {"files remembered for having stopped a decoder, or for being damaged",
       to_string(media::kRefusedFilesMax) + " of one key, " + minutes(media::kFileRefused) +
           " each",
       "the same file is refused without a decoder"},
      {"requests of one key with media named by URL, until it is decoded", "8",
       "two of them fill the key's fetches; others find a thread"},
      {"connections given up for others and not closed yet, beyond `connections_max`", "64",
       "each is a few instructions from its end"},
      {"decoders that one key may stop", to_string(media::kDeathsMax) + " in a minute",
       "then its images are refused for a while"},
      {"time without images after that", minutes(media::kTenantRefused),
       "a key stops 60 decoders an hour at most"},
  };
}

constexpr std::string_view kEnd = R"(
This page is printed from `src/cli/limits_page.cpp` and compared with it by a test;
`TESSERA_UPDATE_DOCS=1` rewrites it.
)";

bool may_be_lowered(std::string_view key) {
  const std::string_view name = key.substr(kPrefix.size());
  return std::ranges::find(admission::lowerable_limits(), name, &admission::LowerableLimit::name) !=
         admission::lowerable_limits().end();
}

}  // namespace

std::string_view refusal_of(std::string_view key) {
  const auto row = std::ranges::find(kRefusals, key, [](const auto& pair) { return pair.first; });
  return row == kRefusals.end() ? std::string_view() : row->second;
}

std::string limits_markdown() {
  std::ostringstream out;
  out << kIntroduction;
  for (const SettingDefinition& setting : setting_table()) {
    if (setting.group != SettingGroup::kLimits) continue;
    const std::string_view refusal = refusal_of(setting.key);
    const std::string code = refusal == "–" ? "–" : "`" + std::string(refusal) + "`";
    out << "| `" << setting.key.substr(kPrefix.size()) << "` | "
        << default_text(setting, DefaultUnit::kYes) << " | " << code << " | "
        << (may_be_lowered(setting.key) ? "yes" : "") << " | " << setting.help;
    if (!setting.reason.empty()) out << ": " << setting.reason;
    out << " |\n";
  }
  out << "\n## Not settable\n\n| limit | value | why |\n|---|---|---|\n";
  for (const FixedLimit& row : fixed_limits()) {
    out << "| " << row.what << " | " << row.value << " | " << row.why << " |\n";
  }
  out << kEnd;
  return out.str();
}

}  // namespace tessera::cli
