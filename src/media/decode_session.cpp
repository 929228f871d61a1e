#include "media/decode_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "core/log.h"
#include "media/frames.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

using sandbox::IoStatus;
using sandbox::MappedRegion;

constexpr int kInputSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
constexpr std::int64_t kPixelsPerMegapixel = 1'000'000;

/// The reason of worker_failure().
constexpr std::string_view kDecoderFailed = "media_decoder_failed";

std::string image_name(std::size_t index) {
  return "image " + std::to_string(index + 1) + ": ";
}

Error internal_error(std::size_t index, std::string_view what) {
  return make_error(ErrorCode::kInternal, "media_file_unusable",
                    image_name(index) + std::string(what));
}

/// A refusal of one file names the field that it came in.
Error in_field(Error error, const std::string& field) {
  if (error.param.empty() && error.code != ErrorCode::kCancelled) error.param = field;
  return error;
}

Error cancelled_error() {
  return make_error(ErrorCode::kCancelled, "cancelled",
                    "the request was cancelled while its images were decoded");
}

Result<void> check_signature(const EncodedMedia& media, std::size_t index) {
  std::array<std::byte, kSniffBytes> head{};
  const ssize_t n_read = ::pread(media.fd.get(), head.data(), head.size(), 0);
  if (n_read < 0) return internal_error(index, "its file cannot be read");
  const auto kind = sniff_format(std::span(head).first(static_cast<std::size_t>(n_read)));
  if (decodable(kind)) return {};
  return make_error(ErrorCode::kUnsupportedMedia, "image_format_unsupported",
                    image_name(index) + std::string(describe(kind)) +
                        " is not supported; supported formats: " + std::string(kSupportedFormats));
}

Result<void> check_file(const EncodedMedia& media, std::size_t index, const Limits& limits) {
  if (media.size_bytes == 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_empty",
                      image_name(index) + "the file is empty");
  }
  if (media.size_bytes > limits.image_bytes_max) {
    return make_error(ErrorCode::kTooLarge, "image_bytes_too_large",
                      image_name(index) + std::to_string(media.size_bytes) + " bytes exceed " +
                          std::to_string(limits.image_bytes_max));
  }
  TSR_RETURN_IF_ERROR(check_signature(media, index));
  if (!sandbox::add_seals(media.fd.get(), kInputSeals)) {
    return internal_error(index, "its file cannot be sealed");
  }
  // After the seal, so that it stays true: a read beyond the end would kill the worker.
  const auto size = sandbox::file_size(media.fd.get());
  if (!size || *size < media.size_bytes) {
    return internal_error(index, "its file is shorter than its size");
  }
  return {};
}

Result<void> check_count(std::size_t n_items, const Limits& limits) {
  const auto n_allowed =
      std::min(static_cast<std::size_t>(std::max(limits.images_max, 0)), wire::kItemsMax);
  if (n_items <= n_allowed) return {};
  return make_error(
      ErrorCode::kTooLarge, "too_many_images",
      std::to_string(n_items) + " images exceed " + std::to_string(n_allowed) + " in one request");
}

/// Bytes of address space for the largest allowed image. A pixel costs at most 3 in the output and
/// 8 in the decoder (four 16-bit coefficients of a progressive CMYK JPEG); twice that leaves room
/// for libwebp's and libpng's own rows. Libraries and the heap's fragments get 256 MiB.
/// 40 megapixels: 1.1 GiB.
std::uint64_t address_space_bytes(const Limits& limits) {
  constexpr std::uint64_t kFixed = 256 * kMiB;
  constexpr std::uint64_t kPerPixel = std::uint64_t{2} * (3 + 8);
  constexpr std::int64_t kPixelsMax = std::int64_t{1} << 40U;  // keeps the product in range
  const auto pixels = static_cast<std::uint64_t>(
      std::clamp(limits.image_pixels_max, kPixelsPerMegapixel, kPixelsMax));
  return kFixed + limits.image_bytes_max + kPerPixel * pixels;
}

/// Decoding is one thread, so that it cannot use more processor than the wall clock allows. This
/// bounds a worker whose server was stopped by a debugger.
std::uint64_t cpu_seconds(const DecoderOptions& options, const Limits& limits) {
  const auto longest =
      2 * options.base_timeout +
      options.timeout_per_megapixel * (limits.request_pixels_max / kPixelsPerMegapixel + 1);
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(longest).count());
}

/// Admission has its own, lower ceiling.
int frames_wanted(const EncodedMedia& media) {
  return std::clamp(media.n_frames, 1, static_cast<int>(wire::kFramesMax));
}

