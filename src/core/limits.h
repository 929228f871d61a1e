// Ceilings for untrusted input. Operators may change them; a request may lower, never raise them.
// Each default has its reason beside it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr std::size_t kMiB = std::size_t{1} << 20U;

struct Limits {
  // --- bytes ---
  std::size_t body_bytes_max = 64 * kMiB;    // three large photos in base64, with room
  std::size_t image_bytes_max = 20 * kMiB;   // a 40 MP JPEG at high quality
  std::size_t video_bytes_max = 200 * kMiB;  // ten minutes of a phone's 1080p at a low rate
  std::size_t text_bytes_max = 4 * kMiB;     // JSON without its media: far above any context length
  std::size_t header_bytes_max = kMiB / 64;  // one long bearer token and a proxy's additions
  // four choices of the longest tokens with log probabilities stay far below
  std::size_t answer_bytes_max = 64 * kMiB;

  // --- images ---
  int images_max = 16;                            // per request
  std::int64_t image_pixels_max = 40'000'000;     // a 40 MP camera
  std::int64_t request_pixels_max = 120'000'000;  // three of those at once: 360 MB of RGB
  int image_side_max = 16'384;                    // no camera is longer; bounds row buffers
  int image_aspect_max = 200;                     // longer strips break models' own preprocessing
  int image_scans_max = 32;                       // encoders write about ten
  int frames_max = 16;                            // of one animation: each is an image to the model
  int file_frames_max = 1000;                     // half a minute, as animations go
  std::size_t icc_bytes_max = 4 * kMiB;           // real ones stay below 2 MiB
  std::size_t exif_bytes_max = kMiB / 16;         // what fits a JPEG's segment

  // --- video ---
  int videos_max = 4;             // per request; each needs its own frames of a context
  int video_seconds_max = 600;    // by the timestamps of its pictures
  int video_frames_max = 36'000;  // in the file: ten minutes at 60 a second
  // decoding passes from key frames to the sampled ones: a minute of a core at most
  std::int64_t video_pixels_max = 6'000'000'000;

  // --- tokens ---
  int output_tokens_max = 4096;      // per choice
  int output_tokens_default = 1024;  // when the request does not say
  int choices_max = 4;               // `n`
  int visual_tokens_max = 16'384;    // per request
  // an image may have all of a request's; lower it to forbid that
  int image_visual_tokens_max = 16'384;

  // --- load ---
  int requests_max = 128;        // admitted at once; the next one gets 429
  int tenant_requests_max = 64;  // of one API key: two are needed to fill the server
  int connections_max = 1024;    // open sockets
  // bodies, and media until it is answered; the same again for media that is named by URL
  std::size_t held_bytes_max = 1024 * kMiB;        // 16 bodies of the largest size
  std::size_t tenant_held_bytes_max = 512 * kMiB;  // of one API key: two fill it
  // prepared tiles until they are encoded, features until they are prefilled
  std::size_t vision_bytes_max = 2048 * kMiB;         // two requests of 256 tiles of 512×512
  std::size_t tenant_vision_bytes_max = 1024 * kMiB;  // of one API key: two fill it

  // --- time ---
  std::chrono::milliseconds request_timeout{300'000};  // arrival → last token
};

/// Without keys all callers are one tenant, which may then have what the server has.
constexpr void lift_tenant_limits(Limits& limits) {
  limits.tenant_requests_max = limits.requests_max;
  limits.tenant_held_bytes_max = limits.held_bytes_max;
  limits.tenant_vision_bytes_max = limits.vision_bytes_max;
}

/// What a file may have before anybody knows what it is. Its own kind's limit follows.
constexpr std::size_t media_bytes_max(const Limits& limits) {
  const bool takes_videos =
      limits.videos_max > 0 && limits.video_bytes_max > limits.image_bytes_max;
  return takes_videos ? limits.video_bytes_max : limits.image_bytes_max;
}

/// Limits that one request may name to lower them; there are fewer.
inline constexpr std::size_t kLimitWishesMax = 32;

/// Frames that are taken of a video when the request does not say.
inline constexpr int kVideoFramesDefault = 8;

/// OpenAI allows four.
inline constexpr std::size_t kStopStringsMax = 4;

/// OpenAI allows twenty.
inline constexpr int kTopLogprobsMax = 20;

}  // namespace tessera
