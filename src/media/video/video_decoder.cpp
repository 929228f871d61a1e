#include "media/video/video_decoder.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "media/frames.h"
#include "media/validate.h"
#include "media/video/demuxer.h"
#include "media/video/display_matrix.h"
#include "media/video/frame_picker.h"
#include "media/video/packet_index.h"
#include "media/video/picture_decoder.h"
#include "media/video/picture_size.h"
#include "media/video/picture_writer.h"

namespace tessera::media::video {
namespace {

ImageSize claimed_size(const AVStream& stream) {
  return {stream.codecpar->width, stream.codecpar->height};
}

Orientation orientation_of_track(const AVStream& stream) {
  std::size_t n_bytes = 0;
  const std::uint8_t* const bytes =
      ::av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &n_bytes);
  std::array<std::int32_t, 9> matrix{};
  if (bytes == nullptr || n_bytes < sizeof(matrix)) return Orientation::kUpright;
  std::copy_n(bytes, sizeof(matrix), reinterpret_cast<std::uint8_t*>(matrix.data()));
  return orientation_of(matrix);
}

struct Index {
  MediaError error = MediaError::kNone;
  std::vector<PacketInfo> packets;  // ≤ frames_max
  std::vector<std::int32_t> ranks;
  int n_frames = 0;  // that are shown
  std::int64_t duration_ms = 0;
};

PacketInfo info_of(const AVPacket& packet, std::int64_t last_timestamp) {
  PacketInfo info;
  info.timestamp = packet.pts != kNoTimestamp ? packet.pts : packet.dts;
  if (info.timestamp == kNoTimestamp) info.timestamp = last_timestamp;
  info.duration = std::max<std::int64_t>(packet.duration, 0);
  info.is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  info.is_shown = (packet.flags & AV_PKT_FLAG_DISCARD) == 0;
  return info;
}

std::int64_t milliseconds_of(std::int64_t duration, AVRational unit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (duration == kMost || unit.num <= 0 || unit.den <= 0) return kMost;
  const std::int64_t scaled = ::av_rescale_q(duration, unit, {1, 1000});
  return scaled < 0 ? kMost : scaled;
}

Index read_index(Demuxer& demuxer, const wire::ImageLimits& limits) {
  Index index;
  // Reading a packet costs a copy; that there are too many is often known before.
  if (demuxer.n_listed(limits.frames_max + 1) > limits.frames_max) {
    index.error = MediaError::kFramesTooMany;
    return index;
  }
  std::int64_t last_timestamp = 0;
  while (const AVPacket* packet = demuxer.next()) {
    if (index.packets.size() >= static_cast<std::size_t>(limits.frames_max)) {
      index.error = MediaError::kFramesTooMany;
      return index;
    }
    index.packets.push_back(info_of(*packet, last_timestamp));
    last_timestamp = index.packets.back().timestamp;
  }
  index.error = demuxer.error();
  if (index.error != MediaError::kNone) return index;
  index.ranks = ranks_of(index.packets);
  index.n_frames = static_cast<int>(
      std::ranges::count_if(index.ranks, [](std::int32_t rank) { return rank != kNotShown; }));
  index.duration_ms = milliseconds_of(shown_duration(index.packets), demuxer.stream().time_base);
  if (index.n_frames == 0) index.error = MediaError::kInvalid;
  if (index.duration_ms > limits.duration_ms_max) index.error = MediaError::kTooLong;
  return index;
}

/// What a decoder may take for a picture: the shown size, and what codecs and libavcodec's rows add
/// to it, of which 64 is the most each.
std::int64_t decoder_pixels(ImageSize shown) {
  constexpr std::int64_t kUnit = 128;
  const auto padded = [](int side) { return (side + kUnit - 1) / kUnit * kUnit; };
  return padded(shown.width) * padded(shown.height);
}

/// Decodes the ranges that the wanted frames need, from a file that was indexed before.
/// @param size  of every picture, others are not decoded; nothing while nobody knows it
MediaError decode_ranges(Bytes file, const Index& index, std::span<const std::uint32_t> wanted,
                         const wire::ImageLimits& limits, std::optional<ImageSize> size,
                         FramePicker& picker) {
  Demuxer demuxer(file);
  if (demuxer.error() != MediaError::kNone) return demuxer.error();
  PictureDecoder decoder(demuxer.stream(), size ? decoder_pixels(*size) : limits.pixels_max);
  if (decoder.error() != MediaError::kNone) return decoder.error();
  SizeReader sizes(demuxer.stream());
  const PictureDecoder::Sink sink = [&picker](const AVFrame& picture, std::int32_t rank) {
    return picker.take(picture, static_cast<std::uint32_t>(rank));
  };
  std::size_t at = 0;  // of the demuxer
  for (const PacketRange& range : ranges_for(index.packets, index.ranks, wanted)) {
    MediaError error = MediaError::kNone;
    for (; at <= range.last && error == MediaError::kNone; ++at) {
      const AVPacket* const packet = demuxer.next();
      if (packet == nullptr) return MediaError::kInvalid;
      if (at < range.first) continue;
      if (size && index.packets[at].is_key && sizes.read(*packet).value_or(*size) != *size) {
        return MediaError::kUnsupportedVariant;
      }
      error = decoder.decode(*packet, index.ranks[at], sink);
    }
    if (error == MediaError::kNone) error = decoder.finish_range(sink);
    if (error == MediaError::kNone) error = picker.finish_range(last_rank(index.ranks, range));
    if (error != MediaError::kNone) return error;
  }
  return picker.is_complete() ? MediaError::kNone : MediaError::kInvalid;
}

constexpr std::array<std::uint32_t, 1> kFirst{0};

/// The size of the first picture, which the container may not tell, or not truly: by the picture's
/// headers, and where they do not tell, by decoding it.
MediaError find_size(Bytes file, const Index& index, const wire::ImageLimits& limits,
                     ImageSize& size) {
  Demuxer demuxer(file);
  if (demuxer.error() != MediaError::kNone) return demuxer.error();
  SizeReader sizes(demuxer.stream());
  const auto ranges = ranges_for(index.packets, index.ranks, kFirst);
  const std::size_t key = ranges.empty() ? 0 : ranges.front().first;
  const AVPacket* packet = demuxer.next();
  for (std::size_t at = 0; at < key && packet != nullptr; ++at) packet = demuxer.next();
  if (packet == nullptr) return MediaError::kInvalid;
  if (const auto told = sizes.read(*packet)) {
    size = *told;
    return MediaError::kNone;
  }
  FramePicker picker(kFirst, [&size](const AVFrame& picture, std::size_t /*place*/) {
    size = {picture.width, picture.height};
    return MediaError::kNone;
  });
  return decode_ranges(file, index, kFirst, limits, {}, picker);
}

Probe probe(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) {
  Probe found;
  ImageHeader& header = found.header;
  Demuxer demuxer(file);
  header.error = demuxer.error();
  if (header.error == MediaError::kUnsupportedFormat) return found;
  header.format = MediaFormat::kVideo;
  if (header.error != MediaError::kNone) return found;
  header.orientation = orientation_of_track(demuxer.stream());
  header.stored = claimed_size(demuxer.stream());
  // A container may leave the size to the stream.
  if (header.stored != ImageSize{}) header.error = check_size(header.stored, limits);
  if (header.error != MediaError::kNone) return found;

  const Index index = read_index(demuxer, limits);
  found.duration_ms = index.duration_ms;
  header.error = index.error;
  if (header.error == MediaError::kNone) {
    header.error = find_size(file, index, limits, header.stored);
  }
  if (header.error == MediaError::kNone) header.error = check_size(header.stored, limits);
  if (header.error != MediaError::kNone) return found;
  found.n_frames = index.n_frames;
  const auto wanted = sample_frames(index.n_frames, std::max(n_frames_wanted, 1));
  found.n_passed = static_cast<int>(n_packets(ranges_for(index.packets, index.ranks, wanted)));
  return found;
}

MediaError decode(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                  std::span<const std::uint32_t> frames, std::span<std::uint8_t> out) {
  Demuxer demuxer(file);
  if (demuxer.error() != MediaError::kNone) return demuxer.error();
  const Index index = read_index(demuxer, limits);
  if (index.error != MediaError::kNone) return index.error;
  const bool ascends =
      !frames.empty() && std::ranges::adjacent_find(frames, std::greater_equal{}) == frames.end();
  if (!ascends || frames.back() >= static_cast<std::uint32_t>(index.n_frames)) {
    return MediaError::kWorkerFailed;
  }
  ImageSize stored;
  const MediaError error = find_size(file, index, limits, stored);
  if (error != MediaError::kNone) return error;
  const Orientation orientation = orientation_of_track(demuxer.stream());
  const ImageSize whole = oriented(stored, orientation);
  const std::size_t n_bytes = rgb_bytes(target);
  const bool fits = target.width >= 1 && target.width <= whole.width && target.height >= 1 &&
                    target.height <= whole.height && out.size() == frames.size() * n_bytes;
  if (!fits || check_size(stored, limits) != MediaError::kNone) return MediaError::kWorkerFailed;

  PictureWriter writer(stored, orientation, target);
  FramePicker picker(frames, [&](const AVFrame& picture, std::size_t place) {
    return writer.write(picture, out.subspan(place * n_bytes, n_bytes));
  });
  return decode_ranges(file, index, frames, limits, stored, picker);
}

}  // namespace

Decoder video_decoder() {
  return {probe_video, decode_video};
}

Probe probe_video(Bytes file, int n_frames_wanted, const wire::ImageLimits& limits) noexcept {
  try {
    return probe(file, n_frames_wanted, limits);
  } catch (const std::bad_alloc&) {
    return {refused(MediaFormat::kVideo, MediaError::kOutOfMemory)};
  } catch (...) {
    return {refused(MediaFormat::kVideo, MediaError::kWorkerFailed)};
  }
}

MediaError decode_video(Bytes file, const wire::ImageLimits& limits, ImageSize target,
                        std::span<const std::uint32_t> frames,
                        std::span<std::uint8_t> out) noexcept {
  try {
    return decode(file, limits, target, frames, out);
  } catch (const std::bad_alloc&) {
    return MediaError::kOutOfMemory;
  } catch (...) {
    return MediaError::kWorkerFailed;
  }
}

}  // namespace tessera::media::video