wire::OpenRequest open_request(const DecoderOptions& options, const Limits& limits,
                               std::span<const EncodedMedia> media) {
  wire::OpenRequest request;
  request.limits = image_limits(limits);
  request.address_space_bytes = address_space_bytes(limits);
  request.cpu_seconds = cpu_seconds(options, limits);
  request.n_items = media.size();
  for (std::size_t i = 0; i < media.size(); ++i) {
    request.size_bytes[i] = media[i].size_bytes;
    request.n_frames_wanted[i] = static_cast<std::uint32_t>(frames_wanted(media[i]));
  }
  return request;
}

Error worker_unavailable(std::string_view why, std::chrono::seconds retry_after = {}) {
  Error error = make_error(ErrorCode::kUnavailable, "media_worker_unavailable",
                           "the image decoder could not be started: " + std::string(why));
  error.retry_after = retry_after;
  return error;
}

/// Between the end of a child and the zygote's word about it. It takes a tenth of a millisecond.
constexpr std::chrono::milliseconds kReapTimeout{1000};

/// A child that runs and has been sent `request`.
Result<sandbox::ZygoteChild> start_child(sandbox::Zygote& zygote, const wire::OpenRequest& request,
                                         std::span<const int> fds,
                                         const sandbox::WaitLimits& wait) {
  constexpr int kTries = 2;  // the second one only when the first child certainly did not run
  for (int i = 0; i < kTries; ++i) {
    auto child = zygote.fork_child();
    if (!child) return worker_unavailable(child.error().message, child.error().retry_after);
    // Before the child is there, so that it finds its work when it starts. A failure shows below.
    (void)child->channel().send(request, fds, wait);
    switch (child->wait_started(wait)) {
      case IoStatus::kOk:
        return *std::move(child);
      case IoStatus::kClosed:
        continue;
      case IoStatus::kStopped:
        return cancelled_error();
      case IoStatus::kTimeout:
        return worker_unavailable("no answer in time");
      case IoStatus::kMalformed:
      case IoStatus::kFailed:
        return worker_unavailable("no process left");
    }
  }
  return worker_unavailable("its parent process died twice");
}

}  // namespace

DecodeSession::DecodeSession(const DecoderOptions& options, const Limits& limits,
                             std::span<const EncodedMedia> media,
                             std::unique_ptr<sandbox::StopEvent> stop, sandbox::ZygoteChild child)
    : options_(options),
      limits_(image_limits(limits)),
      request_pixels_max_(limits.request_pixels_max),
      stop_(std::move(stop)),
      child_(std::move(child)) {
  for (const EncodedMedia& file : media) {
    fields_.push_back(file.field);
    n_frames_wanted_.push_back(frames_wanted(file));
  }
}

Result<DecodeSession> DecodeSession::open(const DecoderOptions& options, const Limits& limits,
                                          std::span<const EncodedMedia> media,
                                          std::stop_token stop) {
  TSR_RETURN_IF_ERROR(check_count(media.size(), limits));
  std::vector<int> fds;
  for (std::size_t i = 0; i < media.size(); ++i) {
    if (const auto checked = check_file(media[i], i, limits); !checked) {
      return in_field(checked.error(), media[i].field);
    }
    fds.push_back(media[i].fd.get());
  }
  if (options.zygote == nullptr) return worker_unavailable("this server has none");
  auto stop_event = sandbox::StopEvent::create(std::move(stop));
  if (!stop_event) return worker_unavailable(stop_event.error().message);
  const sandbox::WaitLimits wait{std::chrono::steady_clock::now() + options.base_timeout,
                                 stop_event->get()};
  TSR_ASSIGN_OR_RETURN(
      sandbox::ZygoteChild child,
      start_child(*options.zygote, open_request(options, limits, media), fds, wait));
  return DecodeSession(options, limits, media, *std::move(stop_event), std::move(child));
}

Result<std::vector<ProbedImage>> DecodeSession::probe() {
  const sandbox::WaitLimits wait{std::chrono::steady_clock::now() + options_.base_timeout,
                                 stop_.get()};
  std::vector<ProbedImage> probed;
  for (item_ = 0; item_ < fields_.size(); ++item_) {
    auto image = probe_item(wait);
    if (!image) return in_field(std::move(image).error(), fields_[item_]);
    probed.push_back(*image);
    if (auto within = check_request_pixels(probed, request_pixels_max_); !within) {
      return in_field(std::move(within).error(), fields_[item_]);
    }
  }
  probed_ = probed;
  return probed;
}

Result<ProbedImage> DecodeSession::probe_item(const sandbox::WaitLimits& wait) {
  const auto received = child_.channel().receive<wire::ProbeReply>(0, wait);
  if (received.status != IoStatus::kOk) return transport_error(item_, received.status);
  const auto validated = validate_probe(received.message, item_, n_frames_wanted_[item_], limits_);
  if (!validated) return refused_reply(validated.error());
  return *validated;
}

