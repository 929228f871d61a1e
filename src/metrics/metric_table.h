// Every metric of the server, once: what is registered (metrics.cpp) and what people read
// (docs/metrics.md) both come from this table.
//
// Constant data; usable from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tessera::metrics {

enum class MetricType { kCounter, kGauge, kHistogram };

/// Model calls of about the same size: the most rows of each.
inline constexpr std::array kCallSizes{1, 8, 32, 64, std::numeric_limits<int>::max()};

/// In table order, which is also the order of the exposition.
enum class MetricId {
  kBuildInfo,
  kRequests,
  kRequestSeconds,
  kTimeToFirstTokenSeconds,
  kStageSeconds,
  kImages,
  kTiles,
  kVisualTokens,
  kTextTokens,
  kCachedTokens,
  kOutputTokens,
  kMediaDecodes,
  kDecoderDeaths,
  kEngineDeaths,
  kSuspendedTenants,
  kSandboxLevel,
  kMediaFetches,
  kUploadBytes,
  kEncodeSeconds,
  kEncodePatches,
  kFeatureHits,
  kFeatureMisses,
  kFeatureSharedTiles,
  kFeatureRemovals,
  kFeatureSavedSeconds,
  kFeatureEvictedAge,
  kFeatureOldestUse,
  kFeatureBytes,
  kFeatureEntries,
  kFeatureDropped,
  kFeatureErrors,
  kStepSeconds,
  kStepRows,
  kCallCostError,
  kQueueDepth,
  kNoProgress,
  kVisionBytes,
  kRequestsInFlight,
  kRunningSequences,
  kSetAsideRequests,
  kPreemptions,
  kKvCellsUsed,
  kKvCellsKept,
  kKvCellsCapacity,
  kContentLogLost,
  kBugs,
};

inline constexpr std::size_t kMetricCount = 46;

struct LabelDefinition {
  std::string_view name;
  /// Every value the label can have. Empty = fixed or capped at run time, as `note` says.
  std::span<const std::string_view> values;
  std::string_view note;
};

struct MetricDefinition {
  MetricId id;
  MetricType type;
  std::string_view name;
  std::string_view unit;
  std::span<const LabelDefinition> labels;
  std::span<const double> buckets;  // upper bounds, ascending; only for histograms
  std::string_view help;
};

/// One row for each MetricId, in its order.
std::span<const MetricDefinition> metric_table();

const MetricDefinition& definition(MetricId id);

/// Values of the label `outcome`: "ok", then the names of ErrorCode in its order.
std::span<const std::string_view> outcome_values();

/// Values of the label `outcome` of kMediaFetches; those of fetch::wire::Outcome.
std::span<const std::string_view> fetch_outcome_values();

/// The text of docs/metrics.md.
std::string metrics_markdown();

}  // namespace tessera::metrics
