// What the server and a decode worker say to each other: fixed-size messages without padding,
// strings or pointers. Both come from one build; the version guards against a mix-up on disk.
//
// One worker serves the items of one class (decoder_class.h).
//
//   server                                   worker
//   OpenRequest + one input fd per item  ─▶  locks itself down
//                                        ◀─  ProbeReply, one per item, in order (headers only)
//   DecodePlan(i) + output fd            ─▶
//                                        ◀─  DecodeReply(i); the output's mapping is gone by then
//   closes its end                       ─▶  exits
//
// The server trusts nothing in a reply: validate.h re-checks each field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "media/sniff.h"

namespace tessera::media::wire {

inline constexpr std::uint32_t kVersion = 3;

/// Files of one request. Above any Limits::images_max that makes sense; one message carries them
/// all (kernel: 253 descriptors a message).
inline constexpr std::size_t kItemsMax = 64;

/// Frames taken of one picture that moves. Each is an image to the model; more than these fit no
/// context length.
inline constexpr std::size_t kFramesMax = 64;

enum class Kind : std::uint32_t { kOpen = 0x544D4F31, kProbed, kPlan, kDecoded };

/// Why an item was refused. Closed: a value outside is a broken worker.
enum class MediaError : std::uint32_t {
  kNone = 0,
  kUnsupportedFormat,   // none of ours
  kUnsupportedVariant,  // of a known format, e.g. a 12-bit or lossless JPEG
  kInvalid,             // truncated or corrupt
  kSideTooLarge,
  kPixelsTooMany,
  kAspectTooLarge,
  kScansTooMany,   // progressive JPEG: time grows with scans, not with bytes
  kFramesTooMany,  // of a picture that moves and is to be sampled
  kOutOfMemory,    // the worker's own ceiling
  kWorkerFailed,   // a message or descriptor did not fit; a bug on one side
  kTooLong,        // a video, by its timestamps
};
inline constexpr std::uint32_t kMediaErrorCount = 12;

struct Header {
  Kind kind{};
  std::uint32_t version = kVersion;
  std::uint32_t index = 0;  // of the item in its request
  std::uint32_t reserved = 0;
};

/// Ceilings that the worker enforces before it allocates a raster.
struct ImageLimits {
  std::int64_t pixels_max = 0;  // width · height
  std::int32_t side_max = 0;    // pixels
  std::int32_t aspect_max = 0;  // longer side / shorter side
  std::int32_t scans_max = 0;   // of a JPEG
  std::int32_t frames_max = 0;  // that a file may have when it is to be sampled
  // Metadata is a correction, not content: beyond these sizes it counts as absent.
  std::uint32_t icc_bytes_max = 0;
  std::uint32_t exif_bytes_max = 0;
  std::int64_t duration_ms_max = 0;  // of a video
  friend bool operator==(const ImageLimits&, const ImageLimits&) = default;
};

struct OpenRequest {
  Header header{Kind::kOpen};
  ImageLimits limits;
  std::uint64_t address_space_bytes = 0;
  std::uint64_t cpu_seconds = 0;
  std::uint64_t n_items = 0;  // ≤ kItemsMax; as many descriptors come with the message
  std::array<std::uint64_t, kItemsMax> size_bytes{};
  std::array<std::uint32_t, kItemsMax> index{};            // of each in its request, ascending
  std::array<std::uint32_t, kItemsMax> n_frames_wanted{};  // 1 ≤ n ≤ kFramesMax
};

struct ProbeReply {
  Header header{Kind::kProbed};
  MediaError error = MediaError::kNone;
  MediaFormat format{};    // 0 with kUnsupportedFormat
  std::int32_t width = 0;  // after orientation; also with an error, when known
  std::int32_t height = 0;
  std::int32_t n_scans = 0;   // 1 except for JPEG
  std::int32_t n_frames = 0;  // in the file when more than one is wanted, else 1
  std::int32_t n_passed = 0;  // frames that decoding goes through for those that are wanted
  std::uint32_t reserved = 0;
  std::int64_t duration_ms = 0;  // of a video; also with kTooLong
};

struct DecodePlan {
  Header header{Kind::kPlan};
  std::int32_t target_width = 0;  // no longer than the probed size
  std::int32_t target_height = 0;
  std::uint32_t n_frames = 0;  // 1 ≤ n ≤ kFramesMax
  std::uint32_t reserved = 0;
  std::array<std::uint32_t, kFramesMax> frames{};  // ascending, the first is 0
};

/// Pixels are at offset 0 of the output: [n_frames][height][width][3] u8 sRGB, no padding.
struct DecodeReply {
  Header header{Kind::kDecoded};
  MediaError error = MediaError::kNone;
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t n_channels = 0;  // 3
  std::uint64_t row_bytes = 0;  // width · 3
  std::uint32_t n_frames = 0;   // as planned
  std::uint32_t reserved = 0;
};

}  // namespace tessera::media::wire
