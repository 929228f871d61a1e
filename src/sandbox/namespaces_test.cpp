#include "sandbox/namespaces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tessera::sandbox {
namespace {

/// Runs the probe in a forked child, because nothing of this can be taken back.
template <typename Probe>
void expect_in_child(Probe probe) {
  EXPECT_EXIT(::_exit(probe() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(GiveUpRoot, RootBecomesNobodyForGoodWhereThereIsNobody) {
  expect_in_child([] {
    const bool was_root = ::geteuid() == 0;
    give_up_root();
    if (!was_root) return true;
    // A user namespace may know no other user than root.
    if (::geteuid() == 0) return ::setresuid(65534, 65534, 65534) != 0;
    return ::geteuid() == 65534 && ::getegid() == 65534 && ::getgroups(0, nullptr) == 0 &&
           ::setuid(0) != 0;
  });
}

TEST(DropCapabilities, NothingPrivilegedIsLeft) {
  expect_in_child([] {
    drop_capabilities();
    return ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0 && errno == EPERM;
  });
}

TEST(EnterNamespaces, LeavesAProcessAloneInAnEmptyReadOnlyRoot) {
  expect_in_child([] {
    give_up_root();
    if (!enter_namespaces()) return true;  // a system without them: level B
    struct stat info{};
    ifaddrs* interfaces = nullptr;
    const bool no_network =
        ::getifaddrs(&interfaces) != 0 || interfaces == nullptr || interfaces->ifa_next == nullptr;
    return ::getpid() == 1 && ::stat("/bin", &info) != 0 && ::stat("/proc", &info) != 0 &&
           ::open("/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0 && no_network;
  });
}

TEST(EnterNamespaces, OldProcessEndsAsTheNewOneDoes) {
  EXPECT_EXIT(
      {
        give_up_root();
        enter_namespaces();
        ::_exit(42);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace tessera::sandbox
