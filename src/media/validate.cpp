#include "media/validate.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::media {
namespace {

using wire::MediaError;

std::string image_name(std::size_t index) {
  return "image " + std::to_string(index + 1) + ": ";
}

std::string size_text(ImageSize size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

bool is_known(MediaError error) {
  return static_cast<std::uint32_t>(error) < wire::kMediaErrorCount;
}

bool is_known(MediaFormat format) {
  switch (format) {
    case MediaFormat::kJpeg:
    case MediaFormat::kPng:
    case MediaFormat::kWebp:
    case MediaFormat::kGif:
    case MediaFormat::kAvif:
      return true;
  }
  return false;
}

bool matches(const wire::Header& header, wire::Kind kind, std::size_t index) {
  return header.kind == kind && header.version == wire::kVersion && header.index == index;
}

}  // namespace

wire::ImageLimits image_limits(const Limits& limits) {
  return {.pixels_max = limits.image_pixels_max,
          .side_max = limits.image_side_max,
          .aspect_max = limits.image_aspect_max,
          .scans_max = limits.image_scans_max,
          .frames_max = limits.file_frames_max,
          .icc_bytes_max = static_cast<std::uint32_t>(limits.icc_bytes_max),
          .exif_bytes_max = static_cast<std::uint32_t>(limits.exif_bytes_max)};
}

MediaError check_size(ImageSize size, const wire::ImageLimits& limits) {
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  if (shorter < 1) return MediaError::kInvalid;
  if (longer > limits.side_max) return MediaError::kSideTooLarge;
  if (size.pixels() > limits.pixels_max) return MediaError::kPixelsTooMany;
  if (longer > std::int64_t{shorter} * limits.aspect_max) return MediaError::kAspectTooLarge;
  return MediaError::kNone;
}

MediaError check_scans(ImageSize size, std::int32_t n_scans, const wire::ImageLimits& limits) {
  if (n_scans > limits.scans_max) return MediaError::kScansTooMany;
  // The division avoids the product.
  if (n_scans > 0 && size.pixels() > kJpegPixelScansMax / n_scans) return MediaError::kScansTooMany;
  return MediaError::kNone;
}

Error refusal(MediaError error, std::size_t index, const wire::ProbeReply& found,
              const wire::ImageLimits& limits) {
  const std::string image = image_name(index);
  const ImageSize size{found.width, found.height};
  switch (error) {
    case MediaError::kNone:
      break;
    case MediaError::kUnsupportedFormat:
      return make_error(
          ErrorCode::kUnsupportedMedia, "image_format_unsupported",
          image + "not a supported image; supported formats: " + std::string(kSupportedFormats));
    case MediaError::kUnsupportedVariant:
      return make_error(ErrorCode::kUnsupportedMedia, "image_variant_unsupported",
                        image + "this variant of its format is not supported");
    case MediaError::kInvalid:
      return make_error(ErrorCode::kInvalidArgument, "image_invalid",
                        image + "the file is truncated or corrupt");
    case MediaError::kSideTooLarge:
      return make_error(ErrorCode::kTooLarge, "image_side_too_large",
                        image + "a side of " + size_text(size) + " pixels exceeds " +
                            std::to_string(limits.side_max));
    case MediaError::kPixelsTooMany:
      return make_error(
          ErrorCode::kTooLarge, "image_too_large",
          image + size_text(size) + " pixels exceed " + std::to_string(limits.pixels_max));
    case MediaError::kAspectTooLarge:
      return make_error(ErrorCode::kTooLarge, "image_aspect_too_large",
                        image + "the aspect ratio of " + size_text(size) + " pixels exceeds " +
                            std::to_string(limits.aspect_max) + ":1");
    case MediaError::kScansTooMany:
      return make_error(ErrorCode::kTooLarge, "image_scans_too_many",
                        image + std::to_string(found.n_scans) + " scans of " + size_text(size) +
                            " pixels exceed " + std::to_string(limits.scans_max) + " scans or " +
                            std::to_string(kJpegPixelScansMax) + " pixels over all scans");
    case MediaError::kFramesTooMany:
      return make_error(ErrorCode::kTooLarge, "image_frames_too_many",
                        image + "more than " + std::to_string(limits.frames_max) +
                            " frames; ask for 1 to see the first");
    case MediaError::kOutOfMemory:
      return worker_failure(index, "the decoder ran out of memory");
    case MediaError::kWorkerFailed:
      break;
  }
  return worker_failure(index, "the decoder failed");
}

Error worker_failure(std::size_t index, std::string_view why) {
  return make_error(ErrorCode::kUnprocessableMedia, "media_decoder_failed",
                    image_name(index) + std::string(why));
}

Result<ProbedImage> validate_probe(const wire::ProbeReply& reply, std::size_t index, int n_wanted,
                                   const wire::ImageLimits& limits) {
  if (!matches(reply.header, wire::Kind::kProbed, index) || !is_known(reply.error)) {
    return worker_failure(index, "the decoder broke its protocol");
  }
  const ImageSize size{reply.width, reply.height};
  if (reply.error != MediaError::kNone) {
    return refusal(reply.error, index, reply, limits);
  }
  const int n_frames_max = n_wanted > 1 ? limits.frames_max : 1;
  if (!is_known(reply.format) || reply.n_scans < 1 || reply.n_frames < 1 ||
      reply.n_frames > n_frames_max) {
    return worker_failure(index, "the decoder broke its protocol");
  }
  // A sound worker refused these itself; the check holds when it is not sound.
  MediaError error = check_size(size, limits);
  if (error == MediaError::kNone) error = check_scans(size, reply.n_scans, limits);
  if (error != MediaError::kNone) return refusal(error, index, reply, limits);
  return ProbedImage{reply.format, size, reply.n_scans, reply.n_frames};
}

Result<void> check_request_pixels(std::span<const ProbedImage> images, std::int64_t pixels_max) {
  std::int64_t n_pixels = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    n_pixels += images[i].size.pixels() * images[i].n_frames;
    if (n_pixels > pixels_max) {
      return make_error(ErrorCode::kTooLarge, "request_pixels_too_large",
                        "the images up to image " + std::to_string(i + 1) + " have " +
                            std::to_string(n_pixels) + " pixels, which exceed " +
                            std::to_string(pixels_max) + " in one request");
    }
  }
  return {};
}

Result<void> validate_decoded(const wire::DecodeReply& reply, const wire::DecodePlan& plan,
                              const wire::ImageLimits& limits) {
  const std::size_t index = plan.header.index;
  const ImageSize target{plan.target_width, plan.target_height};
  if (!matches(reply.header, wire::Kind::kDecoded, index) || !is_known(reply.error)) {
    return worker_failure(index, "the decoder broke its protocol");
  }
  if (reply.error != MediaError::kNone) {
    wire::ProbeReply found;
    found.width = target.width;
    found.height = target.height;
    found.n_scans = 1;
    return refusal(reply.error, index, found, limits);
  }
  const auto row_bytes = static_cast<std::uint64_t>(target.width) * kChannels;
  if (ImageSize{reply.width, reply.height} != target || reply.n_channels != kChannels ||
      reply.row_bytes != row_bytes || reply.n_frames != plan.n_frames) {
    return worker_failure(index, "the decoder returned another size than planned");
  }
  return {};
}

std::size_t rgb_bytes(ImageSize size) {
  return static_cast<std::size_t>(size.pixels()) * kChannels;
}

}  // namespace tessera::media
