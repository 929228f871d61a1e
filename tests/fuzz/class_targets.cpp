#include "fuzz/class_targets.h"

#include <algorithm>

#include "core/check.h"
#include "media/frames.h"
#include "media/heif/heif_decoder.h"
#include "media/heif/testing/encode_heic.h"
#include "media/validate.h"
#include "media/video/testing/encode_clip.h"
#include "media/video/video_decoder.h"

namespace tessera::fuzz {
namespace {

using media::MediaError;
using media::testing::ByteVector;

/// Small, so that a run is short.
constexpr media::wire::ImageLimits kLimits{.pixels_max = 250'000,
                                           .side_max = 4'096,
                                           .aspect_max = 200,
                                           .scans_max = 32,
                                           .frames_max = 100,
                                           .icc_bytes_max = 65'536,
                                           .exif_bytes_max = 65'536,
                                           .duration_ms_max = 600'000};
constexpr int kFramesWanted = 3;
constexpr std::int64_t kPassedPixelsMax = 2'000'000;

/// What is believed of a probe obeys the limits, and what it counted can be decoded or refused.
void run_class(const media::Decoder& decoder, Bytes input) {
  const media::Probe found = decoder.probe(input, kFramesWanted, kLimits);
  TSR_CHECK(found.header.error != MediaError::kWorkerFailed);
  if (found.header.error != MediaError::kNone) return;
  const ImageSize whole = found.header.oriented();
  TSR_CHECK(media::check_size(whole, kLimits) == MediaError::kNone);
  TSR_CHECK(found.n_frames >= 1 && found.n_frames <= kLimits.frames_max);
  TSR_CHECK(found.n_passed >= 1 && found.n_passed <= kLimits.frames_max);
  if (whole.pixels() * found.n_passed > kPassedPixelsMax) return;
  const ImageSize target{1 + input[input.size() - 1] % whole.width,
                         1 + input[input.size() - 2] % whole.height};
  const auto frames = media::sample_frames(found.n_frames, kFramesWanted);
  std::vector<std::uint8_t> rgb(frames.size() * media::rgb_bytes(target));
  TSR_CHECK(decoder.decode_frames(input, kLimits, target, frames, rgb) !=
            MediaError::kWorkerFailed);
}

}  // namespace

bool run_video(Bytes input) {
  if (media::sniff_format(std::as_bytes(input)) != media::FileKind::kVideo) return false;
  static const bool kIsWarm = (media::video::warm_up_video(), true);
  TSR_CHECK(kIsWarm);
  run_class(media::video::video_decoder(), input);
  return true;
}

std::vector<ByteVector> video_seeds() {
  using media::video::testing::ClipOptions;
  using media::video::testing::encode_clip;
  const ClipOptions base{.size = {32, 32}, .n_frames = 5, .group = 3};
  std::vector<ByteVector> seeds;
  const auto add = [&seeds, &base](const char* encoder, const char* container) {
    ClipOptions options = base;
    options.encoder = encoder;
    options.container = container;
    seeds.push_back(encode_clip(options));
  };
  add("libx264", "mp4");
  add("libx264", "matroska");
  add("libx265", "mp4");
  add("libvpx", "webm");
  add("libvpx-vp9", "webm");
  add("libaom-av1", "mp4");
  ClipOptions fragments = base;
  fragments.rotation = 90;
  fragments.muxer_options = "movflags=frag_keyframe+empty_moov";
  seeds.push_back(encode_clip(fragments));
  return seeds;
}

bool run_heic(Bytes input) {
  if (media::sniff_format(std::as_bytes(input)) != media::FileKind::kHeic) return false;
  run_class(media::heif::heif_decoder(), input);
  return true;
}

std::vector<ByteVector> heic_seeds() {
  using media::heif::testing::encode_heic;
  const auto picture = media::testing::gradient({24, 16});
  return {encode_heic(picture),
          encode_heic(picture, {.orientation = media::Orientation::kRotate90}),
          encode_heic(picture, {.has_alpha = true, .color_primaries = 12})};
}

}  // namespace tessera::fuzz
