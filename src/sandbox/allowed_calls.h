// The system calls that our confined processes may make, as lists with a reason for each call. Any
// other call, and any of these on other terms, kills the process (seccomp_filter.h).
//
//   decoder   is given everything before it starts: allocates, computes, talks through one channel
//   threaded decoder   the same for a library that computes on a thread of its own
//   fetcher   talks to strangers: sockets, a thread for each name that is looked up, and the few
//             files that say how names are looked up
//
// Each list is checked by doing the real work under it in a build without sanitizers, whose
// runtimes need a few calls more.
// @thread any; constant data
#pragma once

#include <span>
#include <string_view>

namespace tessera::sandbox {

enum class CallList { kDecoder, kThreadedDecoder, kFetcher };

/// On which arguments a call is allowed.
enum class CallTerms {
  kAny,
  kNeverExecutable,   // mmap, mprotect: without PROT_EXEC, so that memory never becomes code
  kToRead,            // openat: an existing file, to read
  kThread,            // clone: a thread of this process, in no new namespace
  kNotThere,          // answers "no such call"; the caller has another way
  kInternet,          // socket: TCP and UDP, and the kernel's list of interfaces and routes
  kLocalPair,         // socketpair: two ends, both our own
  kInterfaceList,     // bind: an address that is as short as netlink's; no port of IP fits
  kReadableBytes,     // ioctl: asks how many bytes can be read
  kDescriptorFlags,   // fcntl: non-blocking, close-on-exec
  kTransportOptions,  // setsockopt: of TCP, UDP and sockets in general, one by one
};

/// For documents: "never executable", …; empty for kAny.
std::string_view to_string(CallTerms terms);

struct AllowedCall {
  const char* name;
  CallTerms terms;
  const char* reason;
};

/// The list of a build without sanitizers.
std::span<const AllowedCall> allowed_calls(CallList list);

/// What a sanitizer's runtime needs in addition; empty in other builds.
std::span<const AllowedCall> sanitizer_calls(CallList list);

}  // namespace tessera::sandbox
