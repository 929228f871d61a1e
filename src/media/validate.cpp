#include "media/validate.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::media {
namespace {

using wire::MediaError;

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
    case MediaFormat::kVideo:
    case MediaFormat::kHeic:
      return true;
  }
  return false;
}

bool matches(const wire::Header& header, wire::Kind kind, std::size_t index) {
  return header.kind == kind && header.version == wire::kVersion && header.index == index;
}

/// The same refusals of an image and of a video.
struct Reasons {
  std::string_view unsupported_variant;
  std::string_view invalid;
  std::string_view side_too_large;
  std::string_view too_large;
  std::string_view aspect_too_large;
  std::string_view frames_too_many;
};
constexpr Reasons kImageReasons{"image_variant_unsupported", "image_invalid",
                                "image_side_too_large",      "image_too_large",
                                "image_aspect_too_large",    "image_frames_too_many"};
constexpr Reasons kVideoReasons{"video_variant_unsupported", "video_invalid",
                                "video_side_too_large",      "video_too_large",
                                "video_aspect_too_large",    "video_frames_too_many"};

std::string variant_text(bool is_video) {
  return is_video ? "it needs a video stream of H.264, HEVC, VP8, VP9 or AV1 that is not encrypted "
                    "and keeps its size"
                  : "this variant of its format is not supported";
}

Error too_large(std::string_view reason, std::string message) {
  return make_error(ErrorCode::kTooLarge, std::string(reason), std::move(message));
}

/// Refusals that name a number.
Error beyond_limit(MediaError error, const MediaItem& item, const wire::ProbeReply& found,
                   const wire::ImageLimits& limits) {
  const bool is_video = item.decoder_class == DecoderClass::kVideo;
  const Reasons& reasons = is_video ? kVideoReasons : kImageReasons;
  const std::string name = item_name(item);
  const std::string size = size_text({found.width, found.height});
  if (error == MediaError::kSideTooLarge) {
    return too_large(reasons.side_too_large, name + "a side of " + size + " pixels exceeds " +
                                                 std::to_string(limits.side_max));
  }
  if (error == MediaError::kPixelsTooMany) {
    return too_large(reasons.too_large,
                     name + size + " pixels exceed " + std::to_string(limits.pixels_max));
  }
  if (error == MediaError::kAspectTooLarge) {
    return too_large(reasons.aspect_too_large, name + "the aspect ratio of " + size +
                                                   " pixels exceeds " +
                                                   std::to_string(limits.aspect_max) + ":1");
  }
  if (error == MediaError::kScansTooMany) {
    return too_large("image_scans_too_many",
                     name + std::to_string(found.n_scans) + " scans of " + size +
                         " pixels exceed " + std::to_string(limits.scans_max) + " scans or " +
                         std::to_string(kJpegPixelScansMax) + " pixels over all scans");
  }
  if (error == MediaError::kTooLong) {
    return too_large("video_too_long", name + std::to_string(found.duration_ms) + " ms exceed " +
                                           std::to_string(limits.duration_ms_max) + " ms");
  }
  return too_large(reasons.frames_too_many, name + "more than " +
                                                std::to_string(limits.frames_max) + " frames" +
                                                (is_video ? "" : "; ask for 1 to see the first"));
}

}  // namespace

std::string item_name(const MediaItem& item) {
  return (item.decoder_class == DecoderClass::kVideo ? "video " : "image ") +
         std::to_string(item.index + 1) + ": ";
}

