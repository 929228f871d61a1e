// One life of the engine process, as its callers see it: the lines to it, and what lives in it.
// From its death on every call fails, and nothing of it is of any use to the next one.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "runtime/remote/line.h"

namespace tessera::runtime::remote {

/// Calls on the model at once; more wait. Media threads tile images, HTTP threads tokenize.
inline constexpr std::size_t kModelLines = 4;

/// HTTP threads wait for some of them. Tiling a large image takes a second on a slow machine, a
/// grammar of the largest schema a few: whoever takes longer hangs, and is ended.
inline constexpr std::chrono::seconds kModelCallMax{60};

/// Those of Connection, in the order in which their other ends are sent.
inline constexpr std::size_t kLines = kModelLines + 2;

/// @thread each member says whose it is
class Connection {
 public:
  /// @param lines  kLines of them: encode, decode, those of the model
  Connection(sandbox::Channel control, std::vector<Line> lines);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- any thread ---
  bool is_alive() const { return alive_.load(std::memory_order_acquire); }
  /// No more calls; whoever keeps the process is told.
  void lose();
  std::uint64_t new_number() { return 1 + n_numbers_.fetch_add(1, std::memory_order_relaxed); }
  void drop_set(std::uint64_t set);
  void drop_sampler(std::uint64_t sampler);
  std::vector<std::uint64_t> take_dropped_sets();
  std::vector<std::uint64_t> take_dropped_samplers();

  /// A call on the model, on whichever line is free.
  template <typename T, typename Arguments>
  Result<T> call_model(Call call, const Arguments& arguments) {
    std::unique_ptr<Line> line = take_line();
    auto result =
        this->call<T>(*line, call, arguments, {}, std::chrono::steady_clock::now() + kModelCallMax);
    give_back(std::move(line));
    return result;
  }

  // --- the encode thread ---
  template <typename T, typename Arguments>
  Result<T> call_encoder(const Arguments& arguments, const ShouldStop& stop) {
    return call<T>(encode_line_, Call::kEncode, arguments, stop);
  }

  // --- the engine thread ---
  template <typename T, typename Arguments>
  Result<T> call_executor(Call call, const Arguments& arguments, const ShouldStop& stop) {
    return this->call<T>(decode_line_, call, arguments, stop);
  }

  // --- the keeper of the process ---
  sandbox::Channel& control() { return control_; }

 private:
  /// @errors  what the engine answers, or engine_lost
  template <typename T, typename Arguments>
  Result<T> call(Line& line, Call call, const Arguments& arguments, const ShouldStop& stop,
                 TimePoint deadline = TimePoint::max()) {
    if (!is_alive()) return engine_lost_error();
    ParcelWriter parcel;
    parcel(arguments);
    if (const auto answer = line.call(call, parcel, stop, {}, deadline)) {
      if (auto result = answer->template read<Result<T>>()) return *std::move(result);
    }
    lose();
    return engine_lost_error();
  }
  std::unique_ptr<Line> take_line();
  void give_back(std::unique_ptr<Line> line);

  std::atomic<bool> alive_{true};
  std::atomic<std::uint64_t> n_numbers_{0};
  sandbox::Channel control_;
  Line encode_line_;
  Line decode_line_;
  Mutex mutex_;
  CondVar line_is_free_;
  std::vector<std::unique_ptr<Line>> free_lines_ TSR_GUARDED_BY(mutex_);
  // What callers have let go of since the last call; bounded by what they made.
  std::vector<std::uint64_t> dropped_sets_ TSR_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> dropped_samplers_ TSR_GUARDED_BY(mutex_);
};

}  // namespace tessera::runtime::remote
