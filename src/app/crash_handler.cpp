#include "app/crash_handler.h"

#include <execinfo.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string_view>

namespace tessera::app {
namespace {

/// Frames of a report; deeper ones are seldom needed and each costs a line.
constexpr int kFramesMax = 64;

/// The handler's own stack: the normal one may be what overflowed. backtrace needs some 10 KiB.
constexpr std::size_t kStackBytes = std::size_t{64} * 1024;

void write_text(std::string_view text) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string_view signal_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "a signal";
  }
}

/// Only async-signal-safe calls. The handler was reset before it runs (SA_RESETHAND), so raising
/// the signal again ends the process the way it would have ended.
extern "C" void report_crash(int signal) {
  write_text("tessera: died by ");
  write_text(signal_name(signal));
  write_text("; please report these lines\n");
  std::array<void*, kFramesMax> frames{};
  const int n_frames = ::backtrace(frames.data(), kFramesMax);
  ::backtrace_symbols_fd(frames.data(), n_frames, STDERR_FILENO);
  ::raise(signal);
}

}  // namespace

void install_crash_handler() {
  // The first call loads a library, which a handler must not do.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);

  alignas(16) static std::array<std::byte, kStackBytes> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  ::sigaltstack(&alternative, nullptr);

  struct sigaction action{};
  action.sa_handler = report_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    ::sigaction(signal, &action, nullptr);
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace tessera::app
