#include "media/codecs/serve.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "media/codecs/last_words.h"
#include "media/validate.h"
#include "sandbox/child_process.h"
#include "sandbox/memfd.h"
#include "sandbox/zygote_loop.h"

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
  std::uint32_t index = 0;  // in its request
  std::uint32_t n_frames_wanted = 1;
};

bool is_sound(const wire::OpenRequest& request, std::size_t n_fds) {
  return request.header.kind == wire::Kind::kOpen && request.header.version == wire::kVersion &&
         request.n_items <= wire::kItemsMax && request.n_items == n_fds;
}

wire::ProbeReply probe_item(const Decoder& decoder, const InputFile& input,
                            const wire::ImageLimits& limits, LastWords& words) {
  wire::ProbeReply reply;
  reply.header.index = input.index;
  words.set(reply);
  const auto file = MappedRegion::map_readonly(input.fd.get(), input.size_bytes);
  if (!file) {
    reply.error = MediaError::kWorkerFailed;
    return reply;
  }
  const Probe found = decoder.probe(file->bytes(), static_cast<int>(input.n_frames_wanted), limits);
  const ImageHeader& header = found.header;
  const ImageSize size = header.oriented();
  reply.error = header.error;
  reply.format = header.format;
  reply.width = size.width;
  reply.height = size.height;
  reply.n_scans = header.n_scans;
  reply.n_frames = found.n_frames;
  reply.n_passed = found.n_passed;
  reply.duration_ms = found.duration_ms;
  return reply;
}

MediaError decode_into(const Decoder& decoder, const InputFile& input, int output_fd,
                       ImageSize target, std::span<const std::uint32_t> frames,
                       const wire::ImageLimits& limits) {
  if (check_size(target, limits) != MediaError::kNone) return MediaError::kWorkerFailed;
  const auto file = MappedRegion::map_readonly(input.fd.get(), input.size_bytes);
  auto output = MappedRegion::map_writable(output_fd, frames.size() * rgb_bytes(target));
  if (!file || !output) return MediaError::kWorkerFailed;
  return decoder.decode_frames(file->bytes(), limits, target, frames, output->writable_bytes());
}

wire::DecodeReply decode_item(const Decoder& decoder, std::span<const InputFile> inputs,
                              const wire::DecodePlan& plan, std::span<const UniqueFd> fds,
                              const wire::ImageLimits& limits, LastWords& words) {
  wire::DecodeReply reply;
  reply.header.index = plan.header.index;
  reply.width = plan.target_width;
  reply.height = plan.target_height;
  reply.n_channels = kChannels;
  words.set(reply);
  const auto input = std::ranges::find(inputs, plan.header.index, &InputFile::index);
  const bool sound = plan.header.kind == wire::Kind::kPlan &&
                     plan.header.version == wire::kVersion && input != inputs.end() &&
                     plan.n_frames >= 1 && plan.n_frames <= wire::kFramesMax && fds.size() == 1;
  const ImageSize target{plan.target_width, plan.target_height};
  reply.error = MediaError::kWorkerFailed;
  if (sound) {
    reply.error = decode_into(decoder, *input, fds.front().get(), target,
                              std::span(plan.frames).first(plan.n_frames), limits);
  }
  if (reply.error == MediaError::kNone) {
    reply.row_bytes = static_cast<std::uint64_t>(target.width) * kChannels;
    reply.n_frames = plan.n_frames;
  }
  return reply;
}

}  // namespace

int serve(Channel& channel, const Decoder& decoder, const LockDown& lock_down) {
  auto opened = channel.receive<wire::OpenRequest>(wire::kItemsMax);
  if (opened.status == IoStatus::kClosed) return kExitDone;
  if (opened.status != IoStatus::kOk) return kExitProtocol;
  const wire::OpenRequest& request = opened.message;
  if (!is_sound(request, opened.fds.size())) return kExitProtocol;
  if (!lock_down(request)) return kExitLockDown;

  LastWords words(channel);
  std::vector<InputFile> inputs;
  for (std::size_t i = 0; i < opened.fds.size(); ++i) {
    inputs.push_back({std::move(opened.fds[i]), request.size_bytes[i], request.index[i],
                      request.n_frames_wanted[i]});
  }
  for (const InputFile& input : inputs) {
    const auto reply = probe_item(decoder, input, request.limits, words);
    words.clear();
    if (channel.send(reply, {}) != IoStatus::kOk) return kExitDone;
  }
  for (;;) {  // bounded by the other side, which closes or kills
    const auto planned = channel.receive<wire::DecodePlan>(1);
    if (planned.status == IoStatus::kClosed) return kExitDone;
    if (planned.status != IoStatus::kOk) return kExitProtocol;
    const auto reply =
        decode_item(decoder, inputs, planned.message, planned.fds, request.limits, words);
    words.clear();
    if (channel.send(reply, {}) != IoStatus::kOk) return kExitDone;
  }
}

void run_decoder_program(const DecoderProgram& program) {
  const auto serve_request = [&program](Channel& channel, const sandbox::Lockdown& lockdown) {
    const auto lock_down = [&](const wire::OpenRequest& request) {
      return lockdown.apply({
          .address_space_bytes = request.address_space_bytes,
          .cpu_seconds = request.cpu_seconds,
          // The channel, the inputs that are open behind it, and one output at a time.
          .open_files = sandbox::kChildChannelFd + 1 + request.n_items + 1,
          .may_start_threads = program.calls == sandbox::CallList::kThreadedDecoder,
      });
    };
    return serve(channel, program.decoder, lock_down);
  };
  sandbox::run_worker({program.warm_up, serve_request, program.calls});
}

}  // namespace tessera::media
