// SIGINT and SIGTERM as a stop request.
#pragma once

#include <stop_token>
#include <thread>

namespace tessera::app {

/// Blocks the signals in the constructing thread and all that it starts later, and ignores SIGPIPE.
/// So: construct it first in main(), before any other thread exists.
/// @thread main
class SignalWatcher {
 public:
  SignalWatcher();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  /// Stopped by the first signal. A second one ends the process at once.
  std::stop_token token() const { return stop_.get_token(); }

  /// Returns after the first signal.
  void wait();

 private:
  void run();

  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace tessera::app
