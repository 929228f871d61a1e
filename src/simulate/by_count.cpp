#include "simulate/by_count.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "simulate/machine.h"

namespace tessera::simulate {
namespace {

class ByCount {
 public:
  ByCount(std::span<const SimulatedRequest> requests, const SimulationOptions& options)
      : requests_(requests), options_(options) {}

  SimulationResult run() {
    while (!requests_.empty() || !waiting_.empty()) {
      if (waiting_.empty()) now_ = std::max(now_, requests_.front().arrival);
      const std::vector<SimulatedRequest> batch = take();
      std::vector<Clocked> outputs(batch.size());
      int n_cells = 0;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        prefill(batch[i], n_cells);
        outputs[i].token(batch[i], now_, result_);
      }
      decode(batch, outputs, n_cells);
    }
    result_.seconds = now_;
    return result_;
  }

 private:
  void take_arrivals() {
    for (; !requests_.empty() && requests_.front().arrival <= now_;
         requests_ = requests_.subspan(1)) {
      if (waiting_.size() < options_.n_requests_max) {
        waiting_.push_back(requests_.front());
      } else {
        ++result_.n_refused;
      }
    }
  }

  /// Not more than the number, and not more than the cells hold.
  std::vector<SimulatedRequest> take() {
    take_arrivals();
    std::vector<SimulatedRequest> batch;
    int n_cells = 0;
    while (!waiting_.empty() && batch.size() < static_cast<std::size_t>(options_.n_batch)) {
      n_cells += n_prompt_tokens(waiting_.front()) + waiting_.front().n_output_tokens;
      if (n_cells > options_.machine.n_kv_cells) break;
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    return batch;
  }

  void call(int n_rows, int n_cells) {
    now_ += call_seconds(options_.machine, n_rows, n_cells);
    ++result_.n_steps;
  }

  void prefill(const SimulatedRequest& request, int& n_cells) {
    now_ += options_.machine.tile_seconds * request.n_missing;
    for (int n_left = n_prompt_tokens(request); n_left > 0;) {
      const int n_rows = std::min(n_left, options_.ceiling.n_rows_max);
      call(n_rows, n_cells);
      n_left -= n_rows;
      n_cells += n_rows;
    }
  }

  void decode(std::span<const SimulatedRequest> batch, std::vector<Clocked>& outputs, int n_cells) {
    const auto goes_on = [&](std::size_t i) {
      return outputs[i].n_tokens() < batch[i].n_output_tokens;
    };
    for (;;) {
      int n_rows = 0;
      for (std::size_t i = 0; i < batch.size(); ++i) n_rows += goes_on(i) ? 1 : 0;
      if (n_rows == 0) return;
      call(n_rows, n_cells);
      n_cells += n_rows;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (goes_on(i)) outputs[i].token(batch[i], now_, result_);
      }
    }
  }

  std::span<const SimulatedRequest> requests_;  // that have not come
  std::deque<SimulatedRequest> waiting_;
  const SimulationOptions& options_;
  SimulationResult result_;
  double now_ = 0;
};

}  // namespace

SimulationResult simulate_by_count(std::span<const SimulatedRequest> requests,
                                   const SimulationOptions& options) {
  return ByCount(requests, options).run();
}

}  // namespace tessera::simulate
