#include "app/crash_handler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace tessera::app {
namespace {

[[noreturn]] void die_by(int signal) {
  install_crash_handler();
  ::raise(signal);
  std::_Exit(0);
}

TEST(CrashHandlerDeathTest, NamesTheSignalAndDiesByIt) {
  EXPECT_EXIT(die_by(SIGBUS), testing::KilledBySignal(SIGBUS), "died by SIGBUS");
  EXPECT_EXIT(die_by(SIGABRT), testing::KilledBySignal(SIGABRT), "died by SIGABRT");
}

TEST(CrashHandlerDeathTest, LeavesNoCoreFile) {
  const auto core_limit_is_zero = [] {
    install_crash_handler();
    rlimit limit{};
    const bool zero = ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
    std::_Exit(zero ? 0 : 1);
  };
  EXPECT_EXIT(core_limit_is_zero(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::app
