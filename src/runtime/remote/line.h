// One end of a line between the server and its engine process: calls go one way, answers the other,
// one at a time. A message is a header and a parcel; parcels of pixels and features, as all large
// ones, travel as sealed memfds. The server trusts nothing that comes.
// @thread one at a time
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/remote/messages.h"
#include "sandbox/channel.h"
#include "sandbox/memfd.h"

namespace tessera::runtime::remote {

/// Larger parcels cost less as a file in memory than as a message.
inline constexpr std::size_t kInlineBytesMax = 16 * std::size_t{1024};

/// Of a parcel: far above the pixels of one image and the features of one step.
inline constexpr std::size_t kParcelBytesMax = std::size_t{2} << 30;

/// How often a call that waits asks whether it is to stop.
inline constexpr std::chrono::milliseconds kStopLook{5};

/// The bytes of a parcel that came.
class Parcel {
 public:
  std::span<const std::byte> bytes() const {
    return region_ ? std::as_bytes(region_->bytes()) : std::span<const std::byte>(inline_);
  }

  /// @return  nothing when it does not hold exactly these
  template <typename T>
  std::optional<T> read() const {
    std::optional<T> value(std::in_place, blank<T>());
    ParcelReader reader(bytes());
    reader(*value);
    if (!reader.complete()) value.reset();
    return value;
  }

 private:
  friend class Line;
  template <typename T>
  static T blank() {
    if constexpr (std::default_initializable<T>) {
      return T{};
    } else {
      return T(Error{});
    }
  }

  std::vector<std::byte> inline_;
  std::optional<sandbox::MappedRegion> region_;
};

class Line {
 public:
  explicit Line(sandbox::Channel channel) : channel_(std::move(channel)) {}

  struct Incoming {
    Call call{};
    std::uint64_t number = 0;  // of the call
    Parcel parcel;
    std::vector<UniqueFd> fds;  // beside the parcel's own
  };

  // --- the server's end ---
  /// Calls and waits for the answer.
  /// @param stop      asked meanwhile, on this thread; the engine is told once
  /// @param fds       go along; stay the caller's
  /// @param deadline  max = as long as it takes
  /// @return          nothing: the engine is gone, late, or has broken the rules
  std::optional<Parcel> call(Call call, const ParcelWriter& arguments, const ShouldStop& stop = {},
                             std::span<const int> fds = {}, TimePoint deadline = TimePoint::max());

  // --- the engine's end ---
  /// @return  nothing: the server is gone
  std::optional<Incoming> next_call();
  bool answer(const Incoming& call, const ParcelWriter& value);
  /// Whether the server wants the call that runs to end, or is gone. Cheap enough to be asked
  /// between the nodes of a graph: looks no more often than every kStopLook.
  bool stop_asked();

  /// The line ends; its socket goes on.
  sandbox::Channel take_channel() && { return std::move(channel_); }

 private:
  bool send(Call call, std::uint64_t number, std::span<const std::byte> parcel,
            std::span<const int> fds);
  sandbox::IoStatus receive(Incoming& incoming, const sandbox::WaitLimits& wait);

  sandbox::Channel channel_;
  std::uint64_t number_ = 0;  // of the last call
  TimePoint next_look_{};
  bool stop_asked_ = false;
};

}  // namespace tessera::runtime::remote
