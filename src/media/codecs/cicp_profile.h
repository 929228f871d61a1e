// ICC profiles for colour that a file describes by code points (primaries, transfer) instead.
// @source ITU-T H.273 tables 2 and 3
// @thread any; no shared state
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::media {

/// Empty when pixels can be taken as sRGB: its code points, unknown ones, and the camera curves of
/// television, which displays show by a curve close to sRGB's.
/// High dynamic range (PQ, HLG) is cut at reference white, as on a display that has no more.
std::vector<std::uint8_t> cicp_profile(int primaries, int transfer);

}  // namespace tessera::media
