#include "media/check_media.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "media/validate.h"
#include "media/wire.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

constexpr int kInputSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

Error unusable(const MediaItem& item, std::string_view what) {
  return make_error(ErrorCode::kInternal, "media_file_unusable",
                    item_name(item) + std::string(what));
}

Result<DecoderClass> class_by_signature(const EncodedMedia& media, std::size_t index) {
  std::array<std::byte, kSniffBytes> head{};
  const ssize_t n_read = ::pread(media.fd.get(), head.data(), head.size(), 0);
  if (n_read < 0) return unusable({index}, "its file cannot be read");
  const auto kind = sniff_format(std::span(head).first(static_cast<std::size_t>(n_read)));
  if (const auto format = decodable(kind)) return class_of(*format);
  return make_error(ErrorCode::kUnsupportedMedia, "image_format_unsupported",
                    item_name({index}) + std::string(describe(kind)) +
                        " is not supported; supported formats: " + std::string(kSupportedFormats));
}

/// No image decoder is a failure of the server's; the other classes are the operator's choice.
Result<void> check_allowed(const MediaItem& item, const DecoderZygotes& zygotes) {
  if (zygotes.of(item.decoder_class) != nullptr) return {};
  switch (item.decoder_class) {
    case DecoderClass::kImage:
      break;
    case DecoderClass::kVideo:
      return make_error(ErrorCode::kUnsupportedMedia, "video_disabled",
                        item_name(item) +
                            "this server takes no video (its setting allow_video is "
                            "false)");
    case DecoderClass::kHeif:
      return make_error(ErrorCode::kUnsupportedMedia, "heic_disabled",
                        item_name(item) +
                            "this server takes no HEIC (its setting allow_heic is "
                            "false); send JPEG, PNG, WebP or AVIF");
  }
  return {};
}

Result<void> check_bytes(const EncodedMedia& media, const MediaItem& item, const Limits& limits) {
  const bool is_video = item.decoder_class == DecoderClass::kVideo;
  const std::size_t bytes_max = is_video ? limits.video_bytes_max : limits.image_bytes_max;
  if (media.size_bytes <= bytes_max) return {};
  return make_error(ErrorCode::kTooLarge,
                    is_video ? "video_bytes_too_large" : "image_bytes_too_large",
                    item_name(item) + std::to_string(media.size_bytes) + " bytes exceed " +
                        std::to_string(bytes_max));
}

Result<DecoderClass> check_file(const EncodedMedia& media, std::size_t index,
                                const DecoderZygotes& zygotes, const Limits& limits) {
  if (media.size_bytes == 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_empty",
                      item_name({index}) + "the file is empty");
  }
  TSR_ASSIGN_OR_RETURN(const DecoderClass decoder_class, class_by_signature(media, index));
  const MediaItem item{index, decoder_class};
  TSR_RETURN_IF_ERROR(check_allowed(item, zygotes));
  TSR_RETURN_IF_ERROR(check_bytes(media, item, limits));
  if (!sandbox::add_seals(media.fd.get(), kInputSeals)) {
    return unusable(item, "its file cannot be sealed");
  }
  // After the seal, so that it stays true: a read beyond the end would kill the worker.
  const auto size = sandbox::file_size(media.fd.get());
  if (!size || *size < media.size_bytes) {
    return unusable(item, "its file is shorter than its size");
  }
  return decoder_class;
}

Error too_many(std::string_view reason, std::size_t n, const std::string& what, std::size_t limit) {
  return make_error(
      ErrorCode::kTooLarge, std::string(reason),
      std::to_string(n) + " " + what + " exceed " + std::to_string(limit) + " in one request");
}

}  // namespace

Result<std::vector<DecoderClass>> check_media(const DecoderZygotes& zygotes, const Limits& limits,
                                              std::span<const EncodedMedia> media) {
  const auto n_allowed =
      std::min(static_cast<std::size_t>(std::max(limits.images_max, 0)), wire::kItemsMax);
  if (media.size() > n_allowed) {
    return too_many("too_many_images", media.size(), "images and videos", n_allowed);
  }
  std::vector<DecoderClass> classes;
  std::size_t n_videos = 0;
  for (std::size_t i = 0; i < media.size(); ++i) {
    auto checked = check_file(media[i], i, zygotes, limits);
    if (!checked) return in_field(std::move(checked).error(), media[i].field);
    classes.push_back(*checked);
    n_videos += *checked == DecoderClass::kVideo ? 1 : 0;
    if (n_videos > static_cast<std::size_t>(std::max(limits.videos_max, 0))) {
      return in_field(too_many("too_many_videos", n_videos, "videos",
                               static_cast<std::size_t>(std::max(limits.videos_max, 0))),
                      media[i].field);
    }
  }
  return classes;
}

Result<void> check_request_pixels(std::span<const ProbedImage> probed, const Limits& limits) {
  std::int64_t shown = 0;
  std::int64_t passed = 0;
  for (const ProbedImage& item : probed) {
    const bool is_video = item.format == MediaFormat::kVideo;
    shown += item.size.pixels() * (is_video ? item.n_shown : item.n_passed);
    if (is_video) passed += item.size.pixels() * item.n_passed;
  }
  const std::string files = "the files up to number " + std::to_string(probed.size());
  if (shown > limits.request_pixels_max) {
    return make_error(ErrorCode::kTooLarge, "request_pixels_too_large",
                      files + " have " + std::to_string(shown) + " pixels, which exceed " +
                          std::to_string(limits.request_pixels_max) + " in one request");
  }
  if (passed > limits.video_pixels_max) {
    return make_error(ErrorCode::kTooLarge, "video_pixels_too_many",
                      files + " need " + std::to_string(passed) +
                          " pixels of video decoded, which exceed " +
                          std::to_string(limits.video_pixels_max) +
                          " in one request; ask for fewer frames, or send a shorter clip");
  }
  return {};
}

int frames_wanted(const EncodedMedia& media, DecoderClass decoder_class, const Limits& limits) {
  const int by_default =
      decoder_class == DecoderClass::kVideo ? std::min(kVideoFramesDefault, limits.frames_max) : 1;
  // Admission has its own, lower ceiling.
  return std::clamp(media.n_frames.value_or(by_default), 1, static_cast<int>(wire::kFramesMax));
}

Error in_field(Error error, const std::string& field) {
  if (error.param.empty() && error.code != ErrorCode::kCancelled) error.param = field;
  return error;
}

}  // namespace tessera::media
