// Pictures that move: which of their frames are shown, and as what. Pure functions.
// @thread any
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/request.h"

namespace tessera::media {

/// min(n_wanted, n_frames) frames at equal distances, ascending, each once: the first, and with
/// more than one the last.
/// @param n_frames  of the file; ≥ 1
/// @param n_wanted  ≥ 1
std::vector<std::uint32_t> sample_frames(int n_frames, int n_wanted);

/// Puts an image part for each frame where one part named the file: to the model, frames are images
/// that follow each other.
/// @param n_frames  of each item of the request's media, ≥ 1
void show_frames(std::vector<Message>& messages, std::span<const std::size_t> n_frames);

}  // namespace tessera::media
