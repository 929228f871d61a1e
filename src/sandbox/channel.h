// One end of a connected pair that carries messages and file descriptors between two processes
// (SEQPACKET: a message arrives whole or not at all). The other end may be hostile.
//
// A Channel owns its socket. Received descriptors are owned by the caller and close-on-exec.
// @thread one thread at a time per end
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "core/unique_fd.h"
#include "sandbox/stop_event.h"

namespace tessera::sandbox {

/// Most descriptors in one message. The kernel's own ceiling is 253.
inline constexpr std::size_t kFdsPerMessageMax = 128;

enum class IoStatus {
  kOk,
  kTimeout,    // the deadline passed
  kStopped,    // the stop event fired
  kClosed,     // the other end is gone
  kMalformed,  // wrong size, or more descriptors than allowed
  kFailed,     // the system refused, e.g. no descriptor left
};

struct WaitLimits {
  TimePoint deadline = TimePoint::max();  // max = no deadline
  const StopEvent* stop = nullptr;        // borrowed; may be null
};

/// May cross a process border as it is: plain bytes, none of them padding that would leak memory.
template <typename T>
concept PodMessage = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;

template <PodMessage T>
struct Received {
  IoStatus status = IoStatus::kFailed;
  T message{};                // only with kOk
  std::vector<UniqueFd> fds;  // only with kOk
};

struct ReceivedPacket {
  IoStatus status = IoStatus::kFailed;
  std::size_t n_bytes = 0;    // only with kOk
  std::vector<UniqueFd> fds;  // only with kOk
};

class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Two connected ends, both close-on-exec.
  /// @errors  unavailable
  static Result<std::pair<Channel, Channel>> make_pair();

  /// Sends one message whole. The descriptors stay the caller's.
  /// @param fds  ≤ kFdsPerMessageMax
  template <PodMessage T>
  [[nodiscard]] IoStatus send(const T& message, std::span<const int> fds,
                              const WaitLimits& wait = {}) {
    return send_bytes(std::as_bytes(std::span(&message, 1)), fds, wait);
  }

  /// Sends one message of any size that the kernel takes whole (≤ 64 KiB is safe).
  [[nodiscard]] IoStatus send_packet(std::span<const std::byte> message, std::span<const int> fds,
                                     const WaitLimits& wait = {}) {
    return send_bytes(message, fds, wait);
  }

  /// Receives one message into the beginning of `buffer`; a longer one is kMalformed.
  [[nodiscard]] ReceivedPacket receive_packet(std::span<std::byte> buffer, std::size_t n_fds_max,
                                              const WaitLimits& wait = {});

  /// Receives one message of exactly sizeof(T) bytes.
  /// @param n_fds_max  more than this in the message is kMalformed; ≤ kFdsPerMessageMax
  template <PodMessage T>
  [[nodiscard]] Received<T> receive(std::size_t n_fds_max, const WaitLimits& wait = {}) {
    Received<T> received;
    ReceivedPacket packet =
        receive_packet(std::as_writable_bytes(std::span(&received.message, 1)), n_fds_max, wait);
    received.status = packet.status;
    if (packet.status == IoStatus::kOk && packet.n_bytes != sizeof(T)) {
      received.status = IoStatus::kMalformed;
    }
    if (received.status == IoStatus::kOk) received.fds = std::move(packet.fds);
    return received;
  }

  int fd() const { return socket_.get(); }

  /// The other end sees the end of the conversation.
  void close() { socket_.reset(); }

 private:
  IoStatus send_bytes(std::span<const std::byte> message, std::span<const int> fds,
                      const WaitLimits& wait);

  UniqueFd socket_;
};

}  // namespace tessera::sandbox
