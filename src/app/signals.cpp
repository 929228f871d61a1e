#include "app/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <latch>

namespace tessera::app {
namespace {

/// Ends the watcher's own thread; nobody else sends it.
constexpr int kWakeSignal = SIGUSR1;

/// As shells report a process that SIGINT ended.
constexpr int kExitInterrupted = 128 + SIGINT;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, kWakeSignal);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  thread_ = std::jthread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "signals");
}

SignalWatcher::~SignalWatcher() {
  pthread_kill(thread_.native_handle(), kWakeSignal);
}

void SignalWatcher::run() {
  const sigset_t set = watched_signals();
  int signal = 0;
  if (sigwait(&set, &signal) != 0 || signal == kWakeSignal) return;
  stop_.request_stop();
  if (sigwait(&set, &signal) != 0 || signal == kWakeSignal) return;
  _exit(kExitInterrupted);
}

void SignalWatcher::wait() {
  std::latch stopped(1);
  const std::stop_callback on_stop(stop_.get_token(), [&stopped] { stopped.count_down(); });
  stopped.wait();
}

}  // namespace tessera::app
