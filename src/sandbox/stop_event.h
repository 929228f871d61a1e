// A std::stop_token that poll() can wait for: an eventfd which a stop request makes readable.
//
// Immovable, because the stop callback holds its address. Destroying it waits for a running
// callback.
// @thread create, destroy and fd() on the owner's thread; the stop request comes from any thread
#pragma once

#include <memory>
#include <stop_token>

#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::sandbox {

class StopEvent {
 public:
  /// @errors  unavailable (no file descriptor left)
  static Result<std::unique_ptr<StopEvent>> create(std::stop_token stop);

  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  /// Readable from the stop request on, forever.
  int fd() const { return fd_.get(); }

 private:
  struct Notify {
    int fd;
    void operator()() const noexcept;
  };

  StopEvent(UniqueFd fd, std::stop_token stop)
      : fd_(std::move(fd)), callback_(std::move(stop), Notify{fd_.get()}) {}

  UniqueFd fd_;
  std::stop_callback<Notify> callback_;  // after fd_: unregistered before the descriptor closes
};

}  // namespace tessera::sandbox
