#include "media/codecs/serve.h"

#include <cstddef>
#include <span>
#include <vector>

#include "media/codecs/decoder.h"
#include "media/validate.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

using sandbox::Channel;
using sandbox::IoStatus;
using sandbox::MappedRegion;

// Seen by whoever waits for the process; the client's error is the same for all.
constexpr int kExitDone = 0;
constexpr int kExitProtocol = 2;
constexpr int kExitLockDown = 3;

struct InputFile {
  UniqueFd fd;
  std::size_t size_bytes = 0;
  std::uint32_t n_frames_wanted = 1;
};

bool is_sound(const wire::OpenRequest& request, std::size_t n_fds) {
  return request.header.kind == wire::Kind::kOpen && request.header.version == wire::kVersion &&
         request.n_items <= wire::kItemsMax && request.n_items == n_fds;
}

wire::ProbeReply probe_item(const InputFile& input, std::uint32_t index,
                            const wire::ImageLimits& limits) {
  wire::ProbeReply reply;
  reply.header.index = index;
  const auto file = MappedRegion::map_readonly(input.fd.get(), input.size_bytes);
  if (!file) {
    reply.error = MediaError::kWorkerFailed;
    return reply;
  }
  const ImageHeader header = probe_image(file->bytes(), limits);
  const ImageSize size = header.oriented();
  reply.error = header.error;
  reply.format = header.format;
  reply.width = size.width;
  reply.height = size.height;
  reply.n_scans = header.n_scans;
  reply.n_frames = 1;
  if (header.error == MediaError::kNone && input.n_frames_wanted > 1) {
    const FrameCount count = count_frames(file->bytes(), header.format, limits);
    reply.error = count.error;
    reply.n_frames = count.n_frames;
  }
  return reply;
}

MediaError decode_into(const InputFile& input, int output_fd, ImageSize target,
                       std::span<const std::uint32_t> frames, const wire::ImageLimits& limits) {
  if (check_size(target, limits) != MediaError::kNone) return MediaError::kWorkerFailed;
  const auto file = MappedRegion::map_readonly(input.fd.get(), input.size_bytes);
  auto output = MappedRegion::map_writable(output_fd, frames.size() * rgb_bytes(target));
  if (!file || !output) return MediaError::kWorkerFailed;
  return decode_frames(file->bytes(), limits, target, frames, output->writable_bytes());
}

wire::DecodeReply decode_item(const std::vector<InputFile>& inputs, const wire::DecodePlan& plan,
                              std::span<const UniqueFd> fds, const wire::ImageLimits& limits) {
  wire::DecodeReply reply;
  reply.header.index = plan.header.index;
  reply.width = plan.target_width;
  reply.height = plan.target_height;
  reply.n_channels = kChannels;
  const bool sound = plan.header.kind == wire::Kind::kPlan &&
                     plan.header.version == wire::kVersion && plan.header.index < inputs.size() &&
                     plan.n_frames >= 1 && plan.n_frames <= wire::kFramesMax && fds.size() == 1;
  const ImageSize target{plan.target_width, plan.target_height};
  reply.error = MediaError::kWorkerFailed;
  if (sound) {
    reply.error = decode_into(inputs[plan.header.index], fds.front().get(), target,
                              std::span(plan.frames).first(plan.n_frames), limits);
  }
  if (reply.error == MediaError::kNone) {
    reply.row_bytes = static_cast<std::uint64_t>(target.width) * kChannels;
    reply.n_frames = plan.n_frames;
  }
  return reply;
}

}  // namespace

int serve(Channel& channel, const LockDown& lock_down) {
  auto opened = channel.receive<wire::OpenRequest>(wire::kItemsMax);
  if (opened.status == IoStatus::kClosed) return kExitDone;
  if (opened.status != IoStatus::kOk) return kExitProtocol;
  const wire::OpenRequest& request = opened.message;
  if (!is_sound(request, opened.fds.size())) return kExitProtocol;
  if (!lock_down(request)) return kExitLockDown;

  std::vector<InputFile> inputs;
  for (std::size_t i = 0; i < opened.fds.size(); ++i) {
    inputs.push_back({std::move(opened.fds[i]), request.size_bytes[i], request.n_frames_wanted[i]});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto reply = probe_item(inputs[i], static_cast<std::uint32_t>(i), request.limits);
    if (channel.send(reply, {}) != IoStatus::kOk) return kExitDone;
  }
  for (;;) {  // bounded by the other side, which closes or kills
    const auto planned = channel.receive<wire::DecodePlan>(1);
    if (planned.status == IoStatus::kClosed) return kExitDone;
    if (planned.status != IoStatus::kOk) return kExitProtocol;
    const auto reply = decode_item(inputs, planned.message, planned.fds, request.limits);
    if (channel.send(reply, {}) != IoStatus::kOk) return kExitDone;
  }
}

}  // namespace tessera::media
