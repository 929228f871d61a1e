// Compiled without sanitizers: their own start allocates before they are ready.
#include "hostile/failing_malloc.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// The allocator below: the sanitizers' or the C library's.
#ifdef TESSERA_SANITIZED
#define TSR_REAL(name) __interceptor_##name
#else
#define TSR_REAL(name) __libc_##name
#endif

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): not ours
extern "C" {
void* TSR_REAL(malloc)(std::size_t n);
void* TSR_REAL(calloc)(std::size_t n, std::size_t size);
void* TSR_REAL(realloc)(void* memory, std::size_t n);
void* TSR_REAL(memalign)(std::size_t alignment, std::size_t n);
void TSR_REAL(free)(void* memory);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace tessera::hostile {
namespace {

// Every allocation up to here is tried; each step beyond is a part of what came before.
constexpr std::uint64_t kDense = 40;
constexpr std::uint64_t kStepPart = 20;

// Constant-initialised, because the loader allocates before anything is constructed.
constinit std::atomic<bool> starves = false;
constinit std::uint64_t first_without = 0;
constinit std::atomic<std::uint64_t> n_allocations = 0;
constinit std::uint64_t* next = nullptr;  // shared by all children, which come one by one

bool has_memory() {
  return !starves || ++n_allocations < first_without;
}

}  // namespace

void prepare_to_starve() {
  void* const shared =
      ::mmap(nullptr, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  next = ::new (shared) std::uint64_t(1);
}

void starve() {
  if (starves) return;
  first_without = *next;
  *next += first_without < kDense ? 1 : 1 + first_without / kStepPart;
  starves = true;
}

}  // namespace tessera::hostile

using tessera::hostile::has_memory;

extern "C" {

void* starved_malloc(std::size_t n) {
  return has_memory() ? TSR_REAL(malloc)(n) : nullptr;
}

void* starved_calloc(std::size_t n, std::size_t size) {
  return has_memory() ? TSR_REAL(calloc)(n, size) : nullptr;
}

void* starved_realloc(void* memory, std::size_t n) {
  return has_memory() ? TSR_REAL(realloc)(memory, n) : nullptr;
}

void* starved_memalign(std::size_t alignment, std::size_t n) {
  return has_memory() ? TSR_REAL(memalign)(alignment, n) : nullptr;
}

void starved_free(void* memory) {
  TSR_REAL(free)(memory);
}

}  // extern "C"

// Sanitizers bring their own, which would go round ours; these are what the C++ library has.
void* operator new(std::size_t n) {
  return std::malloc(n == 0 ? 1 : n);
}

void* operator new[](std::size_t n) {
  return std::malloc(n == 0 ? 1 : n);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*n*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*n*/) noexcept {
  std::free(memory);
}
