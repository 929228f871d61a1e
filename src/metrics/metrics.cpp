#include "metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/mutex.h"
#include "metrics/metric_table.h"

namespace tessera::metrics {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

/// Keeps the label `reason` to words from a bounded set.
class ReasonSet {
 public:
  std::string admit(const std::string& reason) {
    MutexLock lock(mutex_);
    if (!is_reason(reason)) return "other";
    if (!seen_.contains(reason)) {
      if (seen_.size() >= kReasonsMax) return "other";
      seen_.insert(reason);
    }
    return reason;
  }

 private:
  static bool is_reason(std::string_view text) {
    constexpr std::size_t kLengthMax = 64;  // the longest of ours has about half
    return !text.empty() && text.size() <= kLengthMax && std::ranges::all_of(text, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  }

  Mutex mutex_;
  std::set<std::string> seen_ TSR_GUARDED_BY(mutex_);
};

template <typename Metric, typename Builder>
Family<Metric>& add_family(prometheus::Registry& registry, Builder builder, MetricId id) {
  const MetricDefinition& row = definition(id);
  return builder.Name(std::string(row.name)).Help(std::string(row.help)).Register(registry);
}

Family<Counter>& counters(prometheus::Registry& registry, MetricId id) {
  TSR_CHECK(definition(id).type == MetricType::kCounter);
  return add_family<Counter>(registry, prometheus::BuildCounter(), id);
}

Family<Gauge>& gauges(prometheus::Registry& registry, MetricId id) {
  TSR_CHECK(definition(id).type == MetricType::kGauge);
  return add_family<Gauge>(registry, prometheus::BuildGauge(), id);
}

/// One histogram for each value of the metric's only label, or a single one without labels.
std::vector<Histogram*> histograms(prometheus::Registry& registry, MetricId id) {
  const MetricDefinition& row = definition(id);
  TSR_CHECK(row.type == MetricType::kHistogram);
  auto& family = add_family<Histogram>(registry, prometheus::BuildHistogram(), id);
  const Histogram::BucketBoundaries buckets(row.buckets.begin(), row.buckets.end());
  if (row.labels.empty()) return {&family.Add({}, buckets)};
  std::vector<Histogram*> series;
  for (std::string_view value : row.labels.front().values) {
    series.push_back(
        &family.Add({{std::string(row.labels.front().name), std::string(value)}}, buckets));
  }
  return series;
}

/// One gauge for each value of the metric's only label.
std::vector<Gauge*> gauges_by_label(prometheus::Registry& registry, MetricId id) {
  auto& family = gauges(registry, id);
  const LabelDefinition& label = definition(id).labels.front();
  std::vector<Gauge*> series;
  for (std::string_view value : label.values) {
    series.push_back(&family.Add({{std::string(label.name), std::string(value)}}));
  }
  return series;
}

/// One counter for each value of the metric's only label.
std::vector<Counter*> counters_by_label(prometheus::Registry& registry, MetricId id) {
  auto& family = counters(registry, id);
  const LabelDefinition& label = definition(id).labels.front();
  std::vector<Counter*> series;
  for (std::string_view value : label.values) {
    series.push_back(&family.Add({{std::string(label.name), std::string(value)}}));
  }
  return series;
}

/// Every series of two labels, the values of the first outside, from the start: a rate over the
/// first event counts.
std::vector<Counter*> counters_by_two_labels(prometheus::Registry& registry, MetricId id) {
  auto& family = counters(registry, id);
  const auto labels = definition(id).labels;
  std::vector<Counter*> series;
  for (std::string_view first : labels[0].values) {
    for (std::string_view second : labels[1].values) {
      series.push_back(&family.Add({{std::string(labels[0].name), std::string(first)},
                                    {std::string(labels[1].name), std::string(second)}}));
    }
  }
  return series;
}

std::size_t table_index(const std::string& name) {
  const auto table = metric_table();
  const auto row = std::ranges::find(table, name, &MetricDefinition::name);
  return static_cast<std::size_t>(row - table.begin());
}

}  // namespace

struct Metrics::Series {
  prometheus::Registry registry;
  ReasonSet reasons;
  Mutex feature_mutex;  // raising a counter is two steps

