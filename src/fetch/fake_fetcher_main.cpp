// A fetcher that misbehaves in one way, chosen by the name it is started under (a link to it),
// since a fetcher gets no arguments and no environment. For tests of the server's side.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>

#include "fetch/wire.h"
#include "sandbox/channel.h"
#include "sandbox/child_process.h"

namespace {

using tessera::UniqueFd;
using tessera::sandbox::Channel;
using tessera::sandbox::IoStatus;
namespace wire = tessera::fetch::wire;

constexpr std::string_view kBody = "\x89PNG\r\n\x1a\nand so on";

[[noreturn]] void hang() {
  for (;;) ::pause();
}

/// What a mode changes in an honest reply.
wire::Reply corrupt(wire::Reply reply, std::string_view mode, const wire::Order& order) {
  if (mode == "future_id") reply.header.id += 1000;
  if (mode == "no_id") reply.header.id = 0;
  if (mode == "wrong_kind") reply.header.kind = wire::Kind::kFetch;
  if (mode == "wrong_version") ++reply.header.version;
  if (mode == "unknown_outcome") reply.outcome = wire::Outcome{wire::kOutcomeCount};
  if (mode == "huge_size") reply.size_bytes = order.bytes_max + 1;
  if (mode == "empty") reply.size_bytes = 0;
  if (mode == "busy") reply.outcome = wire::Outcome::kBusy;
  return reply;
}

void answer(Channel& channel, const wire::Order& order, int output, std::string_view mode) {
  if (mode == "hang") hang();
  if (mode == "die") ::_exit(1);
  if (mode == "forbidden") (void)::raise(SIGSYS);
  if (mode == "short") (void)channel.send(wire::Header{}, {});
  const bool can_grow = ::ftruncate(output, static_cast<off_t>(order.bytes_max + 1)) == 0;
  if (mode == "grow" && can_grow) ::_exit(1);
  if (mode == "keep_mapping") {
    (void)::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
  }
  (void)!::pwrite(output, kBody.data(), kBody.size(), 0);
  if (mode == "shrink") (void)!::ftruncate(output, 1);
  wire::Reply reply;
  reply.header.id = order.header.id;
  reply.outcome = wire::Outcome::kFetched;
  reply.size_bytes = kBody.size();
  if (mode == "descriptors") {
    (void)channel.send(reply, std::array<int, 1>{output});
    hang();
  }
  (void)channel.send(corrupt(reply, mode, order), {});
  if (mode == "twice") (void)channel.send(reply, {});
}

}  // namespace

int main(int /*argc*/, char** argv) {
  const std::string path = argv[0];
  const std::string mode = path.substr(path.rfind('/') + 1);
  if (mode == "exit") ::_exit(0);
  Channel channel{UniqueFd(tessera::sandbox::kChildChannelFd)};
  if (channel.receive<wire::Configure>(0).status != IoStatus::kOk) ::_exit(1);
  for (;;) {
    auto order = channel.receive<wire::Order>(1);
    if (order.status != IoStatus::kOk) ::_exit(1);
    if (order.fds.empty()) continue;
    answer(channel, order.message, order.fds.front().get(), mode);
    order.fds.clear();
  }
}
