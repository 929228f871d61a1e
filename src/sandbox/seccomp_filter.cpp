#include "sandbox/seccomp_filter.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "sandbox/memfd.h"
#include "sandbox/system_error.h"

namespace tessera::sandbox {
namespace {

/// What the arguments of a call must be, all of them; at most three conditions.
using Conditions = std::vector<scmp_arg_cmp>;

constexpr std::uint64_t kNamespaceFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                          CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                          CLONE_NEWCGROUP;

// The lower bits of socket()'s second argument; the others are flags.
constexpr std::uint64_t kSocketTypeMask = 0xF;

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

/// Of an int: what a register holds above it is nothing that the kernel looks at.
scmp_arg_cmp equal(unsigned argument, std::uint64_t value) {
  return masked(argument, 0xFFFF'FFFF, value);
}

std::vector<Conditions> internet_sockets() {
  struct Kind {
    std::uint64_t type;
    std::uint64_t protocol;
  };
  std::vector<Conditions> ways{{equal(0, AF_NETLINK), equal(2, NETLINK_ROUTE)}};
  for (const std::uint64_t family : {std::uint64_t{AF_INET}, std::uint64_t{AF_INET6}}) {
    for (const auto& [type, protocol] : {Kind{SOCK_STREAM, 0}, Kind{SOCK_STREAM, IPPROTO_TCP},
                                         Kind{SOCK_DGRAM, 0}, Kind{SOCK_DGRAM, IPPROTO_UDP}}) {
      ways.push_back({equal(0, family), masked(1, kSocketTypeMask, type), equal(2, protocol)});
    }
  }
  return ways;
}

std::vector<Conditions> transport_options() {
  struct Option {
    std::uint64_t level;
    std::uint64_t name;
  };
  std::vector<Conditions> ways;
  for (const auto& [level, name] :
       {Option{IPPROTO_TCP, TCP_NODELAY}, Option{IPPROTO_TCP, TCP_KEEPIDLE},
        Option{IPPROTO_TCP, TCP_KEEPINTVL}, Option{SOL_SOCKET, SO_KEEPALIVE},
        Option{IPPROTO_IP, IP_RECVERR}, Option{IPPROTO_IPV6, IPV6_RECVERR}}) {
    ways.push_back({equal(1, level), equal(2, name)});
  }
  return ways;
}

/// The ways to make a call on these terms; one of them must hold.
std::vector<Conditions> ways_of(CallTerms terms) {
  switch (terms) {
    case CallTerms::kAny:
    case CallTerms::kNotThere:
      return {{}};
    case CallTerms::kNeverExecutable:
      return {{masked(2, PROT_EXEC, 0)}};
    case CallTerms::kToRead:
      return {{masked(2, O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE, O_RDONLY)}};
    case CallTerms::kThread:
      return {{masked(0, CLONE_THREAD | CLONE_VM | kNamespaceFlags, CLONE_THREAD | CLONE_VM)}};
    case CallTerms::kInternet:
      return internet_sockets();
    case CallTerms::kLocalPair:
      return {{equal(0, AF_UNIX)}};
    case CallTerms::kInterfaceList:
      static_assert(sizeof(sockaddr_nl) < sizeof(sockaddr_in));
      return {{equal(2, sizeof(sockaddr_nl))}};
    case CallTerms::kReadableBytes:
      return {{equal(1, FIONREAD)}};
    case CallTerms::kDescriptorFlags:
      return {{equal(1, F_GETFL)}, {equal(1, F_SETFL)}, {equal(1, F_GETFD)}, {equal(1, F_SETFD)}};
    case CallTerms::kTransportOptions:
      return transport_options();
  }
  return {};
}

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Builder = std::unique_ptr<void, Release>;

/// @return  0, or a negative errno as libseccomp gives it
int allow(const Builder& builder, const AllowedCall& call) {
  const int number = ::seccomp_syscall_resolve_name(call.name);
  if (number == __NR_SCMP_ERROR) return -EINVAL;
  const std::uint32_t action =
      call.terms == CallTerms::kNotThere ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW;
  for (const Conditions& way : ways_of(call.terms)) {
    const int code = ::seccomp_rule_add_array(builder.get(), action, number,
                                              static_cast<unsigned>(way.size()), way.data());
    // A call of both lists: of our own and of the sanitizers.
    if (code != 0 && code != -EEXIST) return code;
  }
  return 0;
}

/// libseccomp writes to descriptors only.
Result<std::vector<sock_filter>> exported(const Builder& builder) {
  TSR_ASSIGN_OR_RETURN(const UniqueFd fd, create_memfd("filter", 0));
  if (const int code = ::seccomp_export_bpf(builder.get(), fd.get()); code != 0) {
    return system_error("seccomp_export_bpf", -code);
  }
  TSR_ASSIGN_OR_RETURN(const std::size_t size, file_size(fd.get()));
  std::vector<sock_filter> program(size / sizeof(sock_filter));
  const ssize_t n_read = ::pread(fd.get(), program.data(), size, 0);
  if (n_read != static_cast<ssize_t>(size)) return system_error("pread", EIO);
  return program;
}

}  // namespace

Result<SeccompFilter> SeccompFilter::build(CallList list) {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) {
    return system_error("seccomp(GET_ACTION_AVAIL)", errno);
  }
  const Builder builder(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!builder) return system_error("seccomp_init", ENOMEM);
  // A tree instead of a list. At each install the kernel tries the program for every call there is,
  // to know which are always allowed: a decoder's start pays for the length of the paths.
  constexpr std::uint32_t kTree = 2;
  int code = ::seccomp_attr_set(builder.get(), SCMP_FLTATR_CTL_OPTIMIZE, kTree);
  if (code != 0) return system_error("seccomp_attr_set", -code);
  // Calls of another architecture (32 bits) have other numbers: the same end.
  code = ::seccomp_attr_set(builder.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (const auto calls : {allowed_calls(list), sanitizer_calls(list)}) {
    for (const AllowedCall& call : calls) {
      if (code == 0) code = allow(builder, call);
    }
  }
  if (code != 0) return system_error("seccomp_rule_add", -code);
  TSR_ASSIGN_OR_RETURN(std::vector<sock_filter> program, exported(builder));
  return SeccompFilter(std::move(program));
}

Result<void> SeccompFilter::install() const {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return system_error("prctl(PR_SET_NO_NEW_PRIVS)", errno);
  }
  // The kernel takes a pointer to mutable filters for historical reasons and does not write.
  const sock_fprog program{
      static_cast<unsigned short>(program_.size()),  // NOLINT(google-runtime-int)
      const_cast<sock_filter*>(program_.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    return system_error("seccomp(SET_MODE_FILTER)", errno);
  }
  return {};
}

}  // namespace tessera::sandbox