wire::ImageLimits image_limits(const Limits& limits, DecoderClass decoder_class) {
  const bool is_video = decoder_class == DecoderClass::kVideo;
  return {.pixels_max = limits.image_pixels_max,
          .side_max = limits.image_side_max,
          .aspect_max = limits.image_aspect_max,
          .scans_max = limits.image_scans_max,
          .frames_max = is_video ? limits.video_frames_max : limits.file_frames_max,
          .icc_bytes_max = static_cast<std::uint32_t>(limits.icc_bytes_max),
          .exif_bytes_max = static_cast<std::uint32_t>(limits.exif_bytes_max),
          .duration_ms_max = std::int64_t{limits.video_seconds_max} * 1000};
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

Error refusal(MediaError error, const MediaItem& item, const wire::ProbeReply& found,
              const wire::ImageLimits& limits) {
  const bool is_video = item.decoder_class == DecoderClass::kVideo;
  const Reasons& reasons = is_video ? kVideoReasons : kImageReasons;
  const std::string name = item_name(item);
  switch (error) {
    case MediaError::kUnsupportedFormat:
      return make_error(ErrorCode::kUnsupportedMedia, "image_format_unsupported",
                        name + "not a supported image or video; supported formats: " +
                            std::string(kSupportedFormats));
    case MediaError::kUnsupportedVariant:
      return make_error(ErrorCode::kUnsupportedMedia, std::string(reasons.unsupported_variant),
                        name + variant_text(is_video));
    case MediaError::kInvalid:
      return make_error(ErrorCode::kInvalidArgument, std::string(reasons.invalid),
                        name + "the file is truncated or corrupt");
    case MediaError::kSideTooLarge:
    case MediaError::kPixelsTooMany:
    case MediaError::kAspectTooLarge:
    case MediaError::kScansTooMany:
    case MediaError::kFramesTooMany:
    case MediaError::kTooLong:
      return beyond_limit(error, item, found, limits);
    case MediaError::kOutOfMemory:
      return worker_failure(item, "the decoder ran out of memory");
    case MediaError::kNone:
    case MediaError::kWorkerFailed:
      break;
  }
  return worker_failure(item, "the decoder failed");
}

Error worker_failure(const MediaItem& item, std::string_view why) {
  return make_error(ErrorCode::kUnprocessableMedia, "media_decoder_failed",
                    item_name(item) + std::string(why));
}

Result<ProbedImage> validate_probe(const wire::ProbeReply& reply, const MediaItem& item,
                                   int n_wanted, const wire::ImageLimits& limits) {
  if (!matches(reply.header, wire::Kind::kProbed, item.index) || !is_known(reply.error)) {
    return worker_failure(item, "the decoder broke its protocol");
  }
  const ImageSize size{reply.width, reply.height};
  if (reply.error != MediaError::kNone) {
    return refusal(reply.error, item, reply, limits);
  }
  const bool is_video = item.decoder_class == DecoderClass::kVideo;
  const int n_frames_max = n_wanted > 1 || is_video ? limits.frames_max : 1;
  if (!is_known(reply.format) || class_of(reply.format) != item.decoder_class ||
      reply.n_scans < 1 || reply.n_frames < 1 || reply.n_frames > n_frames_max ||
      reply.n_passed < 1 || reply.n_passed > limits.frames_max || reply.duration_ms < 0) {
    return worker_failure(item, "the decoder broke its protocol");
  }
  // A sound worker refused these itself; the check holds when it is not sound.
  MediaError error = check_size(size, limits);
  if (error == MediaError::kNone) error = check_scans(size, reply.n_scans, limits);
  if (error == MediaError::kNone && reply.duration_ms > limits.duration_ms_max) {
    error = MediaError::kTooLong;
  }
  if (error != MediaError::kNone) return refusal(error, item, reply, limits);
  return ProbedImage{reply.format, size, reply.n_frames, std::min(reply.n_frames, n_wanted),
                     reply.n_passed};
}

Result<void> validate_decoded(const wire::DecodeReply& reply, const MediaItem& item,
                              const wire::DecodePlan& plan, const wire::ImageLimits& limits) {
  const ImageSize target{plan.target_width, plan.target_height};
  if (!matches(reply.header, wire::Kind::kDecoded, item.index) || !is_known(reply.error)) {
    return worker_failure(item, "the decoder broke its protocol");
  }
  if (reply.error != MediaError::kNone) {
    wire::ProbeReply found;
    found.width = target.width;
    found.height = target.height;
    found.n_scans = 1;
    return refusal(reply.error, item, found, limits);
  }
  const auto row_bytes = static_cast<std::uint64_t>(target.width) * kChannels;
  if (ImageSize{reply.width, reply.height} != target || reply.n_channels != kChannels ||
      reply.row_bytes != row_bytes || reply.n_frames != plan.n_frames) {
    return worker_failure(item, "the decoder returned another size than planned");
  }
  return {};
}

std::size_t rgb_bytes(ImageSize size) {
  return static_cast<std::size_t>(size.pixels()) * kChannels;
}

}  // namespace tessera::media