Result<std::vector<Image>> DecodeSession::decode() {
  if (probed_.size() != fields_.size()) TSR_RETURN_IF_ERROR(probe());
  std::vector<ImageSize> sizes;
  for (const ProbedImage& image : probed_) sizes.push_back(image.size);
  return decode(sizes);
}

Result<std::vector<Image>> DecodeSession::decode(std::span<const ImageSize> targets) {
  TSR_CHECK(targets.size() == probed_.size());
  std::int64_t pixels = 0;
  for (const auto& image : probed_) pixels += image.size.pixels() * image.n_frames;
  const auto budget =
      options_.base_timeout + options_.timeout_per_megapixel * (pixels / kPixelsPerMegapixel + 1);
  const TimePoint deadline = std::chrono::steady_clock::now() + budget;

  std::vector<Image> images;
  for (item_ = 0; item_ < fields_.size(); ++item_) {
    if (targets[item_] == ImageSize{}) continue;
    auto frames = decode_item(targets[item_], deadline);
    if (!frames) return in_field(std::move(frames).error(), fields_[item_]);
    std::ranges::move(*frames, std::back_inserter(images));
  }
  return images;
}

Result<std::vector<Image>> DecodeSession::decode_item(ImageSize target, TimePoint deadline) {
  const auto frames = sample_frames(probed_[item_].n_frames, n_frames_wanted_[item_]);
  const std::size_t n_bytes = frames.size() * rgb_bytes(target);
  TSR_ASSIGN_OR_RETURN(const UniqueFd output, sandbox::create_memfd("pixels", n_bytes));
  // Before the child has it: a shrink would turn our reading into a SIGBUS.
  TSR_RETURN_IF_ERROR(sandbox::add_seals(output.get(), F_SEAL_GROW | F_SEAL_SHRINK));

  wire::DecodePlan plan;
  plan.header.index = static_cast<std::uint32_t>(item_);
  plan.target_width = target.width;
  plan.target_height = target.height;
  plan.n_frames = static_cast<std::uint32_t>(frames.size());
  std::ranges::copy(frames, plan.frames.begin());
  const sandbox::WaitLimits wait{deadline, stop_.get()};
  const std::array<int, 1> fds{output.get()};
  const IoStatus sent = child_.channel().send(plan, fds, wait);
  if (sent != IoStatus::kOk) return transport_error(item_, sent);
  const auto received = child_.channel().receive<wire::DecodeReply>(0, wait);
  if (received.status != IoStatus::kOk) return transport_error(item_, received.status);
  if (const auto validated = validate_decoded(received.message, plan, limits_); !validated) {
    return refused_reply(validated.error());
  }
  return read_pixels(output, plan);
}

Result<std::vector<Image>> DecodeSession::read_pixels(const UniqueFd& output,
                                                      const wire::DecodePlan& plan) {
  // Refused while the child still has the pixels mapped: what we copy, nobody changes.
  if (!sandbox::add_seals(output.get(), F_SEAL_WRITE | F_SEAL_SEAL)) {
    return child_failure(item_, "the decoder kept its hands on the pixels",
                         DecoderDeath::kProtocol);
  }
  const ImageSize size{plan.target_width, plan.target_height};
  const std::size_t n_bytes = rgb_bytes(size);
  TSR_ASSIGN_OR_RETURN(const MappedRegion pixels,
                       MappedRegion::map_readonly(output.get(), plan.n_frames * n_bytes));
  std::vector<Image> images(plan.n_frames);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto frame = pixels.bytes().subspan(i * n_bytes, n_bytes);
    images[i] = {size, {frame.begin(), frame.end()}};
  }
  return images;
}

Error DecodeSession::transport_error(std::size_t index, IoStatus status) {
  switch (status) {
    case IoStatus::kStopped:
      return cancelled_error();
    case IoStatus::kTimeout:
      return child_failure(index, "the decoder did not finish in time", DecoderDeath::kTimeout);
    case IoStatus::kMalformed:
      return child_failure(index, "the decoder broke its protocol", DecoderDeath::kProtocol);
    case IoStatus::kOk:
    case IoStatus::kClosed:
    case IoStatus::kFailed:
      break;
  }
  const sandbox::WaitLimits wait{std::chrono::steady_clock::now() + kReapTimeout, stop_.get()};
  return child_failure(index, "the decoder stopped", death_by(child_.wait_end(wait)));
}

Error DecodeSession::refused_reply(Error error) {
  // The others are about the file.
  if (error.reason == kDecoderFailed) death_ = DecoderDeath::kProtocol;
  return error;
}

Error DecodeSession::child_failure(std::size_t index, std::string_view why, DecoderDeath death) {
  death_ = death;
  child_.kill();
  if (death == DecoderDeath::kForbiddenCall) log(LogLevel::kError, "decoder_forbidden_call");
  return worker_failure(index, why);
}

}  // namespace tessera::media
