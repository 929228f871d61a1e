// The server's own measurements, in the Prometheus text format. Names, units, labels and buckets
// are in metric_table.h; this class only moves the values.
//
// One object for the process, owned by app/ and passed by reference.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/trace.h"

namespace tessera::metrics {

/// The queues whose depth is shown, in the order of a request's life.
enum class Queue { kFetch, kMedia, kEncode, kEngine };

struct BuildInfo {
  std::string version;  // "0.1.0"
  std::string runtime;  // "fake", or "llama" and the commit it was built from
};

/// Where features are kept, in the order of the label `tier`.
enum class FeatureTier { kMemory, kDisk };

/// Of one tier of the feature cache: counts since the start, and what is there now.
struct FeatureCacheFigures {
  std::uint64_t n_hits = 0;
  std::uint64_t n_misses = 0;
  std::uint64_t n_evicted = 0;
  std::uint64_t n_expired = 0;
  std::uint64_t n_forgotten = 0;
  Duration saved{};
  std::size_t n_bytes = 0;
  std::size_t n_entries = 0;
  std::uint64_t n_unreadable = 0;
  std::uint64_t n_dropped = 0;
  std::uint64_t n_errors = 0;
  Duration evicted_age{};  // since the last use, of all evicted together
  Duration oldest_use{};
};

/// Distinct reasons that get a series of their own. docs/errors.md holds about half as many; more
/// means that something put free text there, which must not grow the server's memory.
inline constexpr std::size_t kReasonsMax = 64;

/// @thread all methods are thread-safe
class Metrics {
 public:
  explicit Metrics(const BuildInfo& build);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// Once for each request that ended, with its finished trace.
  void record_request(const Trace& trace, const std::optional<Error>& error);

  /// Once for each image the media worker was given; `error` unset = pixels came back.
  void record_media_decode(const std::optional<Error>& error);

  /// A decoder that did not end in order.
  /// @param decoder_class, cause  values of those labels
  void record_decoder_death(std::string_view decoder_class, std::string_view cause);

  /// The process that runs the model ended, and not because it was told to.
  void record_engine_death();

  void set_suspended_tenants(int count);

  /// How long each thread has been at its present step; zero = nothing waits for it.
  void set_no_progress(Duration encode, Duration engine);

  /// Reserved for prepared tiles and features.
  void set_vision_bytes(std::size_t n_bytes);

  /// @param level  a value of the label `level`; once, at start
  void set_sandbox_level(std::string_view level);

  /// Once for each URL that was to be fetched.
  /// @param outcome  one of fetch_outcome_values()
  void record_media_fetch(std::string_view outcome);

  /// One encoder call.
  void record_encode(int n_patches, Duration duration);

  /// Tiles that a request waits for together with an earlier one.
  void record_shared_tiles(int n_tiles);

  /// Figures never fall, but for what is there now.
  void set_feature_cache(FeatureTier tier, const FeatureCacheFigures& figures);

  /// One engine step.
  void record_step(int n_text_rows, int n_visual_rows, Duration duration);
  /// A model call took another time than expected.
  /// @param ratio  |expected − measured| / measured
  void record_call_cost_error(int n_rows, double ratio);

  void set_queue_depth(Queue queue, std::size_t depth);
  void set_upload_bytes(std::size_t n_bytes);
  void set_requests_in_flight(std::size_t count);
  void set_running_sequences(int count);
  void set_set_aside_requests(int count);
  /// A request gave way. @param copied  its cells were copied; else they are computed again
  void record_preemption(bool copied);
  /// @param used  by what runs; kept: by prompts that do not
  void set_kv_cells(int used, int kept, int capacity);

  /// A line of the content log that was not written.
  void record_content_log_loss();

  /// The whole exposition, in table order, series sorted by labels.
  std::string expose();

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace tessera::metrics
