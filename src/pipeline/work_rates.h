// How long a unit of work takes here: pixels to decode, patches to encode, rows to prefill. The
// last few measurements count most, so that the rate follows a machine whose load changes.
// @thread all methods are thread-safe
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/clock.h"
#include "core/mutex.h"

namespace tessera::pipeline {

class WorkRates {
 public:
  enum class Kind { kMediaPixels, kPatches, kPrefillRows };

  void record(Kind kind, double n_units, Duration duration);

  /// Nothing before the first measurement; zero for no units.
  std::optional<double> seconds(Kind kind, double n_units) const;

 private:
  struct Rate {
    double n_units = 0;
    double seconds = 0;
  };

  mutable Mutex mutex_;
  std::array<Rate, 3> rates_ TSR_GUARDED_BY(mutex_){};
};

}  // namespace tessera::pipeline
