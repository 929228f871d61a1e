#include "sandbox/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "core/unique_fd.h"

namespace tessera::sandbox {
namespace {

// The kernel's own header on Debian 12 ends with ABI 2; these are from its documentation
// (Documentation/userspace-api/landlock.rst) and never change.
struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // from ABI 4 on
  std::uint64_t scoped = 0;              // from ABI 6 on
};

constexpr unsigned kGetVersion = 1;

constexpr std::uint64_t lowest_bits(int n) {
  return (std::uint64_t{1} << n) - 1;
}

std::uint64_t file_accesses(int abi) {
  if (abi >= 5) return lowest_bits(16);  // ioctl on devices
  if (abi >= 3) return lowest_bits(15);  // truncate
  if (abi == 2) return lowest_bits(14);  // link and rename between directories
  return lowest_bits(13);
}

/// What a kernel of this ABI knows: it refuses bits and sizes from its future.
std::size_t describe(int abi, RulesetAttributes& attributes) {
  attributes.handled_access_fs = file_accesses(abi);
  if (abi < 4) return offsetof(RulesetAttributes, handled_access_net);
  attributes.handled_access_net = lowest_bits(2);  // bind and connect TCP
  if (abi < 6) return offsetof(RulesetAttributes, scoped);
  attributes.scoped = lowest_bits(2);  // abstract sockets and signals
  return sizeof(RulesetAttributes);
}

}  // namespace

int deny_all_by_landlock() {
  const auto abi =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, kGetVersion));
  if (abi < 1) return 0;
  RulesetAttributes attributes;
  const std::size_t size = describe(abi, attributes);
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset || ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return 0;
  return abi;
}

}  // namespace tessera::sandbox
