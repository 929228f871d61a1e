// Made-up requests as they might come to a server: four kinds, at random times, the same for the
// same seed.
// @thread any; values
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace tessera::simulate {

enum class RequestKind { kShortText, kKnownImage, kNewImage, kManyImages };

inline constexpr std::size_t kKindCount = 4;

/// "short text", …; for people and, with underscores, in JSON.
std::string_view to_string(RequestKind kind);

/// A shape of SmolVLM's: an image of a usual size is sixteen tiles and an overview.
inline constexpr int kTileTokens = 64;
inline constexpr int kImageTiles = 17;

struct SimulatedRequest {
  double arrival = 0;  // seconds
  RequestKind kind = RequestKind::kShortText;
  int n_text_tokens = 1;  // after the images
  int n_tiles = 0;        // of kTileTokens visual tokens each
  int n_missing = 0;      // of the tiles: to be encoded
  int n_output_tokens = 1;
  TenantId tenant{};
};

struct WorkloadOptions {
  std::size_t n_requests = 10'000;
  double requests_per_second = 1;  // arrivals are a Poisson process
  std::uint64_t seed = 1;
  std::array<int, kKindCount> parts{70, 15, 12, 3};  // of each kind, in hundred
  int n_output_max = 120;                            // tokens; eight at least
};

/// In the order of their arrival.
std::vector<SimulatedRequest> make_workload(const WorkloadOptions& options);

}  // namespace tessera::simulate
