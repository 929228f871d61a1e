#include "cli/simulate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/table_text.h"

namespace tessera::cli {
namespace {

using simulate::KindResult;
using simulate::Quantiles;
using simulate::SimulationResult;

constexpr std::size_t kRuleWidth = 76;
constexpr std::size_t kColumn = 10;

/// "12 ms", "3.4 s", "125 s"
std::string time_cell(double seconds) {
  std::string text = "-";
  if (seconds > 0 && seconds < 1) {
    text = decimal(seconds * 1000, seconds < 0.01 ? 1 : 0) + " ms";
  } else if (seconds >= 1) {
    text = decimal(seconds, seconds < 100 ? 1 : 0) + " s";
  }
  return right_aligned(text, kColumn);
}

nlohmann::ordered_json quantiles_json(const Quantiles& quantiles) {
  return {{"p50", quantiles.at(0.5)},
          {"p90", quantiles.at(0.9)},
          {"p99", quantiles.at(0.99)},
          {"max", quantiles.largest()}};
}

std::string simulation_json(const SimulateOptions& options, const SimulationResult& result) {
  nlohmann::ordered_json json;
  json["policy"] = options.by_count ? "count" : "tokens";
  json["requests"] = options.n_requests;
  json["requests_per_second"] = options.requests_per_second;
  json["seed"] = options.seed;
  json["refused"] = result.n_refused;
  json["set_aside"] = result.n_set_aside;
  json["seconds"] = result.seconds;
  json["steps"] = result.n_steps;
  json["passed_over_steps_per_row_max"] = result.passed_over_per_row_max;
  json["call_cost_error"] = result.cost_error;
  json["inter_token_seconds"] = quantiles_json(result.inter_token);
  for (std::size_t i = 0; i < simulate::kKindCount; ++i) {
    const KindResult& kind = result.kinds[i];
    std::string name(to_string(static_cast<simulate::RequestKind>(i)));
    std::ranges::replace(name, ' ', '_');
    json["kinds"][name] = {{"ended", kind.n_ended},
                           {"time_to_first_token_seconds", quantiles_json(kind.first_token)},
                           {"inter_token_seconds", quantiles_json(kind.inter_token)},
                           {"total_seconds", quantiles_json(kind.total)}};
  }
  return json.dump(2) + "\n";
}

}  // namespace

ExitCode run_simulate(const SimulateOptions& options, const Terminal& terminal) {
  simulate::WorkloadOptions workload;
  workload.n_requests = static_cast<std::size_t>(options.n_requests);
  workload.requests_per_second = options.requests_per_second;
  workload.seed = options.seed;
  simulate::SimulationOptions simulation;
  simulation.policy = options.by_count ? simulate::Policy::kByCount : simulate::Policy::kByTokens;
  simulation.inter_token = options.inter_token;
  const SimulationResult result = simulate::simulate(simulate::make_workload(workload), simulation);
  terminal.out << (options.json ? simulation_json(options, result)
                                : simulation_table(options, result));
  return terminal.out ? ExitCode::kOk : ExitCode::kFailed;
}

std::string simulation_table(const SimulateOptions& options, const SimulationResult& result) {
  std::ostringstream out;
  out << "  " << left_aligned("", 14) << right_aligned("ended", 8)
      << right_aligned("first token", 20) << right_aligned("between tokens", 20)
      << right_aligned("whole", 14) << "\n  " << left_aligned("", 22);
  for (const char* title : {"p50", "p99", "p50", "p99", "p99"})
    out << right_aligned(title, kColumn);
  out << "\n  " << rule(kRuleWidth - 2) << '\n';
  for (std::size_t i = 0; i < simulate::kKindCount; ++i) {
    const KindResult& kind = result.kinds[i];
    out << "  " << left_aligned(std::string(to_string(static_cast<simulate::RequestKind>(i))), 14)
        << right_aligned(std::to_string(kind.n_ended), 8) << time_cell(kind.first_token.at(0.5))
        << time_cell(kind.first_token.at(0.99)) << time_cell(kind.inter_token.at(0.5))
        << time_cell(kind.inter_token.at(0.99)) << time_cell(kind.total.at(0.99)) << '\n';
  }
  out << "\n  batches by " << (options.by_count ? "count" : "tokens") << ", "
      << decimal(options.requests_per_second, 2) << " requests/s for "
      << decimal(result.seconds / 3600, 1) << " h, seed " << options.seed << "; "
      << result.n_refused << " of " << options.n_requests << " refused\n"
      << "  longest gap between two tokens:" << time_cell(result.inter_token.largest()) << '\n';
  return out.str();
}

}  // namespace tessera::cli
