// The three tools against programmer errors. None of them may be reachable by a user's input.
//
// TSR_CHECK(cond)   always on: logs and aborts.
// TSR_DCHECK(cond)  for costly conditions: on in debug and sanitizer builds.
// TSR_BUG(text)     surprising but survivable: aborts in debug, counts and logs in release.
#pragma once

#include <cstdint>

namespace tessera {

/// Prints the failed condition and its place to stderr, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

/// Counts and logs a survivable surprise; aborts in debug builds. Thread-safe.
void report_bug(const char* text, const char* file, int line);

/// How many surprises report_bug has counted since start. Thread-safe.
std::uint64_t bug_count();

}  // namespace tessera

#define TSR_CHECK(condition) \
  (static_cast<bool>(condition) ? void() : ::tessera::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define TSR_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define TSR_DCHECK(condition) TSR_CHECK(condition)
#endif

#define TSR_BUG(text) ::tessera::report_bug(text, __FILE__, __LINE__)
