#include "pipeline/work_rates.h"

namespace tessera::pipeline {
namespace {

// Of what was measured before: ten measurements later it counts a third.
constexpr double kMemory = 0.9;

}  // namespace

void WorkRates::record(Kind kind, double n_units, Duration duration) {
  if (n_units <= 0) return;
  MutexLock lock(mutex_);
  Rate& rate = rates_[static_cast<std::size_t>(kind)];
  rate.n_units = kMemory * rate.n_units + n_units;
  rate.seconds = kMemory * rate.seconds + to_seconds(duration);
}

std::optional<double> WorkRates::seconds(Kind kind, double n_units) const {
  if (n_units <= 0) return 0.0;
  MutexLock lock(mutex_);
  const Rate& rate = rates_[static_cast<std::size_t>(kind)];
  if (rate.n_units <= 0) return std::nullopt;
  return n_units * rate.seconds / rate.n_units;
}

}  // namespace tessera::pipeline
