// A worker whose children misbehave in one way, chosen by the name it is started under (a link to
// it), since a worker gets no arguments and no environment. For tests of the client. Its children
// do not lock themselves down, so that they can do their worst, but for those that try the lock.
// It serves as the worker of any class: what a file claims to be is what it says of it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "media/wire.h"
#include "sandbox/channel.h"
#include "sandbox/memfd.h"
#include "sandbox/zygote_loop.h"

namespace {

using tessera::media::MediaFormat;
using tessera::sandbox::CallList;
using tessera::sandbox::Channel;
using tessera::sandbox::IoStatus;
using tessera::sandbox::Lockdown;
namespace wire = tessera::media::wire;

constexpr int kWidth = 4;
constexpr int kHeight = 2;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  hang();
}

/// What the parent can know of a file, and so what an honest reply says.
struct Claim {
  std::uint32_t index = 0;  // in its request
  MediaFormat format{};
};

std::vector<Claim> claims_of(const tessera::sandbox::Received<wire::OpenRequest>& opened) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < opened.fds.size(); ++i) {
    const auto file = tessera::sandbox::MappedRegion::map_readonly(opened.fds[i].get(),
                                                                   opened.message.size_bytes[i]);
    if (!file) ::_exit(1);
    const auto kind = tessera::media::sniff_format(std::as_bytes(file->bytes()));
    claims.push_back(
        {opened.message.index[i], tessera::media::decodable(kind).value_or(MediaFormat{})});
  }
  return claims;
}

wire::ProbeReply honest_probe(const Claim& claim) {
  wire::ProbeReply reply;
  reply.header.index = claim.index;
  reply.format = claim.format;
  reply.width = kWidth;
  reply.height = kHeight;
  reply.n_scans = 1;
  reply.n_frames = 1;
  reply.n_passed = 1;
  return reply;
}

/// What a mode changes in the reply of the last item.
wire::ProbeReply corrupt(wire::ProbeReply reply, std::string_view mode) {
  if (mode == "probe_wrong_index") ++reply.header.index;
  if (mode == "probe_wrong_version") ++reply.header.version;
  if (mode == "probe_wrong_kind") reply.header.kind = wire::Kind::kDecoded;
  if (mode == "probe_unknown_error") reply.error = wire::MediaError{999};
  if (mode == "probe_no_memory") reply.error = wire::MediaError::kOutOfMemory;
  if (mode == "probe_unknown_format") reply.format = MediaFormat{77};
  if (mode == "probe_negative_size") reply.width = INT_MIN;
  if (mode == "probe_huge_size") reply.width = reply.height = INT_MAX;
  if (mode == "probe_no_scans") reply.n_scans = 0;
  if (mode == "probe_no_frames") reply.n_frames = 0;
  if (mode == "probe_unwanted_frames") reply.n_frames = 2;
  if (mode == "probe_no_passed_frames") reply.n_passed = 0;
  if (mode == "probe_other_class") {
    reply.format = reply.format == MediaFormat::kVideo ? MediaFormat::kHeic : MediaFormat::kVideo;
  }
  return reply;
}

wire::DecodeReply honest_decode(const wire::DecodePlan& plan) {
  wire::DecodeReply reply;
  reply.header.index = plan.header.index;
  reply.width = plan.target_width;
  reply.height = plan.target_height;
  reply.n_channels = 3;
  reply.row_bytes = static_cast<std::uint64_t>(plan.target_width) * 3;
  reply.n_frames = plan.n_frames;
  return reply;
}

wire::DecodeReply corrupt(wire::DecodeReply reply, std::string_view mode) {
  if (mode == "decode_wrong_index") ++reply.header.index;
  if (mode == "decode_wrong_size") reply.width += 1;
  if (mode == "decode_wrong_stride") reply.row_bytes = ~std::uint64_t{0};
  if (mode == "decode_wrong_channels") reply.n_channels = 4;
  if (mode == "decode_wrong_frames") ++reply.n_frames;
  if (mode == "decode_unknown_error") reply.error = wire::MediaError{999};
  if (mode == "decode_no_memory") reply.error = wire::MediaError::kOutOfMemory;
  return reply;
}

