#include "sandbox/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/unique_fd.h"

namespace tessera::sandbox {
namespace {

/// Runs the probe in a forked child under Landlock; where the kernel has none there is nothing to
/// see.
template <typename Probe>
void expect_under_landlock(Probe probe) {
  EXPECT_EXIT(
      {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        const int abi = deny_all_by_landlock();
        ::_exit(abi == 0 || probe(abi) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(DenyAllByLandlock, NothingCanBeOpenedOrMade) {
  expect_under_landlock([](int /*abi*/) {
    const bool cannot_open = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 && errno == EACCES;
    const std::string path = testing::TempDir() + "landlock-" + std::to_string(::getpid());
    return cannot_open && ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0;
  });
}

TEST(DenyAllByLandlock, WhatIsOpenStaysUsable) {
  const UniqueFd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));

  expect_under_landlock([&zeros](int /*abi*/) {
    char byte = 'x';
    return ::read(zeros.get(), &byte, 1) == 1 && byte == '\0';
  });
}

TEST(DenyAllByLandlock, NoSignalLeavesTheDomainWhereTheKernelCanForbidIt) {
  expect_under_landlock([](int abi) { return abi < 6 || ::kill(::getppid(), 0) != 0; });
}

TEST(RestrictByLandlock, GrantedFilesCanBeReadAndNothingElseDoneToThem) {
  EXPECT_EXIT(
      {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        const int abi = restrict_by_landlock({{"/etc/passwd", "/no such file"}, {}});
        const bool reads = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
        const bool writes = ::open("/etc/passwd", O_WRONLY | O_CLOEXEC) >= 0;
        const bool reads_others = ::open("/etc/group", O_RDONLY | O_CLOEXEC) >= 0;
        ::_exit(abi == 0 || (reads && !writes && !reads_others) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::sandbox
