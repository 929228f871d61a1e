#include "metrics/metric_table.h"

#include <array>
#include <sstream>

#include "core/check.h"
#include "core/error.h"
#include "core/trace.h"

namespace tessera::metrics {
namespace {

// Half a millisecond is the shortest stage worth telling apart; 300 s is the default time limit of
// a request. Two or three steps a decade keep a quantile within a factor of 2.5.
constexpr std::array<double, 18> kRequestBuckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                 0.05,   0.1,   0.25,   0.5,   1,    2.5,
                                                 5,      10,    30,     60,    120,  300};

// A model call takes from a tenth of a millisecond (small model) to seconds (full prefill slice).
constexpr std::array<double, 15> kCallBuckets{
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

// Powers of two: 1 = one sequence decodes, the top is the largest batch that libllama is given.
constexpr std::array<double, 13> kRowBuckets{1,   2,   4,   8,    16,   32,  64,
                                             128, 256, 512, 1024, 2048, 4096};

// An expectation that is off by a tenth is good; by 100 %, a mere order of magnitude.
constexpr std::array<double, 8> kErrorBuckets{0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 4};

template <typename Enum, std::size_t kCount>
std::array<std::string_view, kCount> names_of() {
  std::array<std::string_view, kCount> names;
  for (std::size_t i = 0; i < kCount; ++i) names[i] = to_string(static_cast<Enum>(i));
  return names;
}

// Values of this file are initialised in order, from constants of core/ alone.
const auto kStageValues = names_of<Stage, kStageCount>();

const auto kOutcomeValues = [] {
  std::array<std::string_view, kErrorCodeCount + 1> values{"ok"};
  for (int i = 0; i < kErrorCodeCount; ++i) {
    values[static_cast<std::size_t>(i) + 1] = to_string(static_cast<ErrorCode>(i));
  }
  return values;
}();

constexpr std::array<std::string_view, 2> kRowKinds{"text", "visual"};
constexpr std::array<std::string_view, 3> kDecoderClasses{"image", "video", "heif"};
constexpr std::array<std::string_view, 6> kDeathCauses{"forbidden_call", "signal",   "exit",
                                                       "timeout",        "protocol", "lost"};
constexpr std::array<std::string_view, 3> kSandboxLevels{"A", "B", "C"};
constexpr std::array<std::string_view, 4> kQueues{"fetch", "media", "encode", "engine"};
constexpr std::array<std::string_view, 14> kFetchOutcomes{
    "fetched",         "url_refused",       "domain_refused",
    "address_refused", "not_resolved",      "redirects_too_many",
    "status_refused",  "headers_too_large", "too_large",
    "timeout",         "network_failed",    "busy",
    "failed",          "not_media"};

const std::array<LabelDefinition, 2> kResultLabels{{
    {"outcome", kOutcomeValues, ""},
    {"reason", {}, "`none`, or the reason of the error (docs/errors.md); at most 64, then `other`"},
}};
const std::array<LabelDefinition, 1> kStageLabels{{{"stage", kStageValues, ""}}};
constexpr std::array<LabelDefinition, 2> kBuildLabels{{
    {"version", {}, "of Tessera"},
    {"runtime", {}, "what computes, with the commit it was built from"},
}};
constexpr std::array<LabelDefinition, 1> kFetchLabels{{{"outcome", kFetchOutcomes, ""}}};
constexpr std::array<std::string_view, 2> kFeatureTiers{"memory", "disk"};
constexpr std::array<LabelDefinition, 1> kTierLabels{{{"tier", kFeatureTiers, ""}}};
constexpr std::array<std::string_view, 4> kRemovalReasons{"room", "expired", "forgotten",
                                                          "unreadable"};
constexpr std::array<LabelDefinition, 2> kRemovalLabels{{
    {"tier", kFeatureTiers, ""},
    {"reason", kRemovalReasons, ""},
}};
constexpr std::array<LabelDefinition, 1> kRowLabels{{{"kind", kRowKinds, ""}}};
constexpr std::array<std::string_view, kCallSizes.size()> kCallSizeNames{"1", "2-8", "9-32",
                                                                         "33-64", "65+"};
constexpr std::array<LabelDefinition, 1> kCallSizeLabels{{{"rows", kCallSizeNames, ""}}};
constexpr std::array<LabelDefinition, 2> kDeathLabels{{
    {"class", kDecoderClasses, ""},
    {"cause", kDeathCauses, ""},
}};
constexpr std::array<LabelDefinition, 1> kLevelLabels{{{"level", kSandboxLevels, ""}}};
constexpr std::array<std::string_view, 2> kCellsFates{"copied", "computed_again"};
constexpr std::array<LabelDefinition, 1> kCellsLabels{{{"cells", kCellsFates, ""}}};
constexpr std::array<LabelDefinition, 1> kQueueLabels{{{"queue", kQueues, ""}}};
constexpr std::array<std::string_view, 2> kModelThreads{"encode", "engine"};
constexpr std::array<LabelDefinition, 1> kThreadLabels{{{"thread", kModelThreads, ""}}};

using enum MetricId;
using enum MetricType;

// Names follow Prometheus: base units, `_total` on counters and only on them.
const std::array<MetricDefinition, kMetricCount> kTable{{
    {kBuildInfo,
     kGauge,
     "tessera_build_info",
     "1",
     kBuildLabels,
     {},
     "Always 1; the labels say what runs."},
    {kRequests,
     kCounter,
     "tessera_requests_total",
     "requests",
     kResultLabels,
     {},
     "Requests that ended."},
    {kRequestSeconds,
     kHistogram,
     "tessera_request_seconds",
     "seconds",
     {},
     kRequestBuckets,
     "Arrival to last byte written, whatever the outcome."},
    {kTimeToFirstTokenSeconds,
     kHistogram,
     "tessera_time_to_first_token_seconds",
     "seconds",
     {},
     kRequestBuckets,
     "Arrival to first output token; requests without one are not counted."},
    {kStageSeconds, kHistogram, "tessera_stage_seconds", "seconds", kStageLabels, kRequestBuckets,
     "Time of a request in one stage; only requests that entered it. Stages sum to the request."},
    {kImages, kCounter, "tessera_images_total", "images", {}, {}, "Images of requests that ended."},
    {kTiles, kCounter, "tessera_tiles_total", "tiles", {}, {}, "Tiles those images were cut into."},
    {kVisualTokens,
     kCounter,
     "tessera_visual_tokens_total",
     "tokens",
     {},
     {},
     "Prompt tokens that stand for images."},
    {kTextTokens,
     kCounter,
     "tessera_text_tokens_total",
     "tokens",
     {},
     {},
     "Prompt tokens that stand for text."},
    {kCachedTokens,
     kCounter,
     "tessera_cached_tokens_total",
     "tokens",
     {},
     {},
     "Prompt tokens taken from the KV cache."},
    {kOutputTokens,
     kCounter,
     "tessera_output_tokens_total",
     "tokens",
     {},
     {},
     "Generated tokens, over all choices."},
    {kMediaDecodes,
     kCounter,
     "tessera_media_decodes_total",
     "images",
     kResultLabels,
     {},
     "Results of the media worker."},
    {kDecoderDeaths,
     kCounter,
     "tessera_decoder_deaths_total",
     "processes",
     kDeathLabels,
     {},
     "Decoders that did not end in order; `forbidden_call` is an alarm."},
    {kEngineDeaths,
     kCounter,
     "tessera_engine_deaths_total",
     "processes",
     {},
     {},
     "Processes that ran the model and ended; another one is started each time."},
    {kSuspendedTenants,
     kGauge,
     "tessera_media_suspended_tenants",
     "tenants",
     {},
     {},
     "Tenants that are without media for a while, because their files stopped decoders."},
    {kSandboxLevel,
     kGauge,
     "tessera_sandbox_level",
     "",
     kLevelLabels,
     {},
     "1 for the level at which decoders are confined (docs/security.md)."},
    {kMediaFetches,
     kCounter,
     "tessera_media_fetches_total",
     "URLs",
     kFetchLabels,
     {},
     "How URLs of requests ended; clients learn less."},
    {kUploadBytes,
     kGauge,
     "tessera_upload_bytes",
     "bytes",
     {},
     {},
     "Uploaded files that are kept in memory."},
    {kEncodeSeconds,
     kHistogram,
     "tessera_encode_seconds",
     "seconds",
     {},
     kCallBuckets,
     "One encoder call: vision tower and projector, which the library does not split."},
    {kEncodePatches,
     kCounter,
     "tessera_encode_patches_total",
     "patches",
     {},
     {},
     "Patches that went through the encoder."},
    {kFeatureHits,
     kCounter,
     "tessera_feature_cache_hits_total",
     "tiles",
     kTierLabels,
     {},
     "Tiles whose features were in the cache."},
    {kFeatureMisses,
     kCounter,
     "tessera_feature_cache_misses_total",
     "tiles",
     kTierLabels,
     {},
     "Looks into the cache that found nothing; a tile is looked up when its request is planned, in "
     "memory and then on disk, and in memory before it is encoded."},
    {kFeatureSharedTiles,
     kCounter,
     "tessera_feature_cache_shared_total",
     "tiles",
     {},
     {},
     "Tiles that a request waited for together with an earlier one."},
    {kFeatureRemovals,
     kCounter,
     "tessera_feature_cache_removals_total",
     "entries",
     kRemovalLabels,
     {},
     "Entries that left the cache."},
    {kFeatureSavedSeconds,
     kCounter,
     "tessera_feature_cache_saved_seconds_total",
     "seconds",
     kTierLabels,
     {},
     "Time of encoding that hits made unnecessary."},
    {kFeatureEvictedAge,
     kCounter,
     "tessera_feature_cache_evicted_age_seconds_total",
     "seconds",
     kTierLabels,
     {},
     "Time since the last use of entries that left for room, added up; divided by their number it "
     "is how long an entry stays that nobody asks for."},
    {kFeatureOldestUse,
     kGauge,
     "tessera_feature_cache_oldest_use_seconds",
     "seconds",
     kTierLabels,
     {},
     "Time since the entry was used that was used longest ago; 0 without entries."},
    {kFeatureBytes,
     kGauge,
     "tessera_feature_cache_bytes",
     "bytes",
     kTierLabels,
     {},
     "Memory and disk space of the feature cache."},
    {kFeatureEntries,
     kGauge,
     "tessera_feature_cache_entries",
     "tiles",
     kTierLabels,
     {},
     "Tiles in the feature cache."},
    {kFeatureDropped,
     kCounter,
     "tessera_feature_cache_dropped_total",
     "tiles",
     kTierLabels,
     {},
     "Tiles that were not kept because too many waited to be written."},
    {kFeatureErrors,
     kCounter,
     "tessera_feature_cache_errors_total",
     "errors",
     kTierLabels,
     {},
     "Errors of the file system, a full disk included; the tier is off after the first."},
    {kStepSeconds,
     kHistogram,
     "tessera_step_seconds",
     "seconds",
     {},
     kCallBuckets,
     "One engine step: plan, model calls, sampling."},
    {kStepRows, kHistogram, "tessera_step_rows", "rows", kRowLabels, kRowBuckets,
     "Rows of one engine step, by kind; a kind without rows is not counted."},
    {kCallCostError, kHistogram, "tessera_call_cost_error_ratio", "ratio", kCallSizeLabels,
     kErrorBuckets,
     "How far the time of a model call was from what the scheduler expected, as a part of that "
     "time, "
     "by the call's rows; the mean is sum / count."},
    {kQueueDepth,
     kGauge,
     "tessera_queue_depth",
     "requests",
     kQueueLabels,
     {},
     "What waits in a stage's queue."},
    {kNoProgress,
     kGauge,
     "tessera_no_progress_seconds",
     "seconds",
     kThreadLabels,
     {},
     "How long the encode or engine thread has been at its present step, while something waits for "
     "it. Grows without end when native code hangs."},
    {kVisionBytes,
     kGauge,
     "tessera_vision_bytes",
     "bytes",
     {},
     {},
     "Reserved by requests for prepared tiles and visual features, of `limits.vision_bytes_max`."},
    {kRequestsInFlight,
     kGauge,
     "tessera_requests_in_flight",
     "requests",
     {},
     {},
     "Admitted and not ended."},
    {kRunningSequences,
     kGauge,
     "tessera_running_sequences",
     "sequences",
     {},
     {},
     "Sequences that hold KV cells."},
    {kSetAsideRequests,
     kGauge,
     "tessera_set_aside_requests",
     "requests",
     {},
     {},
     "Requests that have begun and wait for KV cells to go on."},
    {kPreemptions,
     kCounter,
     "tessera_preemptions_total",
     "requests",
     kCellsLabels,
     {},
     "Times that a request gave way to others because the KV cache was full, by what became of its "
     "cells."},
    {kKvCellsUsed,
     kGauge,
     "tessera_kv_cells_used",
     "cells",
     {},
     {},
     "KV cells in use by requests that run, beside those that are kept."},
    {kKvCellsKept,
     kGauge,
     "tessera_kv_cells_kept",
     "cells",
     {},
     {},
     "KV cells of prompts that are kept, for requests that begin like them."},
    {kKvCellsCapacity,
     kGauge,
     "tessera_kv_cells_capacity",
     "cells",
     {},
     {},
     "KV cells that exist."},
    {kContentLogLost,
     kCounter,
     "tessera_content_log_lost_total",
     "lines",
     {},
     {},
     "Lines of the content log that were not written; without that log 0."},
    {kBugs,
     kCounter,
     "tessera_bugs_total",
     "surprises",
     {},
     {},
     "Survivable surprises; anything above 0 is worth a report."},
}};

std::string_view type_name(MetricType type) {
  switch (type) {
    case kCounter:
      return "counter";
    case kGauge:
      return "gauge";
    case kHistogram:
      return "histogram";
  }
  return "";
}

void print_labels(std::ostream& out, std::span<const LabelDefinition> labels) {
  for (const LabelDefinition& label : labels) {
    out << "  - `" << label.name << "`: ";
    std::string_view separator;
    for (std::string_view value : label.values) {
      out << separator << '`' << value << '`';
      separator = ", ";
    }
    out << label.note << '\n';
  }
}

}  // namespace

std::span<const MetricDefinition> metric_table() {
  return kTable;
}

const MetricDefinition& definition(MetricId id) {
  const MetricDefinition& found = kTable.at(static_cast<std::size_t>(id));
  TSR_CHECK(found.id == id);
  return found;
}

std::span<const std::string_view> outcome_values() {
  return kOutcomeValues;
}

std::span<const std::string_view> fetch_outcome_values() {
  return kFetchOutcomes;
}

std::string metrics_markdown() {
  std::ostringstream out;
  out << "# Metrics\n\n"
         "`GET /metrics` gives all of them in the Prometheus text format. This page is printed "
         "from\n"
         "`src/metrics/metric_table.cpp` and compared with it by a test; "
         "`TESSERA_UPDATE_DOCS=1` rewrites it.\n\n"
         "| metric | type | unit | meaning |\n"
         "|---|---|---|---|\n";
  for (const MetricDefinition& metric : metric_table()) {
    out << "| `" << metric.name << "` | " << type_name(metric.type) << " | " << metric.unit << " | "
        << metric.help << " |\n";
  }
  out << "\n## Labels\n\nEvery label has a closed or capped set of values.\n\n";
  for (const MetricDefinition& metric : metric_table()) {
    if (metric.labels.empty()) continue;
    out << "- `" << metric.name << "`\n";
    print_labels(out, metric.labels);
  }
  out << "\n## Stages\n\n| `stage` | what a request does in it |\n|---|---|\n";
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    out << "| `" << to_string(stage) << "` | " << describe(stage) << " |\n";
  }
  out << "\n## Buckets\n\n";
  for (const MetricDefinition& metric : metric_table()) {
    if (metric.buckets.empty()) continue;
    out << "- `" << metric.name << "`:";
    for (double bound : metric.buckets) out << ' ' << bound;
    out << '\n';
  }
  return out.str();
}

}  // namespace tessera::metrics
