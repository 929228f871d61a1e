// What the server and a decode worker say to each other: fixed-size messages without padding,
// strings or pointers. Both come from one build; the version guards against a mix-up on disk.
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

inline constexpr std::uint32_t kVersion = 1;

/// Files of one request. Above any Limits::images_max that makes sense; one message carries them
/// all (kernel: 253 descriptors a message).
inline constexpr std::size_t kItemsMax = 64;

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
  kScansTooMany,  // progressive JPEG: time grows with scans, not with bytes
  kOutOfMemory,   // the worker's own ceiling
  kWorkerFailed,  // a message or descriptor did not fit; a bug on one side
};
inline constexpr std::uint32_t kMediaErrorCount = 10;

struct Header {
  Kind kind{};
  std::uint32_t version = kVersion;
  std::uint32_t index = 0;  // of the item
  std::uint32_t reserved = 0;
};

/// Ceilings that the worker enforces before it allocates a raster.
struct ImageLimits {
  std::int64_t pixels_max = 0;  // width · height
  std::int32_t side_max = 0;    // pixels
  std::int32_t aspect_max = 0;  // longer side / shorter side
  friend bool operator==(const ImageLimits&, const ImageLimits&) = default;
};

struct OpenRequest {
  Header header{Kind::kOpen};
  ImageLimits limits;
  std::uint64_t address_space_bytes = 0;
  std::uint64_t cpu_seconds = 0;
  std::uint64_t n_items = 0;  // ≤ kItemsMax; as many descriptors come with the message
  std::array<std::uint64_t, kItemsMax> size_bytes{};
};

struct ProbeReply {
  Header header{Kind::kProbed};
  MediaError error = MediaError::kNone;
  MediaFormat format{};    // 0 with kUnsupportedFormat
  std::int32_t width = 0;  // after orientation; also with an error, when known
  std::int32_t height = 0;
  std::int32_t n_scans = 0;  // 1 except for JPEG
  std::uint32_t reserved = 0;
};

struct DecodePlan {
  Header header{Kind::kPlan};
  std::int32_t target_width = 0;  // today the probed size; a resizing worker takes others
  std::int32_t target_height = 0;
};

/// Pixels are at offset 0 of the output: [height][width][3] u8 sRGB, no padding.
struct DecodeReply {
  Header header{Kind::kDecoded};
  MediaError error = MediaError::kNone;
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t n_channels = 0;  // 3
  std::uint64_t row_bytes = 0;  // width · 3
};

}  // namespace tessera::media::wire
