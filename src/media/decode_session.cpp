#include "media/decode_session.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "core/log.h"
#include "media/check_media.h"
#include "media/decoder_budget.h"
#include "media/frames.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

using sandbox::IoStatus;
using sandbox::MappedRegion;

/// The reason of worker_failure().
constexpr std::string_view kDecoderFailed = "media_decoder_failed";

Error cancelled_error() {
  return make_error(ErrorCode::kCancelled, "cancelled",
                    "the request was cancelled while its images were decoded");
}

wire::OpenRequest open_request(DecoderClass decoder_class, const DecoderOptions& options,
                               const Limits& limits) {
  wire::OpenRequest request;
  request.limits = image_limits(limits, decoder_class);
  request.address_space_bytes = address_space_bytes(decoder_class, limits);
  request.cpu_seconds = cpu_seconds(decoder_class, options, limits);
  return request;
}

Error worker_unavailable(std::string_view why, std::chrono::seconds retry_after = {}) {
  Error error = make_error(ErrorCode::kUnavailable, "media_worker_unavailable",
                           "the decoder is not there: " + std::string(why));
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
    const IoStatus started = child->wait_started(wait);
    if (started == IoStatus::kOk || started == IoStatus::kTimeout) {
      zygote.record_start(started == IoStatus::kOk);
    }
    switch (started) {
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
                             std::unique_ptr<sandbox::StopEvent> stop)
    : options_(options), limits_(limits), stop_(std::move(stop)) {}

Result<DecodeSession> DecodeSession::open(const DecoderOptions& options, const Limits& limits,
                                          std::span<const EncodedMedia> media,
                                          std::stop_token stop) {
  TSR_ASSIGN_OR_RETURN(const auto classes, check_media(options.zygotes, limits, media));
  auto stop_event = sandbox::StopEvent::create(std::move(stop));
  if (!stop_event) return worker_unavailable(stop_event.error().message);
  DecodeSession session(options, limits, *std::move(stop_event));
  for (std::size_t i = 0; i < media.size(); ++i) {
    session.items_.push_back(
        {{i, classes[i]}, media[i].field, frames_wanted(media[i], classes[i], limits)});
  }
  const sandbox::WaitLimits wait = session.within(options.base_timeout);
  for (const DecoderClass decoder_class : kDecoderClasses) {
    if (std::ranges::find(classes, decoder_class) == classes.end()) continue;
    TSR_RETURN_IF_ERROR(session.start(decoder_class, media, wait));
  }
  return session;
}

Result<void> DecodeSession::start(DecoderClass decoder_class, std::span<const EncodedMedia> media,
                                  const sandbox::WaitLimits& wait) {
  sandbox::Zygote* const zygote = options_.zygotes.of(decoder_class);
  if (zygote == nullptr) return worker_unavailable("this server has none");
  wire::OpenRequest request = open_request(decoder_class, options_, limits_);
  std::vector<int> fds;
  for (const Item& item : items_) {
    if (item.decoder_class != decoder_class) continue;
    const std::size_t at = request.n_items++;
    request.size_bytes[at] = media[item.index].size_bytes;
    request.index[at] = static_cast<std::uint32_t>(item.index);
    request.n_frames_wanted[at] = static_cast<std::uint32_t>(item.n_frames_wanted);
    fds.push_back(media[item.index].fd.get());
  }
  TSR_ASSIGN_OR_RETURN(auto child, start_child(*zygote, request, fds, wait));
  children_[static_cast<std::size_t>(decoder_class)] = std::move(child);
  return {};
}

sandbox::WaitLimits DecodeSession::within(std::chrono::milliseconds time) const {
  return {std::chrono::steady_clock::now() + time, stop_.get()};
}

Result<std::vector<ProbedImage>> DecodeSession::probe() {
  const sandbox::WaitLimits wait = within(options_.base_timeout);
  std::vector<ProbedImage> probed;
  for (item_ = 0; item_ < items_.size(); ++item_) {
    auto image = probe_item(wait);
    if (!image) return in_field(std::move(image).error(), items_[item_].field);
    probed.push_back(*image);
    if (auto checked = check_request_pixels(probed, limits_); !checked) {
      return in_field(std::move(checked).error(), items_[item_].field);
    }
  }
  probed_ = probed;
  return probed;
}

Result<ProbedImage> DecodeSession::probe_item(const sandbox::WaitLimits& wait) {
  const Item& item = items_[item_];
  const auto received = child().channel().receive<wire::ProbeReply>(0, wait);
  if (received.status != IoStatus::kOk) return transport_error(received.status);
  const auto validated = validate_probe(received.message, item, item.n_frames_wanted,
                                        image_limits(limits_, item.decoder_class));
  if (!validated) return refused_reply(validated.error(), received.message.error);
  replies_.push_back(received.message);
  return *validated;
}

Result<std::vector<Image>> DecodeSession::decode() {
  if (probed_.size() != items_.size()) TSR_RETURN_IF_ERROR(probe());
  std::vector<ImageSize> sizes;
  for (const ProbedImage& image : probed_) sizes.push_back(image.size);
  return decode(sizes);
}

Result<std::vector<Image>> DecodeSession::decode(std::span<const ImageSize> targets) {
  TSR_CHECK(targets.size() == probed_.size());
  const sandbox::WaitLimits wait = within(decode_time(options_, probed_));

  std::vector<Image> images;
  for (item_ = 0; item_ < items_.size(); ++item_) {
    if (targets[item_] == ImageSize{}) continue;
    auto frames = decode_item(targets[item_], wait);
    if (!frames) return in_field(std::move(frames).error(), items_[item_].field);
    std::ranges::move(*frames, std::back_inserter(images));
  }
  return images;
}

Result<std::vector<Image>> DecodeSession::decode_item(ImageSize target,
                                                      const sandbox::WaitLimits& wait) {
  const Item& item = items_[item_];
  const auto frames = sample_frames(probed_[item_].n_frames, probed_[item_].n_shown);
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
  const std::array<int, 1> fds{output.get()};
  const IoStatus sent = child().channel().send(plan, fds, wait);
  if (sent != IoStatus::kOk) return transport_error(sent);
  const auto received = child().channel().receive<wire::DecodeReply>(0, wait);
  if (received.status != IoStatus::kOk) return transport_error(received.status);
  const auto validated =
      validate_decoded(received.message, item, plan, image_limits(limits_, item.decoder_class));
  if (!validated) {
    const wire::MediaError found = received.message.error;
    is_damaged_ =
        found == wire::MediaError::kInvalid || found == wire::MediaError::kUnsupportedVariant;
    return refused_reply(validated.error(), found);
  }
  return read_pixels(output, plan);
}

Result<std::vector<Image>> DecodeSession::read_pixels(const UniqueFd& output,
                                                      const wire::DecodePlan& plan) {
  // Refused while the child still has the pixels mapped: what we copy, nobody changes.
  if (!sandbox::add_seals(output.get(), F_SEAL_WRITE | F_SEAL_SEAL)) {
    return child_failure("the decoder kept its hands on the pixels", DecoderDeath::kProtocol);
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

Error DecodeSession::transport_error(IoStatus status) {
  switch (status) {
    case IoStatus::kStopped:
      return cancelled_error();
    case IoStatus::kTimeout:
      return child_failure("the decoder did not finish in time", DecoderDeath::kTimeout);
    case IoStatus::kMalformed:
      return child_failure("the decoder broke its protocol", DecoderDeath::kProtocol);
    case IoStatus::kOk:
    case IoStatus::kClosed:
    case IoStatus::kFailed:
      break;
  }
  return child_failure("the decoder stopped", death_by(child().wait_end(within(kReapTimeout))));
}

Error DecodeSession::refused_reply(Error error, wire::MediaError found) {
  if (error.reason == kDecoderFailed) {  // the others are about the file
    const bool is_memory = found == wire::MediaError::kOutOfMemory;
    death_ = is_memory ? DecoderDeath::kExit : DecoderDeath::kProtocol;
  }
  return error;
}

Error DecodeSession::child_failure(std::string_view why, DecoderDeath death) {
  death_ = death;
  child().kill();
  if (death == DecoderDeath::kForbiddenCall) log(LogLevel::kError, "decoder_forbidden_call");
  // Nothing is known about the file: the same request may well succeed.
  if (death == DecoderDeath::kLost) return worker_unavailable("its parent process ended");
  return worker_failure(items_[item_], why);
}

}  // namespace tessera::media
