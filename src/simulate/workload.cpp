#include "simulate/workload.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::simulate {
namespace {

constexpr std::array<std::string_view, kKindCount> kNames{"short text", "known image", "new image",
                                                          "many images"};

/// The standard's engines are the same everywhere, its distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// In (0, 1].
  double part() { return (static_cast<double>(engine_() >> 11) + 1) / 9007199254740992.0; }
  int between(int least, int most) {
    const auto n = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<int>(engine_() % n);
  }

 private:
  std::mt19937_64 engine_;
};

RequestKind kind_at(const std::array<int, kKindCount>& parts, int place) {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (place < parts[i]) return static_cast<RequestKind>(i);
    place -= parts[i];
  }
  return RequestKind::kShortText;
}

SimulatedRequest make_request(RequestKind kind, int n_output_max, Random& random) {
  SimulatedRequest request;
  request.kind = kind;
  request.n_text_tokens = random.between(8, 120);
  request.n_output_tokens = random.between(8, std::max(n_output_max, 8));
  switch (kind) {
    case RequestKind::kShortText:
      break;
    case RequestKind::kKnownImage:
      request.n_tiles = kImageTiles;
      break;
    case RequestKind::kNewImage:
      request.n_tiles = request.n_missing = kImageTiles;
      break;
    case RequestKind::kManyImages:
      request.n_tiles = request.n_missing = kImageTiles * random.between(2, 4);
      break;
  }
  return request;
}

}  // namespace

std::string_view to_string(RequestKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<SimulatedRequest> make_workload(const WorkloadOptions& options) {
  Random random(options.seed);
  std::vector<SimulatedRequest> requests;
  requests.reserve(options.n_requests);
  double now = 0;
  for (std::size_t i = 0; i < options.n_requests; ++i) {
    now -= std::log(random.part()) / options.requests_per_second;
    requests.push_back(
        make_request(kind_at(options.parts, random.between(0, 99)), options.n_output_max, random));
    requests.back().arrival = now;
  }
  return requests;
}

}  // namespace tessera::simulate