  Family<Counter>& requests = counters(registry, MetricId::kRequests);
  Family<Counter>& media_decodes = counters(registry, MetricId::kMediaDecodes);
  Family<Counter>& media_fetches = counters(registry, MetricId::kMediaFetches);
  Counter& images = counters(registry, MetricId::kImages).Add({});
  Counter& tiles = counters(registry, MetricId::kTiles).Add({});
  Counter& visual_tokens = counters(registry, MetricId::kVisualTokens).Add({});
  Counter& text_tokens = counters(registry, MetricId::kTextTokens).Add({});
  Counter& cached_tokens = counters(registry, MetricId::kCachedTokens).Add({});
  Counter& output_tokens = counters(registry, MetricId::kOutputTokens).Add({});
  Counter& encode_patches = counters(registry, MetricId::kEncodePatches).Add({});
  Counter& content_log_lost = counters(registry, MetricId::kContentLogLost).Add({});
  Counter& bugs = counters(registry, MetricId::kBugs).Add({});
  Counter& engine_deaths = counters(registry, MetricId::kEngineDeaths).Add({});

  Histogram& request_seconds = *histograms(registry, MetricId::kRequestSeconds).front();
  Histogram& first_token_seconds =
      *histograms(registry, MetricId::kTimeToFirstTokenSeconds).front();
  std::vector<Histogram*> stage_seconds = histograms(registry, MetricId::kStageSeconds);
  Histogram& encode_seconds = *histograms(registry, MetricId::kEncodeSeconds).front();
  Histogram& step_seconds = *histograms(registry, MetricId::kStepSeconds).front();
  std::vector<Histogram*> step_rows = histograms(registry, MetricId::kStepRows);
  std::vector<Histogram*> call_cost_error = histograms(registry, MetricId::kCallCostError);

  std::vector<Counter*> decoder_deaths = counters_by_two_labels(registry, MetricId::kDecoderDeaths);
  Family<Gauge>& sandbox_level = gauges(registry, MetricId::kSandboxLevel);
  std::vector<Gauge*> queue_depth = gauges_by_label(registry, MetricId::kQueueDepth);
  std::vector<Gauge*> no_progress = gauges_by_label(registry, MetricId::kNoProgress);
  Gauge& vision_bytes = gauges(registry, MetricId::kVisionBytes).Add({});
  Gauge& suspended_tenants = gauges(registry, MetricId::kSuspendedTenants).Add({});
  Counter& feature_shared = counters(registry, MetricId::kFeatureSharedTiles).Add({});
  std::vector<Counter*> feature_hits = counters_by_label(registry, MetricId::kFeatureHits);
  std::vector<Counter*> feature_misses = counters_by_label(registry, MetricId::kFeatureMisses);
  std::vector<Counter*> feature_saved = counters_by_label(registry, MetricId::kFeatureSavedSeconds);
  std::vector<Counter*> feature_removals =
      counters_by_two_labels(registry, MetricId::kFeatureRemovals);
  std::vector<Counter*> feature_evicted_age =
      counters_by_label(registry, MetricId::kFeatureEvictedAge);
  std::vector<Gauge*> feature_oldest_use = gauges_by_label(registry, MetricId::kFeatureOldestUse);
  std::vector<Gauge*> feature_bytes = gauges_by_label(registry, MetricId::kFeatureBytes);
  std::vector<Gauge*> feature_entries = gauges_by_label(registry, MetricId::kFeatureEntries);
  std::vector<Counter*> feature_dropped = counters_by_label(registry, MetricId::kFeatureDropped);
  std::vector<Counter*> feature_errors = counters_by_label(registry, MetricId::kFeatureErrors);
  Gauge& upload_bytes = gauges(registry, MetricId::kUploadBytes).Add({});
  Gauge& requests_in_flight = gauges(registry, MetricId::kRequestsInFlight).Add({});
  Gauge& running_sequences = gauges(registry, MetricId::kRunningSequences).Add({});
  Gauge& set_aside_requests = gauges(registry, MetricId::kSetAsideRequests).Add({});
  std::vector<Counter*> preemptions = counters_by_label(registry, MetricId::kPreemptions);
  Gauge& kv_cells_used = gauges(registry, MetricId::kKvCellsUsed).Add({});
  Gauge& kv_cells_kept = gauges(registry, MetricId::kKvCellsKept).Add({});
  Gauge& kv_cells_capacity = gauges(registry, MetricId::kKvCellsCapacity).Add({});

