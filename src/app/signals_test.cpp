#include "app/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tessera::app {
namespace {

TEST(SignalWatcher, TurnsTheFirstSignalIntoAStopRequest) {
  SignalWatcher signals;
  ASSERT_FALSE(signals.token().stop_requested());

  ::kill(::getpid(), SIGTERM);
  signals.wait();

  EXPECT_TRUE(signals.token().stop_requested());
}

TEST(SignalWatcher, EndsWithoutASignal) {
  const SignalWatcher signals;

  EXPECT_FALSE(signals.token().stop_requested());
}

}  // namespace
}  // namespace tessera::app
