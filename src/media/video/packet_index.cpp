#include "media/video/packet_index.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera::media::video {
namespace {

/// Where decoding starts for one packet: at the last key packet before it that is not shown after
/// it. (Pictures that follow a key packet but are shown before it need the group before.)
std::size_t start_of(std::span<const PacketInfo> packets, std::size_t wanted) {
  for (std::size_t i = wanted; i > 0; --i) {
    if (packets[i].is_key && packets[i].timestamp <= packets[wanted].timestamp) return i;
  }
  return 0;
}

}  // namespace

std::vector<std::int32_t> ranks_of(std::span<const PacketInfo> packets) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].is_shown) order.push_back(static_cast<std::uint32_t>(i));
  }
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(packets[i].timestamp, i); });
  std::vector<std::int32_t> ranks(packets.size(), kNotShown);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    ranks[order[rank]] = static_cast<std::int32_t>(rank);
  }
  return ranks;
}

std::vector<PacketRange> ranges_for(std::span<const PacketInfo> packets,
                                    std::span<const std::int32_t> ranks,
                                    std::span<const std::uint32_t> wanted) {
  std::vector<PacketRange> ranges;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const bool is_wanted =
        ranks[i] >= 0 && std::ranges::binary_search(wanted, static_cast<std::uint32_t>(ranks[i]));
    if (!is_wanted) continue;
    PacketRange range{start_of(packets, i), i};
    // In decode order, a later packet starts no earlier than the range that it meets.
    while (!ranges.empty() && range.first <= ranges.back().last) {
      range.first = std::min(range.first, ranges.back().first);
      ranges.pop_back();
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::size_t n_packets(std::span<const PacketRange> ranges) {
  std::size_t n = 0;
  for (const PacketRange& range : ranges) n += range.last - range.first + 1;
  return n;
}

std::int64_t shown_duration(std::span<const PacketInfo> packets) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  bool is_any = false;
  std::int64_t first = 0;
  std::int64_t end = 0;
  for (const PacketInfo& packet : packets) {
    if (!packet.is_shown) continue;
    std::int64_t packet_end = 0;
    if (__builtin_add_overflow(packet.timestamp, packet.duration, &packet_end)) return kMost;
    first = is_any ? std::min(first, packet.timestamp) : packet.timestamp;
    end = is_any ? std::max(end, packet_end) : packet_end;
    is_any = true;
  }
  std::int64_t length = 0;
  return __builtin_sub_overflow(end, first, &length) ? kMost : length;
}

}  // namespace tessera::media::video
