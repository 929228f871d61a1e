#include "sandbox/seccomp_filter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

namespace tessera::sandbox {
namespace {

struct ForbiddenCall {
  const char* name;
  long number;  // NOLINT(google-runtime-int): the type of syscall()
};

#define TSR_CALL(name) \
  ForbiddenCall {      \
    #name, SYS_##name  \
  }

// What an attacker inside a decoder would reach for. With no arguments, so that nothing happens
// should one be allowed.
const ForbiddenCall kForbiddenCalls[] = {
    // files
    TSR_CALL(openat),
    TSR_CALL(openat2),
    TSR_CALL(readlinkat),
    TSR_CALL(newfstatat),
    TSR_CALL(statx),
    TSR_CALL(getdents64),
    TSR_CALL(unlinkat),
    TSR_CALL(mkdirat),
    TSR_CALL(renameat2),
    TSR_CALL(linkat),
    TSR_CALL(symlinkat),
    TSR_CALL(truncate),
    TSR_CALL(ftruncate),
    TSR_CALL(fchmodat),
    TSR_CALL(fchownat),
    TSR_CALL(name_to_handle_at),
    TSR_CALL(chdir),
    TSR_CALL(chroot),
    TSR_CALL(memfd_create),
    TSR_CALL(inotify_init1),
    TSR_CALL(fanotify_init),
    // network
    TSR_CALL(socket),
    TSR_CALL(socketpair),
    TSR_CALL(connect),
    TSR_CALL(bind),
    TSR_CALL(listen),
    TSR_CALL(accept4),
    TSR_CALL(sendto),
    TSR_CALL(recvfrom),
    TSR_CALL(sendmmsg),
    // processes and other processes
    TSR_CALL(clone),
    TSR_CALL(clone3),
    TSR_CALL(execve),
    TSR_CALL(execveat),
    TSR_CALL(kill),
    TSR_CALL(tkill),
    TSR_CALL(tgkill),
    TSR_CALL(ptrace),
    TSR_CALL(process_vm_readv),
    TSR_CALL(process_vm_writev),
    TSR_CALL(pidfd_open),
    TSR_CALL(pidfd_getfd),
    TSR_CALL(setpriority),
    TSR_CALL(sched_setaffinity),
    TSR_CALL(kcmp),
    // privileges and confinement
    TSR_CALL(setuid),
    TSR_CALL(setresuid),
    TSR_CALL(setgroups),
    TSR_CALL(capset),
    TSR_CALL(seccomp),
    TSR_CALL(unshare),
    TSR_CALL(setns),
    TSR_CALL(mount),
    TSR_CALL(umount2),
    TSR_CALL(pivot_root),
    TSR_CALL(setrlimit),
    // large surfaces of the kernel
    TSR_CALL(io_uring_setup),
    TSR_CALL(bpf),
    TSR_CALL(perf_event_open),
    TSR_CALL(userfaultfd),
    TSR_CALL(keyctl),
    TSR_CALL(add_key),
    TSR_CALL(ioctl),
    TSR_CALL(fcntl),
    TSR_CALL(dup3),
    TSR_CALL(pipe2),
    TSR_CALL(eventfd2),
    TSR_CALL(epoll_create1),
    TSR_CALL(timerfd_create),
    TSR_CALL(signalfd4),
    TSR_CALL(shmget),
    TSR_CALL(msgget),
    TSR_CALL(semget),
    TSR_CALL(mq_open),
    TSR_CALL(init_module),
    TSR_CALL(kexec_load),
    TSR_CALL(reboot),
    TSR_CALL(swapon),
    TSR_CALL(pkey_mprotect),
    TSR_CALL(remap_file_pages),
    TSR_CALL(vmsplice),
    TSR_CALL(splice),
    TSR_CALL(sysinfo),
    TSR_CALL(uname),
    TSR_CALL(getcpu),
#ifdef SYS_open
    TSR_CALL(open),
    TSR_CALL(stat),
    TSR_CALL(fork),
    TSR_CALL(vfork),
    TSR_CALL(modify_ldt),
    TSR_CALL(arch_prctl),
#endif
};

const SeccompFilter& filter(CallList list) {
  static const SeccompFilter kDecoder = SeccompFilter::build(CallList::kDecoder).value();
  static const SeccompFilter kThreaded = SeccompFilter::build(CallList::kThreadedDecoder).value();
  static const SeccompFilter kFetcher = SeccompFilter::build(CallList::kFetcher).value();
  if (list == CallList::kThreadedDecoder) return kThreaded;
  return list == CallList::kDecoder ? kDecoder : kFetcher;
}

/// How a child ends that does `deed` under the filter; a wait status.
template <typename Deed>
int end_under_filter(Deed deed, CallList list = CallList::kDecoder) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!filter(list).install()) ::_exit(2);
    deed();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool died_by_sigsys(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

bool exited_well(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ForbiddenCallTest : public testing::TestWithParam<ForbiddenCall> {};

TEST_P(ForbiddenCallTest, KillsTheProcess) {
  const int status = end_under_filter([] { ::syscall(GetParam().number, 0, 0, 0, 0, 0, 0); });

  EXPECT_TRUE(died_by_sigsys(status)) << "wait status " << status;
}

INSTANTIATE_TEST_SUITE_P(EveryOne, ForbiddenCallTest, testing::ValuesIn(kForbiddenCalls),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SeccompFilter, KillsMemoryThatBecomesCode) {
  constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
  constexpr int kExecutable = PROT_READ | PROT_WRITE | PROT_EXEC;
  static void* const kPage = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, kPrivate, -1, 0);

  EXPECT_TRUE(died_by_sigsys(
      end_under_filter([] { ::mmap(nullptr, 4096, kExecutable, kPrivate, -1, 0); })));
  EXPECT_TRUE(
      died_by_sigsys(end_under_filter([] { ::mprotect(kPage, 4096, PROT_READ | PROT_EXEC); })));
  EXPECT_TRUE(exited_well(end_under_filter([] { ::mprotect(kPage, 4096, PROT_READ); })));
}

#ifdef __x86_64__
TEST(SeccompFilter, KillsTheSameCallsByTheirOtherNumbers) {
  constexpr long kX32Bit = 0x40000000;  // NOLINT(google-runtime-int)
  EXPECT_TRUE(died_by_sigsys(end_under_filter([] { ::syscall(kX32Bit | SYS_write, 1, "", 0); })));
}
#endif

TEST(SeccompFilter, LetsAThreadedDecoderStartThreadsAndNoProcess) {
  constexpr CallList kList = CallList::kThreadedDecoder;

  EXPECT_TRUE(exited_well(end_under_filter([] { std::jthread([] {}).join(); }, kList)));
  EXPECT_TRUE(died_by_sigsys(end_under_filter([] { ::syscall(SYS_clone, SIGCHLD, 0); }, kList)));
  EXPECT_TRUE(died_by_sigsys(end_under_filter(
      [] { ::syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_NEWNET, 0); }, kList)));
  EXPECT_TRUE(died_by_sigsys(end_under_filter([] { ::syscall(SYS_openat, 0, ""); }, kList)));
}

TEST(SeccompFilter, LeavesRoomForADecodersWork) {
  const int status = end_under_filter([] {
    for (std::size_t size = 1; size <= std::size_t{64} << 20U; size *= 4) {
      std::string block(size, 'x');
      block.resize(size * 2);
    }
    [[maybe_unused]] const ssize_t n_written = ::write(STDERR_FILENO, "", 0);
  });

  EXPECT_TRUE(exited_well(status)) << "wait status " << status;
}

}  // namespace
}  // namespace tessera::sandbox
