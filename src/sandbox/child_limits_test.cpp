#include "sandbox/child_limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "sandbox/memfd.h"

namespace tessera::sandbox {
namespace {

constexpr ChildLimits kLimits{std::uint64_t{1} << 30U, 5, 64};

rlimit limit_of(__rlimit_resource resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit;
}

/// Runs the probe in a forked child, because limits cannot be taken back.
template <typename Probe>
void expect_when_restricted(const ChildLimits& limits, Probe probe) {
  EXPECT_EXIT(
      {
        if (!restrict_self(limits)) ::_exit(2);
        ::_exit(probe() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(RestrictSelf, SetsEveryLimit) {
  expect_when_restricted(kLimits, [] {
    const bool address_space =
        !can_limit_address_space() || limit_of(RLIMIT_AS).rlim_max == kLimits.address_space_bytes;
    return address_space && limit_of(RLIMIT_CPU).rlim_cur == 5 &&
           limit_of(RLIMIT_CPU).rlim_max == 6 && limit_of(RLIMIT_NOFILE).rlim_max == 64 &&
           limit_of(RLIMIT_FSIZE).rlim_max == 0 && limit_of(RLIMIT_CORE).rlim_max == 0;
  });
}

TEST(RestrictSelf, ForbidsDumpsAndNewPrivileges) {
  expect_when_restricted(kLimits, [] {
    int signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &signal);
    return ::prctl(PR_GET_DUMPABLE) == 0 && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
           signal == SIGKILL;
  });
}

TEST(RestrictSelf, NoDescriptorLimitMeansNoNewDescriptor) {
  expect_when_restricted({std::uint64_t{1} << 30U, 5, 0},
                         [] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0; });
}

TEST(RestrictSelf, OnlyWhoMayStartThreadsKeepsTheUsersLimitOfThem) {
  const rlim_t before = limit_of(RLIMIT_NPROC).rlim_max;
  ChildLimits with_threads = kLimits;
  with_threads.may_start_threads = true;

  expect_when_restricted(kLimits, [] { return limit_of(RLIMIT_NPROC).rlim_max == 0; });
  expect_when_restricted(with_threads,
                         [before] { return limit_of(RLIMIT_NPROC).rlim_max == before; });
}

TEST(RestrictSelf, LargeAllocationsFailWhereAddressSpaceCanBeLimited) {
  expect_when_restricted(kLimits, [] {
    const bool failed = ::mmap(nullptr, std::size_t{2} << 30U, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
    return failed == can_limit_address_space();
  });
}

TEST(RestrictSelf, StillAllowsWritingThroughAMapping) {
  const UniqueFd fd = std::move(create_memfd("test", 4096)).value();
  auto reader = MappedRegion::map_readonly(fd.get(), 4096);
  ASSERT_TRUE(reader);

  expect_when_restricted(kLimits, [&fd] {
    auto writer = MappedRegion::map_writable(fd.get(), 4096);
    if (!writer) return false;
    writer->writable_bytes()[0] = 9;
    return true;
  });

  EXPECT_EQ(reader->bytes()[0], 9);
}

TEST(RestrictSelf, KeepsALowerLimitThatWasInherited) {
  EXPECT_EXIT(
      {
        rlimit low = limit_of(RLIMIT_NOFILE);
        low.rlim_max = 16;
        low.rlim_cur = 16;
        ::setrlimit(RLIMIT_NOFILE, &low);
        if (!restrict_self(kLimits)) ::_exit(2);
        ::_exit(limit_of(RLIMIT_NOFILE).rlim_max == 16 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::sandbox
