// Compiled without sanitizers: their own start allocates before they are ready.
#include "hostile/failing_malloc.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
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

// Every allocation up to here is tried; each step beyond is a fortieth of what came before.
constexpr std::uint64_t kDense = 40;

// Constant-initialised, because the loader allocates before anything is constructed.
constinit bool fails_once = false;
constinit std::atomic<bool> starves = false;
constinit std::uint64_t first_without = 0;
constinit std::atomic<std::uint64_t> n_allocations = 0;
constinit std::uint64_t* next = nullptr;  // shared by all children, which come one by one

bool has_memory() {
  if (!starves) return true;
  const std::uint64_t n = ++n_allocations;
  const bool has = fails_once ? n != first_without : n < first_without;
  if (!has) errno = ENOMEM;
  return has;
}

}  // namespace

void prepare_to_starve(std::string_view program) {
  fails_once = program.ends_with("-once");
  void* const shared =
      ::mmap(nullptr, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  next = ::new (shared) std::uint64_t(1);
}

void starve() {
  if (starves) return;
  first_without = *next;
  *next += 1 + first_without / kDense;
  starves = true;
}

}  // namespace tessera::hostile

using tessera::hostile::has_memory;

extern "C" {

void* malloc(std::size_t n) {
  return has_memory() ? TSR_REAL(malloc)(n) : nullptr;
}

void* calloc(std::size_t n, std::size_t size) {
  return has_memory() ? TSR_REAL(calloc)(n, size) : nullptr;
}

void* realloc(void* memory, std::size_t n) {
  return has_memory() ? TSR_REAL(realloc)(memory, n) : nullptr;
}

void* memalign(std::size_t alignment, std::size_t n) {
  return has_memory() ? TSR_REAL(memalign)(alignment, n) : nullptr;
}

void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return memalign(alignment, n);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t n) {
  void* const allocated = memalign(alignment, n);
  if (allocated == nullptr) return ENOMEM;
  *memory = allocated;
  return 0;
}

void free(void* memory) {
  TSR_REAL(free)(memory);
}

}  // extern "C"

// The C++ ones, which sanitizers have their own of.
void* operator new(std::size_t n) {
  void* const memory = malloc(n == 0 ? 1 : n);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new[](std::size_t n) {
  return operator new(n);
}

void operator delete(void* memory) noexcept {
  free(memory);
}

void operator delete[](void* memory) noexcept {
  free(memory);
}

void operator delete(void* memory, std::size_t /*n*/) noexcept {
  free(memory);
}

void operator delete[](void* memory, std::size_t /*n*/) noexcept {
  free(memory);
}
