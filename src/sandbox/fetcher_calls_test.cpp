// The fetcher's list: calls that kill, calls that are allowed on their terms only.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "sandbox/sanitizer.h"
#include "sandbox/seccomp_filter.h"

namespace tessera::sandbox {
namespace {

using Word = long;  // NOLINT(google-runtime-int): the type of syscall()

struct Call {
  const char* name;
  Word number;
  Word first = 0;
  Word second = 0;
  Word third = 0;
};

/// How a child ends that does `deed` under the fetcher's filter; a wait status.
template <typename Deed>
int end_under_filter(Deed deed) {
  static const SeccompFilter kFilter = SeccompFilter::build(CallList::kFetcher).value();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!kFilter.install()) ::_exit(2);
    ::_exit(deed() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

std::string name_of(const testing::TestParamInfo<Call>& info) {
  return info.param.name;
}

// What an attacker inside the fetcher would reach for. Harmless should one be allowed: descriptors
// that are not there, no names.
const Call kForbidden[] = {
    // programs, processes
    {"execve", SYS_execve},
    {"execveat", SYS_execveat},
    {"clone_process", SYS_clone, SIGCHLD},
    {"clone_namespace", SYS_clone, CLONE_THREAD | CLONE_VM | CLONE_NEWUSER},
    {"ptrace", SYS_ptrace},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"pidfd_open", SYS_pidfd_open},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"kill", SYS_kill},
    {"tkill", SYS_tkill},
    {"setsid", SYS_setsid},
    // files
    {"open_to_write", SYS_openat, -1, 0, O_WRONLY},
    {"open_to_read_and_write", SYS_openat, -1, 0, O_RDWR},
    {"open_to_create", SYS_openat, -1, 0, O_RDONLY | O_CREAT},
    {"open_to_truncate", SYS_openat, -1, 0, O_RDONLY | O_TRUNC},
    {"open_temporary", SYS_openat, -1, 0, O_TMPFILE | O_RDWR},
    {"openat2", SYS_openat2},
    {"getdents64", SYS_getdents64},
    {"readlinkat", SYS_readlinkat},
    {"unlinkat", SYS_unlinkat},
    {"renameat2", SYS_renameat2},
    {"mkdirat", SYS_mkdirat},
    {"linkat", SYS_linkat},
    {"ftruncate", SYS_ftruncate},
    {"fchmod", SYS_fchmod},
    {"fchown", SYS_fchown},
    {"memfd_create", SYS_memfd_create},
    // sockets
    {"bind_ipv4", SYS_bind, -1, 0, sizeof(sockaddr_in)},
    {"bind_ipv6", SYS_bind, -1, 0, sizeof(sockaddr_in6)},
    {"listen", SYS_listen, -1},
    {"accept", SYS_accept, -1},
    {"accept4", SYS_accept4, -1},
    {"socket_unix", SYS_socket, AF_UNIX, SOCK_STREAM},
    {"socket_raw", SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP},
    {"socket_ping", SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
    {"socket_packet", SYS_socket, AF_PACKET, SOCK_RAW},
    {"socket_vsock", SYS_socket, AF_VSOCK, SOCK_STREAM},
    {"socket_crypto", SYS_socket, AF_ALG, SOCK_SEQPACKET},
    {"socket_sctp", SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP},
    {"socket_audit", SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT},
    {"socketpair_tipc", SYS_socketpair, AF_TIPC, SOCK_STREAM},
    {"socket_upper_protocol", SYS_setsockopt, -1, IPPROTO_TCP, TCP_ULP},
    {"socket_device", SYS_setsockopt, -1, SOL_SOCKET, SO_BINDTODEVICE},
    {"signals_by_socket", SYS_fcntl, -1, F_SETOWN},
    {"duplicate", SYS_fcntl, -1, F_DUPFD},
    {"terminal", SYS_ioctl, -1, TIOCSTI},
    // privileges, large surfaces
    {"setuid", SYS_setuid},
    {"capset", SYS_capset},
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
    {"mount", SYS_mount},
    {"seccomp", SYS_seccomp},
    {"bpf", SYS_bpf},
    {"io_uring_setup", SYS_io_uring_setup},
    {"perf_event_open", SYS_perf_event_open},
    {"userfaultfd", SYS_userfaultfd},
    {"keyctl", SYS_keyctl},
    {"executable_memory", SYS_mprotect, 0, 0, PROT_READ | PROT_EXEC},
    {"executable_mapping", SYS_mmap, 0, 0, PROT_READ | PROT_EXEC},
#ifdef __x86_64__
    {"open", SYS_open},
    {"fork", SYS_fork},
    {"vfork", SYS_vfork},
#endif
};

class ForbiddenToAFetcherTest : public testing::TestWithParam<Call> {};

TEST_P(ForbiddenToAFetcherTest, KillsTheProcess) {
  const int status = end_under_filter([] {
    const Call& call = GetParam();
    ::syscall(call.number, call.first, call.second, call.third, 0, 0, 0);
    return true;
  });

  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << "wait status " << status;
}

INSTANTIATE_TEST_SUITE_P(EveryOne, ForbiddenToAFetcherTest, testing::ValuesIn(kForbidden), name_of);

// Each fails for want of a descriptor or a name, and the process lives.
const Call kAllowedOnTheseTerms[] = {
    {"open_to_read", SYS_openat, -1, 0, O_RDONLY | O_CLOEXEC},
    {"bind_netlink", SYS_bind, -1, 0, sizeof(sockaddr_nl)},
    {"no_delay", SYS_setsockopt, -1, IPPROTO_TCP, TCP_NODELAY},
    {"keep_alive", SYS_setsockopt, -1, SOL_SOCKET, SO_KEEPALIVE},
    {"non_blocking", SYS_fcntl, -1, F_SETFL},
    {"readable_bytes", SYS_ioctl, -1, FIONREAD},
};

class AllowedToAFetcherTest : public testing::TestWithParam<Call> {};

TEST_P(AllowedToAFetcherTest, ReturnsToTheProcess) {
  const int status = end_under_filter([] {
    const Call& call = GetParam();
    return ::syscall(call.number, call.first, call.second, call.third, 0, 0, 0) == -1;
  });

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

INSTANTIATE_TEST_SUITE_P(EveryOne, AllowedToAFetcherTest, testing::ValuesIn(kAllowedOnTheseTerms),
                         name_of);

TEST(FetcherCalls, SocketsOfTheInternetCanBeHad) {
  const int status = end_under_filter([] {
    return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP) >= 0 &&
           ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) >= 0 &&
           ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

TEST(FetcherCalls, TheNewerCallForThreadsAndProcessesIsAnsweredAsMissing) {
  const int status =
      end_under_filter([] { return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS; });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

}  // namespace
}  // namespace tessera::sandbox
