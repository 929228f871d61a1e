// What a decoder of each class may use: memory, processor and wall clock, from the limits of a
// request. Pure.
// @thread any
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "core/limits.h"
#include "media/decoder_options.h"
#include "media/validate.h"
#include "media/wire.h"

namespace tessera::media {

/// RLIMIT_AS of a child. For images and HEIC from the largest picture that is allowed, for video
/// 2 GiB and the file: a decoder keeps up to 17 pictures of two bytes a sample.
std::uint64_t address_space_bytes(DecoderClass decoder_class, const Limits& limits);

/// RLIMIT_CPU of a child. The wall clock ends it earlier; this bounds a child whose server was
/// stopped by a debugger.
std::uint64_t cpu_seconds(DecoderClass decoder_class, const DecoderOptions& options,
                          const Limits& limits);

/// Time for decoding all of a request's files.
std::chrono::milliseconds decode_time(const DecoderOptions& options,
                                      std::span<const ProbedImage> probed);

}  // namespace tessera::media
