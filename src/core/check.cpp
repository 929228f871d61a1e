#include "core/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tessera {
namespace {
std::atomic<std::uint64_t> n_bugs{0};
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

void report_bug(const char* text, const char* file, int line) {
  n_bugs.fetch_add(1, std::memory_order_relaxed);
  std::fprintf(stderr, "bug: %s (%s:%d)\n", text, file, line);
#ifndef NDEBUG
  std::abort();
#endif
}

std::uint64_t bug_count() {
  return n_bugs.load(std::memory_order_relaxed);
}

}  // namespace tessera
