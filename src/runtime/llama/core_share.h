// Which cores compute what. The encoder and the language model each have ggml thread pools of
// ours, pinned and without polling. Alone, each uses every core; while both work, they split the
// cores, because two pools on one core stall each other in ggml's spinning barriers.
//
//   cores      0 1 2 3 …  n−1
//   language   → from the low end; its own thread is pinned to core 0
//   encoder                ← from the high end; its own thread is pinned to core n−1
//
// The split is looked at before each model call and between the node groups of an encode, so a
// change takes effect within milliseconds. A side counts as working for kLinger after its last
// call: between two tiles, or two tokens, the other one would take all cores and be on them still
// when the next begins. An encode that finds a model call on all cores waits for its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "runtime/llama/handles.h"

struct ggml_backend_device;

namespace tessera::runtime::llama {

/// Weights × rows of a model call for which one more thread pays. Below it the barriers after each
/// node cost more than the thread brings. The smallest model that was measured, 2.9 M weights,
/// decodes 1.4 times as fast on two cores as on one (docs/decisions/0003-ggml-threads.md).
inline constexpr std::int64_t kWorkPerThread = 1'000'000;

/// Longer than it takes from the end of a tile, or of a step, to the next one.
inline constexpr std::chrono::milliseconds kLinger{20};

/// 1 to `n_cores`.
int threads_worth(std::int64_t n_weights, int n_rows, int n_cores);

/// @thread construct anywhere; each method says whose it is
class CoreShare {
 public:
  /// @param n_threads  0 = every core this process may use
  /// @param clock      outlives it
  explicit CoreShare(int n_threads, const Clock& clock = kSteadyClock);

  int n_cores() const { return static_cast<int>(cores_.size()); }

  // --- engine thread ---
  /// The pool for a call on `n_threads`, awake. One thread has a pool without workers: ggml wakes
  /// every worker of a pool for each graph, needed or not.
  ggml_threadpool* language_pool(int n_threads) const;
  /// Pins the calling thread to the low end; once, by the engine thread itself.
  void pin_language_thread() const;
  /// Marks the language model as working and says on how many threads.
  int begin_language();
  void end_language();

  // --- encode thread ---
  void pin_encode_thread() const;
  /// Waits for a model call that has all cores.
  void begin_encode();
  void end_encode() { encode_works_.end(clock_.now()); }
  /// Gives `backend` the pool that the present split allows. Between graphs only.
  void assign_encode_pool(ggml_backend_t backend);

 private:
  struct Pool {
    ThreadPoolHandle handle;
    int n_threads = 0;  // workers, and the thread that asks for a graph
  };
  static Pool make_pool(std::span<const int> worker_cores);

  /// Whether a side works. @thread any
  class Works {
   public:
    void begin() { until_.store(TimePoint::max()); }
    void end(TimePoint now) { until_.store(now + kLinger); }
    bool at(TimePoint now) const { return now < until_.load(); }

   private:
    std::atomic<TimePoint> until_{TimePoint::min()};
  };

  inline static const SteadyClock kSteadyClock;

  const Clock& clock_;
  std::vector<int> cores_;  // ids of the cores we may use, ascending
  int n_language_share_;    // of the cores, while both work
  Pool language_pool_;
  Pool language_pool_alone_;
  Pool encode_pool_all_;
  Pool encode_pool_share_;
  // Sequentially consistent, as the default is: of a model call and an encode that begin at the
  // same time, one sees the other.
  Works language_works_;
  Works encode_works_;
  std::atomic<int> n_language_cores_{0};  // of the call that runs
};

}  // namespace tessera::runtime::llama
