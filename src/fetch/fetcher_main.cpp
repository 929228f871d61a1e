// tessera-fetcher: fetches media that requests name by URL. Started by the server with one socket
// and nothing else: no environment, so no proxy and no credentials; no weights; not for use by
// hand.
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

#include "core/limits.h"
#include "fetch/fetch_server.h"
#include "fetch/own_addresses.h"
#include "sandbox/child_limits.h"
#include "sandbox/child_process.h"

namespace {

using tessera::fetch::AddressRange;
using tessera::fetch::AddressVerdict;

constexpr int kExitLockDown = 4;

// wire::kFetchesMax outputs of the default size are 640 MiB; a resolver thread's stack is 8 MiB.
constexpr std::uint64_t kAddressSpaceBytes = 4096 * tessera::kMiB;

// Per fetch: output while it is mapped, two sockets while libcurl races IPv6 against IPv4, and the
// resolver's own; then certificates and interface lists.
constexpr std::uint64_t kOpenFiles = 16 * tessera::fetch::wire::kFetchesMax;

AddressVerdict judge(const sockaddr& address, std::span<const AddressRange> denied) {
  const AddressVerdict verdict = tessera::fetch::judge_address(address, denied);
  if (verdict != AddressVerdict::kPublic) return verdict;
  return tessera::fetch::is_own_address(address) ? AddressVerdict::kOperatorDenied : verdict;
}

}  // namespace

int main() {
  // An arena for each resolver thread would use up the address space.
  ::mallopt(M_ARENA_MAX, 2);
  const auto restricted = tessera::sandbox::restrict_self({
      .address_space_bytes = kAddressSpaceBytes,
      // It lives as long as the server; restrict_self adds one second.
      .cpu_seconds = std::numeric_limits<std::uint64_t>::max() - 1,
      .open_files = kOpenFiles,
  });
  if (!restricted) ::_exit(kExitLockDown);
  tessera::sandbox::Channel channel{tessera::UniqueFd(tessera::sandbox::kChildChannelFd)};
  // No destructors, no exit handlers: nothing here outlives the process.
  ::_exit(tessera::fetch::serve(channel, {.judge = judge, .resolve = {}}));
}
