// The allocator of the worker programs, beside their main(): the C library's, but that it ends the
// process instead of giving nothing (last_words.h). It serves the libraries too. Not part of builds
// with sanitizers, which have allocators of their own and no limit of address space.
#include <cerrno>
#include <cstddef>

#include "media/codecs/last_words.h"

// What allocates in truth; tests have one that fails (tests/hostile).
#ifndef TESSERA_ALLOCATOR_PREFIX
#define TESSERA_ALLOCATOR_PREFIX __libc_
#endif
#define TESSERA_PASTED(prefix, name) prefix##name
#define TESSERA_PREFIXED(prefix, name) TESSERA_PASTED(prefix, name)
#define TESSERA_ALLOCATOR(name) TESSERA_PREFIXED(TESSERA_ALLOCATOR_PREFIX, name)

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's
extern "C" {
void* TESSERA_ALLOCATOR(malloc)(std::size_t n);
void* TESSERA_ALLOCATOR(calloc)(std::size_t n, std::size_t size);
void* TESSERA_ALLOCATOR(realloc)(void* memory, std::size_t n);
void* TESSERA_ALLOCATOR(memalign)(std::size_t alignment, std::size_t n);
void TESSERA_ALLOCATOR(free)(void* memory);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

void* given(void* memory) {
  if (memory == nullptr) tessera::media::end_without_memory();
  return memory;
}

}  // namespace

extern "C" {

void* malloc(std::size_t n) {
  return given(TESSERA_ALLOCATOR(malloc)(n));
}

void* calloc(std::size_t n, std::size_t size) {
  return given(TESSERA_ALLOCATOR(calloc)(n, size));
}

void* realloc(void* memory, std::size_t n) {
  void* const changed = TESSERA_ALLOCATOR(realloc)(memory, n);
  return n == 0 ? changed : given(changed);  // of no bytes it is a free
}

void* memalign(std::size_t alignment, std::size_t n) {
  return given(TESSERA_ALLOCATOR(memalign)(alignment, n));
}

void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return memalign(alignment, n);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t n) {
  if (alignment % sizeof(void*) != 0) return EINVAL;
  *memory = memalign(alignment, n);
  return 0;
}

void free(void* memory) {
  TESSERA_ALLOCATOR(free)(memory);
}

}  // extern "C"
