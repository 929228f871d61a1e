#include "sandbox/landlock.h"

#include <fcntl.h>
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

struct [[gnu::packed]] PathRule {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

struct PortRule {
  std::uint64_t allowed_access = 0;
  std::uint64_t port = 0;
};

constexpr unsigned kGetVersion = 1;
constexpr int kPathRuleType = 1;
constexpr int kPortRuleType = 2;
constexpr std::uint64_t kReadFile = std::uint64_t{1} << 2;
constexpr std::uint64_t kConnectTcp = std::uint64_t{1} << 1;
constexpr int kAbiWithPorts = 4;

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
  if (abi < kAbiWithPorts) return offsetof(RulesetAttributes, handled_access_net);
  attributes.handled_access_net = lowest_bits(2);  // bind and connect TCP
  if (abi < 6) return offsetof(RulesetAttributes, scoped);
  attributes.scoped = lowest_bits(2);  // abstract sockets and signals
  return sizeof(RulesetAttributes);
}

bool add_rule(const UniqueFd& ruleset, int type, const void* rule) {
  return ::syscall(SYS_landlock_add_rule, ruleset.get(), type, rule, 0) == 0;
}

bool add_grants(const UniqueFd& ruleset, int abi, const LandlockGrants& grants) {
  for (const std::string& path : grants.readable) {
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    const PathRule rule{kReadFile, fd.get()};
    if (fd && !add_rule(ruleset, kPathRuleType, &rule)) return false;
  }
  if (abi < kAbiWithPorts) return true;
  for (const std::uint16_t port : grants.connect_ports) {
    const PortRule rule{kConnectTcp, port};
    if (!add_rule(ruleset, kPortRuleType, &rule)) return false;
  }
  return true;
}

}  // namespace

int restrict_by_landlock(const LandlockGrants& grants) {
  const auto abi =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, kGetVersion));
  if (abi < 1) return 0;
  RulesetAttributes attributes;
  const std::size_t size = describe(abi, attributes);
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset || !add_grants(ruleset, abi, grants) ||
      ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return 0;
  }
  return abi;
}

}  // namespace tessera::sandbox
