// What waits for the encoder, and in which order it is done.
//
// The unit is a tile with its key: requests that need the same features wait for one encode,
// whoever came first and whoever leaves. Tenants take turns by the patches that they have had
// (TenantTurns), so that nobody's images wait for more of another's than their own share. Of one
// tenant, the next is the next tile of the request that has the fewest patches left, unless its
// oldest has waited longer than kAgingWindow: then that one is served, so that a stream of small
// images cannot hold up a large one for ever. Tiles of the same shape join it, anybody's, as long
// as their patches fit into one step.
//
//   add ──▶ next ──▶ (the stage encodes) ──▶ finish, or fail
//
// Owns a request until its first missing tile is there. Then the request goes on, and the features
// of its other tiles follow it (arriving_features.h). Because the fewest patches come first, a
// request that has gone on is mostly the one whose tiles come next: few hold a place in the engine
// while they wait.
//
// Pure data: no thread, no clock, no encoder.
// @thread one at a time; the stage locks
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/arriving_features.h"
#include "core/clock.h"
#include "core/digest.h"
#include "core/in_flight.h"
#include "core/tenant_turns.h"
#include "encode/encode_times.h"

namespace tessera::encode {

/// How long a request may be overtaken by smaller ones of its tenant. A few large tiles on a slow
/// machine.
inline constexpr std::chrono::seconds kAgingWindow{5};

/// Tiles of one step: bounds what a step costs beside its patches, and how many leave at once.
inline constexpr std::size_t kStepTilesMax = 64;

using Requests = std::vector<std::unique_ptr<InFlight>>;

/// Tiles of equal shapes are preprocessed to the same width and height. Of images in several tiles
/// only those of equal images are known to be.
struct TileShape {
  ImageSize planned;  // of the image
  int n_tiles = 0;    // of the image
  int n_tokens = 0;   // of the tile
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

class EncodeQueue {
 public:
  /// A request of which tiles are missing.
  struct Waiter {
    TenantId tenant;
    std::unique_ptr<InFlight> request;                    // until its first tile is there,
    std::shared_ptr<ArrivingFeatures> arriving;           // from then on
    std::shared_ptr<void> tile_holds;                     // InFlight::tile_holds
    std::vector<std::pair<std::size_t, Digest>> missing;  // visual segments, in order
    TimePoint since;
    int n_patches_left = 0;

    /// Stops when nobody waits for it any more.
    std::stop_token unwanted() const { return request ? request->stop : arriving->unwanted(); }
  };

  /// A tile that somebody waits for.
  struct WantedTile {
    Digest key;
    std::unique_ptr<PreparedTile> prepared;
    TenantId tenant;
    CachePolicy policy;
    TileShape shape;
    int n_patches = 0;
    std::vector<Waiter*> waiters;  // each once
  };
  using Step = std::vector<WantedTile*>;

  /// @param wake  of the features that arrive after their request
  explicit EncodeQueue(ArrivingFeatures::Wake wake) : wake_(std::move(wake)) {}

  struct Added {
    Waiter* waiter = nullptr;
    int n_shared = 0;  // tiles that an earlier request already waits for
  };
  /// @param request  at least one of its embeddings is missing; those have tiles and keys
  Added add(std::unique_ptr<InFlight> request, TimePoint now);

  /// The tiles to encode now, of one shape, which count as had; none = nothing waits. They stay
  /// valid until finish(), fail(), take_stopped() or clear(); requests that are added meanwhile may
  /// wait for them as well.
  /// @param n_patches_max  of all tiles, if there are several
  Step next(TimePoint now, int n_patches_max);

  /// Gives the features of a tile to all who wait for them. No effect when nobody does.
  /// @return  the requests that go on now
  Requests finish(const Digest& key, const std::shared_ptr<const Embedding>& embedding);

  /// Gives up on a tile. Tells those that have gone on. No effect when nobody waits for it.
  /// @return  the requests here that waited for it
  Requests fail(const Digest& key, const Error& error);

  struct Stopped {
    std::unique_ptr<InFlight> request;
    Error reason;
  };
  /// Removes those that nobody waits for any more, or whose time is over, or will be before their
  /// tiles are encoded; tiles that nobody waits for then go with them. Between two steps.
  /// @return  the requests here among them
  std::vector<Stopped> take_stopped(TimePoint now, const EncodeTimes& times);

  /// Removes all. Tells those that have gone on.
  /// @return  the requests here
  Requests clear(const Error& error);

  std::size_t size() const { return waiting_.size(); }

 private:
  void deliver(Waiter& waiter, const WantedTile& tile,
               const std::shared_ptr<const Embedding>& embedding);
  std::unique_ptr<InFlight> go_on(Waiter& waiter);
  std::unique_ptr<InFlight> remove(Waiter& waiter);
  std::vector<Waiter*> in_order(TimePoint now);

  const ArrivingFeatures::Wake wake_;
  std::list<Waiter> waiting_;  // in order of arrival; ≤ the stage's capacity
  std::unordered_map<Digest, std::unique_ptr<WantedTile>> wanted_;
  TenantTurns turns_;  // in patches
};

/// Patches of the tile that a visual segment stands for.
int patches_of(const Prompt& prompt, const VisualSegment& segment);

/// Visual segments of a prompt, in order.
std::vector<const VisualSegment*> visual_segments(const Prompt& prompt);

}  // namespace tessera::encode
