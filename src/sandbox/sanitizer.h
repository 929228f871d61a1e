// TSR_SANITIZER_RUNTIME: this build carries the runtime of a sanitizer that needs terabytes of
// address space for its shadow, and system calls of its own.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TSR_SANITIZER_RUNTIME 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TSR_SANITIZER_RUNTIME 1
#endif
#endif