  Mutex bugs_mutex;
  std::uint64_t bugs_seen TSR_GUARDED_BY(bugs_mutex) = 0;

  void count_result(Family<Counter>& family, const std::optional<Error>& error) {
    const std::string outcome(error ? to_string(error->code) : "ok");
    const std::string reason = error ? reasons.admit(error->reason) : "none";
    family.Add({{"outcome", outcome}, {"reason", reason}}).Increment();
  }

  /// bug_count() belongs to the process; the counter follows it at each exposition.
  void follow_bug_count() {
    MutexLock lock(bugs_mutex);
    const std::uint64_t now = bug_count();
    bugs.Increment(static_cast<double>(now - bugs_seen));
    bugs_seen = now;
  }
};

Metrics::Metrics(const BuildInfo& build) : series_(std::make_unique<Series>()) {
  gauges(series_->registry, MetricId::kBuildInfo)
      .Add({{"version", build.version}, {"runtime", build.runtime}})
      .Set(1);
  // Shown from the start, so that a rate over the first request is not lost.
  series_->requests.Add({{"outcome", "ok"}, {"reason", "none"}});
  series_->media_decodes.Add({{"outcome", "ok"}, {"reason", "none"}});
}

Metrics::~Metrics() = default;

void Metrics::record_request(const Trace& trace, const std::optional<Error>& error) {
  Series& to = *series_;
  to.count_result(to.requests, error);
  to.request_seconds.Observe(to_seconds(trace.total()));
  if (const auto first = trace.time_to_first_token()) {
    to.first_token_seconds.Observe(to_seconds(*first));
  }
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const Duration spent = trace.in(static_cast<Stage>(i));
    if (spent > Duration::zero()) to.stage_seconds[i]->Observe(to_seconds(spent));
  }
  to.images.Increment(trace.counts.n_images);
  to.tiles.Increment(trace.counts.n_tiles);
  to.visual_tokens.Increment(trace.counts.n_visual_tokens);
  to.text_tokens.Increment(trace.counts.n_text_tokens);
  to.cached_tokens.Increment(trace.counts.n_cached_tokens);
  to.output_tokens.Increment(trace.counts.n_output_tokens);
}

void Metrics::record_media_decode(const std::optional<Error>& error) {
  series_->count_result(series_->media_decodes, error);
}

void Metrics::record_decoder_death(std::string_view decoder_class, std::string_view cause) {
  const auto labels = definition(MetricId::kDecoderDeaths).labels;
  const auto row = std::ranges::find(labels[0].values, decoder_class);
  const auto column = std::ranges::find(labels[1].values, cause);
  TSR_CHECK(row != labels[0].values.end() && column != labels[1].values.end());
  const auto at =
      static_cast<std::size_t>(row - labels[0].values.begin()) * labels[1].values.size() +
      static_cast<std::size_t>(column - labels[1].values.begin());
  series_->decoder_deaths[at]->Increment();
}

void Metrics::record_engine_death() {
  series_->engine_deaths.Increment();
}

void Metrics::set_sandbox_level(std::string_view level) {
  const auto levels = definition(MetricId::kSandboxLevel).labels[0].values;
  TSR_CHECK(std::ranges::find(levels, level) != levels.end());
  series_->sandbox_level.Add({{"level", std::string(level)}}).Set(1);
}

void Metrics::record_media_fetch(std::string_view outcome) {
  const auto known = fetch_outcome_values();
  if (std::ranges::find(known, outcome) == known.end()) {
    TSR_BUG("an outcome of a fetch that the metrics do not know");
    return;
  }
  series_->media_fetches.Add({{"outcome", std::string(outcome)}}).Increment();
}

void Metrics::record_encode(int n_patches, Duration duration) {
  series_->encode_seconds.Observe(to_seconds(duration));
  series_->encode_patches.Increment(n_patches);
}