/// Writes on while the parent reads, from a second thread, which an unfiltered child can have.
void keep_writing(int fd) {
  static std::vector<std::jthread> writers;
  auto* const pixels = static_cast<volatile unsigned char*>(
      ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  writers.emplace_back([pixels] {
    for (;;) *pixels = static_cast<unsigned char>(*pixels + 1);
  });
}

/// Tries everything that the seals must prevent. True when all of it failed.
bool cannot_resize(int fd) {
  return ::ftruncate(fd, 0) != 0 && ::ftruncate(fd, LLONG_MAX / 2) != 0;
}

/// Gives its rights away as a decoder does, and then wants one back.
void open_socket_when_locked(const Lockdown& lockdown) {
  const bool locked = lockdown
                          .apply({.address_space_bytes = std::uint64_t{1} << 32U,
                                  .cpu_seconds = 10,
                                  .open_files = 64,
                                  .may_start_threads = true})
                          .has_value();
  if (!locked) ::_exit(1);
  ::socket(AF_INET, SOCK_STREAM, 0);
  ::_exit(1);
}

void probe_phase(Channel& channel, std::string_view mode, const std::vector<Claim>& claims) {
  if (mode == "probe_hang") hang();
  if (mode == "probe_forbidden") ::raise(SIGSYS);
  if (mode == "probe_die") die();
  if (mode == "probe_exit") ::_exit(0);
  if (mode == "probe_short") {
    (void)channel.send(wire::Header{}, {});
    hang();
  }
  if (mode == "probe_descriptors") {
    (void)channel.send(honest_probe(claims.front()), std::array<int, 2>{0, 1});
    hang();
  }
  for (const Claim& claim : claims) {
    const bool last = &claim == &claims.back();
    (void)channel.send(last ? corrupt(honest_probe(claim), mode) : honest_probe(claim), {});
    if (mode == "probe_twice") (void)channel.send(honest_probe(claim), {});
  }
  while (mode == "probe_flood" && channel.send(honest_probe(claims.front()), {}) == IoStatus::kOk) {
  }
}

[[noreturn]] void decode_phase(Channel& channel, std::string_view mode) {
  for (;;) {
    const auto planned = channel.receive<wire::DecodePlan>(1);
    if (planned.status != IoStatus::kOk || planned.fds.size() != 1) ::_exit(1);
    if (mode == "decode_hang") hang();
    if (mode == "decode_forbidden") ::raise(SIGSYS);
    if (mode == "decode_die") die();
    if (mode == "decode_exit") ::_exit(0);
    const int output = planned.fds.front().get();
    if (mode == "decode_resizes" && !cannot_resize(output)) ::_exit(1);
    if (mode == "decode_keeps_mapping") {
      (void)::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
    }
    if (mode == "decode_keeps_writing") keep_writing(output);
    (void)channel.send(corrupt(honest_decode(planned.message), mode), {});
    if (mode == "decode_twice") (void)channel.send(honest_decode(planned.message), {});
  }
}

[[noreturn]] void serve(Channel& channel, const Lockdown& lockdown, std::string_view mode) {
  if (mode == "open_exit") ::_exit(0);
  const auto opened = channel.receive<wire::OpenRequest>(wire::kItemsMax);
  if (opened.status != IoStatus::kOk || opened.fds.empty()) ::_exit(1);
  if (mode.ends_with("opens_socket")) open_socket_when_locked(lockdown);
  probe_phase(channel, mode, claims_of(opened));
  decode_phase(channel, mode);
}

}  // namespace

int main(int /*argc*/, char** argv) {
  const std::string path = argv[0];
  const std::string mode = path.substr(path.rfind('/') + 1);
  const auto calls =
      mode.starts_with("threaded_") ? CallList::kThreadedDecoder : CallList::kDecoder;
  tessera::sandbox::run_worker({{},
                                [&mode](Channel& channel, const Lockdown& lockdown) -> int {
                                  serve(channel, lockdown, mode);
                                },
                                calls});
}
