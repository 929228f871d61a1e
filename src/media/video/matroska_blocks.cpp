#include "media/video/matroska_blocks.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tessera::media::video {
namespace {

// Element ids, with the bits that tell their length. RFC 9559 §5.
constexpr std::uint64_t kSegment = 0x18538067;
constexpr std::uint64_t kTracks = 0x1654AE6B;
constexpr std::uint64_t kTrackEntry = 0xAE;
constexpr std::uint64_t kTrackNumber = 0xD7;
constexpr std::uint64_t kTrackType = 0x83;
constexpr std::uint64_t kCluster = 0x1F43B675;
constexpr std::uint64_t kBlockGroup = 0xA0;
constexpr std::uint64_t kSimpleBlock = 0xA3;
constexpr std::uint64_t kBlock = 0xA1;

constexpr std::uint64_t kVideoTrack = 1;

/// These are walked into, which their sizes do not matter for: live streams have none.
bool has_children(std::uint64_t id) {
  return id == kSegment || id == kTracks || id == kTrackEntry || id == kCluster ||
         id == kBlockGroup;
}

class Walk {
 public:
  explicit Walk(Bytes rest) : rest_(rest) {}

  bool is_done() const { return rest_.empty(); }

  /// A number of one to eight bytes, the first of which tells how many by its leading zeros.
  /// @param keeps_mark  with the bit behind those zeros, as ids are written
  std::optional<std::uint64_t> number(bool keeps_mark) {
    if (rest_.empty() || rest_.front() == 0) return {};
    const auto n_bytes = static_cast<std::size_t>(std::countl_zero(rest_.front())) + 1;
    if (n_bytes > rest_.size()) return {};
    std::uint64_t value = rest_.front();
    if (!keeps_mark) value &= 0xFFU >> n_bytes;
    for (std::size_t i = 1; i < n_bytes; ++i) value = value << 8U | rest_[i];
    rest_ = rest_.subspan(n_bytes);
    return value;
  }

  /// The next bytes; fewer at the file's end.
  Bytes take(std::uint64_t n_bytes) {
    const std::size_t n = n_bytes < rest_.size() ? static_cast<std::size_t>(n_bytes) : rest_.size();
    const Bytes taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }

 private:
  Bytes rest_;
};

std::uint64_t unsigned_value(Bytes content) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : content) value = value << 8U | byte;
  return value;
}

/// Finds the number of the first track that is video.
class Tracks {
 public:
  void begin_entry() { number_ = type_ = 0; }

  void take(std::uint64_t id, Bytes content) {
    if (id == kTrackNumber) number_ = unsigned_value(content);
    if (id == kTrackType) type_ = unsigned_value(content);
    if (video_ == 0 && type_ == kVideoTrack) video_ = number_;
  }

  /// 0 = none so far; no track has this number.
  std::uint64_t video() const { return video_; }

 private:
  std::uint64_t number_ = 0;
  std::uint64_t type_ = 0;
  std::uint64_t video_ = 0;
};

}  // namespace

int count_video_blocks(Bytes file, int n_max) {
  Walk walk(file);
  Tracks tracks;
  int n_blocks = 0;
  while (!walk.is_done() && n_blocks < n_max) {
    const auto id = walk.number(true);
    const auto size = id ? walk.number(false) : std::nullopt;
    if (!size) break;
    if (*id == kTrackEntry) tracks.begin_entry();
    if (has_children(*id)) continue;
    const Bytes content = walk.take(*size);
    if (*id == kTrackNumber || *id == kTrackType) tracks.take(*id, content);
    if (*id != kSimpleBlock && *id != kBlock) continue;
    const auto track = Walk(content).number(false);
    if (track && *track != 0 && *track == tracks.video()) ++n_blocks;
  }
  return n_blocks;
}

}  // namespace tessera::media::video
