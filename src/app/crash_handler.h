// What is left when the server dies by a bug: one line with the signal and the functions on the
// stack, and nothing else. No core file, because its memory holds people's pictures and prompts.
#pragma once

namespace tessera::app {

/// Installs the handlers, for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, and forbids core files.
/// The process still dies by the signal.
/// @thread the main thread, before others exist; a stack that overflowed on another thread is
///         reported by the kernel alone
void install_crash_handler();

}  // namespace tessera::app