void Metrics::record_step(int n_text_rows, int n_visual_rows, Duration duration) {
  series_->step_seconds.Observe(to_seconds(duration));
  if (n_text_rows > 0) series_->step_rows[0]->Observe(n_text_rows);
  if (n_visual_rows > 0) series_->step_rows[1]->Observe(n_visual_rows);
}

void Metrics::record_call_cost_error(int n_rows, double ratio) {
  const auto size = std::ranges::lower_bound(kCallSizes, n_rows);
  const auto place = std::min<std::ptrdiff_t>(size - kCallSizes.begin(), kCallSizes.size() - 1);
  series_->call_cost_error[static_cast<std::size_t>(place)]->Observe(ratio);
}

void Metrics::set_queue_depth(Queue queue, std::size_t depth) {
  series_->queue_depth[static_cast<std::size_t>(queue)]->Set(static_cast<double>(depth));
}

void Metrics::set_no_progress(Duration encode, Duration engine) {
  series_->no_progress[0]->Set(to_seconds(encode));
  series_->no_progress[1]->Set(to_seconds(engine));
}

void Metrics::set_vision_bytes(std::size_t n_bytes) {
  series_->vision_bytes.Set(static_cast<double>(n_bytes));
}

void Metrics::set_suspended_tenants(int count) {
  series_->suspended_tenants.Set(count);
}

void Metrics::record_shared_tiles(int n_tiles) {
  series_->feature_shared.Increment(n_tiles);
}

void Metrics::set_feature_cache(FeatureTier tier, const FeatureCacheFigures& figures) {
  Series& to = *series_;
  MutexLock lock(to.feature_mutex);
  const auto raise = [](Counter& counter, double value) {
    if (value > counter.Value()) counter.Increment(value - counter.Value());
  };
  const auto i = static_cast<std::size_t>(tier);
  raise(*to.feature_hits[i], static_cast<double>(figures.n_hits));
  raise(*to.feature_misses[i], static_cast<double>(figures.n_misses));
  raise(*to.feature_saved[i], to_seconds(figures.saved));
  raise(*to.feature_evicted_age[i], to_seconds(figures.evicted_age));
  to.feature_oldest_use[i]->Set(to_seconds(figures.oldest_use));
  // In the order of the label's values.
  const std::array removals{figures.n_evicted, figures.n_expired, figures.n_forgotten,
                            figures.n_unreadable};
  for (std::size_t reason = 0; reason < removals.size(); ++reason) {
    raise(*to.feature_removals[i * removals.size() + reason],
          static_cast<double>(removals[reason]));
  }
  to.feature_bytes[i]->Set(static_cast<double>(figures.n_bytes));
  to.feature_entries[i]->Set(static_cast<double>(figures.n_entries));
  raise(*to.feature_dropped[i], static_cast<double>(figures.n_dropped));
  raise(*to.feature_errors[i], static_cast<double>(figures.n_errors));
}

void Metrics::set_upload_bytes(std::size_t n_bytes) {
  series_->upload_bytes.Set(static_cast<double>(n_bytes));
}

void Metrics::set_requests_in_flight(std::size_t count) {
  series_->requests_in_flight.Set(static_cast<double>(count));
}

void Metrics::set_running_sequences(int count) {
  series_->running_sequences.Set(count);
}

void Metrics::set_set_aside_requests(int count) {
  series_->set_aside_requests.Set(count);
}

void Metrics::record_preemption(bool copied) {
  series_->preemptions[copied ? 0 : 1]->Increment();
}

void Metrics::set_kv_cells(int used, int kept, int capacity) {
  series_->kv_cells_used.Set(used);
  series_->kv_cells_kept.Set(kept);
  series_->kv_cells_capacity.Set(capacity);
}

void Metrics::record_content_log_loss() {
  series_->content_log_lost.Increment();
}

std::string Metrics::expose() {
  series_->follow_bug_count();
  std::vector<prometheus::MetricFamily> families = series_->registry.Collect();
  // The library keeps series in a hash map; a fixed order makes two scrapes comparable by eye.
  std::ranges::sort(families, {}, [](const auto& family) { return table_index(family.name); });
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric,
                      [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tessera::metrics
