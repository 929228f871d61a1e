// What waits for the encoder, and in which order it is done.
//
// The unit is a tile with its key: requests that need the same features wait for one encode,
// whoever came first and whoever leaves. The next is the next tile of the request that has the
// fewest patches left, unless another has waited longer than kAgingWindow: then the one that waited
// longest is served, so that a stream of small images cannot hold up a large one for ever.
//
//   add ──▶ next ──▶ (the stage encodes) ──▶ finish, or fail
//
// Owns its requests until they are complete or end. Pure data: no thread, no clock, no encoder.
// @thread one at a time; the stage locks
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/digest.h"
#include "core/in_flight.h"

namespace tessera::encode {

/// How long a request may be overtaken by smaller ones. A few large tiles on a slow machine.
inline constexpr std::chrono::seconds kAgingWindow{5};

using Requests = std::vector<std::unique_ptr<InFlight>>;

class EncodeQueue {
 public:
  /// A tile that somebody waits for.
  struct WantedTile {
    Digest key;
    std::unique_ptr<PreparedTile> prepared;
    TenantId tenant;
    CachePolicy policy;
    int n_patches = 0;
    int n_tokens = 0;                // planned
    std::vector<InFlight*> waiters;  // each once
  };

  /// @param request  at least one of its embeddings is missing; those have tiles and keys
  /// @return         tiles that an earlier request already waits for
  int add(std::unique_ptr<InFlight> request, TimePoint now);

  /// The tile to encode now; null = nothing waits. Stays valid until finish(), fail() or take_if();
  /// requests that are added meanwhile may wait for it as well.
  WantedTile* next(TimePoint now);

  /// Gives the features to all who wait for them.
  /// @return  the requests that are complete now
  Requests finish(const WantedTile& tile, std::shared_ptr<const Embedding> embedding);

  /// Gives up on a tile.
  /// @return  the requests that waited for it
  Requests fail(const WantedTile& tile);

  /// Removes requests; tiles that nobody waits for any more go with them.
  template <typename Predicate>
  Requests take_if(Predicate&& wanted) {
    Requests taken;
    for (std::size_t i = 0; i < waiting_.size();) {
      if (wanted(*waiting_[i].request)) {
        taken.push_back(remove(i));
      } else {
        ++i;
      }
    }
    return taken;
  }

  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::unique_ptr<InFlight> request;
    TimePoint since;
    int n_patches_left = 0;
  };

  std::unique_ptr<InFlight> remove(std::size_t index);
  Requests remove_all(const std::vector<InFlight*>& requests);
  WantedTile* next_of(const InFlight& request);

  std::deque<Waiting> waiting_;  // in order of arrival; ≤ the stage's capacity
  std::unordered_map<Digest, std::unique_ptr<WantedTile>> wanted_;
};

/// Patches of the tile that a visual segment stands for.
int patches_of(const Prompt& prompt, const VisualSegment& segment);

/// Visual segments of a prompt, in order.
std::vector<const VisualSegment*> visual_segments(const Prompt& prompt);

}  // namespace tessera::encode
