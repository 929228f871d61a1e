// Of the pictures that a decoder gives, those that are wanted: for each wanted rank the picture of
// that rank, or the one that is still on the screen then.
// @thread one thread at a time
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "media/codecs/codec.h"
#include "media/video/libav.h"
#include "media/video/packet_index.h"

namespace tessera::media::video {

class FramePicker {
 public:
  /// @param place  of the rank among the wanted ones
  using Sink = std::function<MediaError(const AVFrame& picture, std::size_t place)>;

  /// @param wanted  ranks, ascending; outlives the picker
  FramePicker(std::span<const std::uint32_t> wanted, Sink sink)
      : wanted_(wanted), sink_(std::move(sink)), held_(owned(::av_frame_alloc())) {}

  /// Pictures of one range come in ascending order of rank.
  MediaError take(const AVFrame& picture, std::uint32_t rank);

  /// The range has no more pictures: what is wanted up to its last rank is the last one.
  /// @return  kInvalid when it had none at all
  MediaError finish_range(std::uint32_t last_rank);

  bool is_complete() const { return n_done_ == wanted_.size(); }

 private:
  bool waits_up_to(std::uint32_t rank) const { return !is_complete() && wanted_[n_done_] <= rank; }
  MediaError give(const AVFrame& picture) { return sink_(picture, n_done_++); }

  std::span<const std::uint32_t> wanted_;
  Sink sink_;
  AvPtr<AVFrame> held_;  // on the screen; empty at the start of a range
  bool holds_ = false;
  std::size_t n_done_ = 0;
};

/// The highest rank in a range.
std::uint32_t last_rank(std::span<const std::int32_t> ranks, PacketRange range);

}  // namespace tessera::media::video
