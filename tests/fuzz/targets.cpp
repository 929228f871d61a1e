#include "fuzz/targets.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/check.h"
#include "fuzz/class_targets.h"
#include "fuzz/text_targets.h"
#include "media/codecs/decoder.h"
#include "media/codecs/jpeg_markers.h"
#include "media/sniff.h"
#include "media/testing/corpus.h"
#include "media/testing/metadata.h"
#include "media/validate.h"

namespace tessera::fuzz {
namespace {

using media::FileKind;
using media::MediaError;
using media::testing::ByteVector;

/// Small, so that a run is short; every other limit follows from the pixels.
constexpr media::wire::ImageLimits kLimits{.pixels_max = 1'000'000,
                                           .side_max = 4'096,
                                           .aspect_max = 200,
                                           .scans_max = 32,
                                           .frames_max = 100,
                                           .icc_bytes_max = 65'536,
                                           .exif_bytes_max = 65'536};

/// Whole, and then at a size that the last bytes choose.
template <FileKind kKind>
bool run_decode(Bytes input) {
  if (media::sniff_format(std::as_bytes(input)) != kKind) return false;
  const media::ImageHeader header = media::probe_image(input, kLimits);
  TSR_CHECK(header.error != MediaError::kWorkerFailed);
  if (header.error != MediaError::kNone) return true;
  const ImageSize whole = header.oriented();
  TSR_CHECK(media::check_size(whole, kLimits) == MediaError::kNone);
  const ImageSize small{1 + input[input.size() - 1] % whole.width,
                        1 + input[input.size() - 2] % whole.height};
  for (const ImageSize target : {whole, small}) {
    std::vector<std::uint8_t> rgb(media::rgb_bytes(target));
    const MediaError error = media::decode_image(input, kLimits, target, rgb);
    TSR_CHECK(error != MediaError::kWorkerFailed);
  }
  // The last frame, which goes through all of them.
  const auto count = media::count_frames(input, header.format, kLimits);
  if (count.error != MediaError::kNone || count.n_frames == 1) return true;
  if (whole.pixels() * count.n_frames > kLimits.pixels_max) return true;
  const std::array frames{std::uint32_t{0}, static_cast<std::uint32_t>(count.n_frames - 1)};
  std::vector<std::uint8_t> rgb(frames.size() * media::rgb_bytes(small));
  const MediaError error = media::decode_frames(input, kLimits, small, frames, rgb);
  TSR_CHECK(error != MediaError::kWorkerFailed);
  return true;
}

bool run_sniff(Bytes input) {
  const FileKind kind = media::sniff_format(std::as_bytes(input));
  TSR_CHECK(!media::describe(kind).empty());
  return true;
}

bool run_exif(Bytes input) {
  const auto value = static_cast<int>(media::parse_exif_orientation(input));
  TSR_CHECK(value >= 1 && value <= 8);
  return true;
}

bool run_jpeg_markers(Bytes input) {
  const media::JpegStructure structure = media::read_jpeg_structure(input);
  TSR_CHECK(structure.n_scans >= 0 && static_cast<std::size_t>(structure.n_scans) <= input.size());
  TSR_CHECK(structure.exif.size() <= input.size());
  if (structure.error == MediaError::kNone) TSR_CHECK(structure.n_scans > 0);
  return true;
}

/// What is believed of a probe's reply obeys the limits.
bool run_probe_reply(Bytes input) {
  media::wire::ProbeReply reply;
  if (input.size() < sizeof(reply)) return false;
  std::memcpy(static_cast<void*>(&reply), input.data(), sizeof(reply));
  const auto probed = media::validate_probe(reply, {0}, 1, kLimits);
  if (!probed) return true;
  TSR_CHECK(media::check_size(probed->size, kLimits) == MediaError::kNone);
  TSR_CHECK(reply.n_scans >= 1);
  return true;
}

bool run_decode_reply(Bytes input) {
  media::wire::DecodeReply reply;
  if (input.size() < sizeof(reply)) return false;
  std::memcpy(static_cast<void*>(&reply), input.data(), sizeof(reply));
  const ImageSize target{64, 48};
  media::wire::DecodePlan plan;
  plan.target_width = target.width;
  plan.target_height = target.height;
  plan.n_frames = 1;
  if (!media::validate_decoded(reply, {0}, plan, kLimits)) return true;
  TSR_CHECK(reply.width == target.width && reply.height == target.height);
  TSR_CHECK(reply.row_bytes == std::uint64_t{64} * 3);
  return true;
}

template <FileKind kKind>
std::vector<ByteVector> files_of() {
  std::vector<ByteVector> seeds;
  for (const auto& file : media::testing::corpus_of_seeds()) {
    if (media::sniff_format(std::as_bytes(std::span(file.bytes))) == kKind) {
      seeds.push_back(file.bytes);
    }
  }
  return seeds;
}

std::vector<ByteVector> files_of_every_type() {
  std::vector<ByteVector> seeds;
  for (auto& file : media::testing::corpus_of_types()) seeds.push_back(std::move(file.bytes));
  return seeds;
}

std::vector<ByteVector> exif_seeds() {
  return {media::testing::exif_with_orientation(6, false),
          media::testing::exif_with_orientation(8, true),
          media::testing::with_exif_prefix(media::testing::exif_with_orientation(3))};
}

template <typename Reply>
ByteVector bytes_of(const Reply& reply) {
  ByteVector bytes(sizeof(reply));
  std::memcpy(bytes.data(), &reply, sizeof(reply));
  return bytes;
}

std::vector<ByteVector> probe_reply_seeds() {
  media::wire::ProbeReply sound;
  sound.format = media::MediaFormat::kPng;
  sound.width = 64;
  sound.height = 48;
  sound.n_scans = sound.n_frames = sound.n_passed = 1;
  media::wire::ProbeReply refused = sound;
  refused.error = MediaError::kScansTooMany;
  refused.n_scans = 500;
  return {bytes_of(sound), bytes_of(refused)};
}

std::vector<ByteVector> decode_reply_seeds() {
  media::wire::DecodeReply sound;
  sound.width = 64;
  sound.height = 48;
  sound.n_channels = 3;
  sound.row_bytes = std::uint64_t{64} * 3;
  media::wire::DecodeReply failed = sound;
  failed.error = MediaError::kInvalid;
  return {bytes_of(sound), bytes_of(failed)};
}

constexpr std::array kTargets{
    Target{"jpeg", run_decode<FileKind::kJpeg>, files_of<FileKind::kJpeg>},
    Target{"png", run_decode<FileKind::kPng>, files_of<FileKind::kPng>},
    Target{"webp", run_decode<FileKind::kWebp>, files_of<FileKind::kWebp>},
    Target{"gif", run_decode<FileKind::kGif>, files_of<FileKind::kGif>},
    Target{"avif", run_decode<FileKind::kAvif>, files_of<FileKind::kAvif>},
    Target{"video", run_video, video_seeds},
    Target{"heic", run_heic, heic_seeds},
    Target{"sniff", run_sniff, files_of_every_type},
    Target{"exif", run_exif, exif_seeds},
    Target{"jpeg_markers", run_jpeg_markers, files_of<FileKind::kJpeg>},
    Target{"probe_reply", run_probe_reply, probe_reply_seeds},
    Target{"decode_reply", run_decode_reply, decode_reply_seeds},
    Target{"base64", run_base64, base64_seeds},
    Target{"json_body", run_json_body, json_body_seeds},
    Target{"url", run_url, url_seeds},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto* found = std::ranges::find(kTargets, name, &Target::name);
  return found != kTargets.end() ? found : nullptr;
}

}  // namespace tessera::fuzz
