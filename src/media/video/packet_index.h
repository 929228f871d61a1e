// Which packets of a video must be decoded to see some of its pictures. Pure.
//
// Packets come in decode order; pictures are shown in the order of their timestamps. A picture's
// *rank* is its place in the order of showing, from 0. Seeking is not left to the container's own
// tables: the packets from a key packet up to the last wanted one of its group form a range, and
// everything outside the ranges is skipped.
// @thread any
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::media::video {

struct PacketInfo {
  std::int64_t timestamp = 0;  // of showing; any unit
  std::int64_t duration = 0;   // ≥ 0; 0 = unknown
  bool is_key = false;         // decoding may start here
  bool is_shown = true;        // an edit list cuts pictures that others still need
};

inline constexpr std::int32_t kNotShown = -1;

/// Rank of each packet, in decode order; kNotShown for those that are not shown. Equal timestamps
/// keep their order.
std::vector<std::int32_t> ranks_of(std::span<const PacketInfo> packets);

/// Packets first … last, in decode order.
struct PacketRange {
  std::size_t first = 0;
  std::size_t last = 0;
  friend bool operator==(const PacketRange&, const PacketRange&) = default;
};

/// Ranges that decode to the wanted pictures, ascending, apart from each other.
/// @param ranks   those of ranks_of()
/// @param wanted  ranks, ascending, each of one packet
std::vector<PacketRange> ranges_for(std::span<const PacketInfo> packets,
                                    std::span<const std::int32_t> ranks,
                                    std::span<const std::uint32_t> wanted);

std::size_t n_packets(std::span<const PacketRange> ranges);

/// From the first shown picture to the end of the last; INT64_MAX when it does not fit.
std::int64_t shown_duration(std::span<const PacketInfo> packets);

}  // namespace tessera::media::video
