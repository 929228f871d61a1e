// Memory for prepared tiles and features, between the plan of a request and its prefill. A request
// takes what it needs at once, or waits here until others have given theirs back.
//
// Nobody waits for ever: a request that needs more than there is was refused; whoever holds bytes
// needs nothing more from here to go on; and of those who wait for what others hold, the one that
// came first is served first. Of one tenant, nobody overtakes. A tenant that holds all it may have
// waits alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/limits.h"
#include "core/result.h"
#include "media/media_request.h"

namespace tessera::media {

/// @thread all methods are thread-safe
class VisionRoom {
 public:
  /// Takes a request that has waited: it holds its bytes now, or its request was cancelled or is
  /// late. On whatever thread gave bytes back, perhaps under a lock of its own.
  using GoOn = std::function<void(MediaRequest)>;

  /// @param clock  outlives the room, and whatever holds bytes
  VisionRoom(const Limits& limits, const Clock& clock, GoOn go_on);
  ~VisionRoom();

  /// Gives the request's request its tile_holds and feature_holds, or keeps the request until it
  /// can.
  /// @return  whether the request may go on now; else it was moved from
  /// @errors  too_large, request untouched (more than there is, or than one tenant may have)
  Result<bool> enter(MediaRequest& taken);

  /// Lets nobody go on any more. Idempotent.
  /// @return  those who wait
  std::vector<MediaRequest> close();

  std::size_t n_waiting() const;
  std::size_t n_bytes_held() const;

 private:
  class Books;
  struct Hold;
  const std::shared_ptr<Books> books_;  // holds may outlive the room
};

}  // namespace tessera::media
