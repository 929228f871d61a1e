#include "sandbox/allowed_calls.h"

#include <array>

#include "sandbox/sanitizer.h"

namespace tessera::sandbox {
namespace {

using enum CallTerms;

constexpr auto kDecoderCalls = std::to_array<AllowedCall>({
    {"brk", kAny, "malloc: the heap grows"},
    {"mmap", kNeverExecutable, "malloc: large blocks; the files and the output are mapped"},
    {"mremap", kAny, "realloc of a large block"},
    {"munmap", kAny, "free of a large block; done with a file or an output"},
    {"mprotect", kNeverExecutable, "malloc: a heap's edge"},
    {"madvise", kAny, "free gives pages back"},
    {"futex", kAny, "locks and one-time initialisation inside the libraries"},
    {"clock_gettime", kAny, "where the kernel offers no faster way"},
    {"rt_sigreturn", kAny, "the return from a signal handler"},
    {"ppoll", kAny, "waits for the server's next message"},
    {"recvmsg", kAny, "a plan and its output arrive"},
    {"sendmsg", kAny, "replies"},
    {"fstat", kAny, "the size of a file, before it is mapped"},
    {"close", kAny, "done with an output"},
    {"write", kAny, "a library's complaint to stderr, which is /dev/null"},
    {"exit_group", kAny, "the end"},
});

// Those of a decoder, then what threads need.
constexpr auto kThreadedDecoderCalls = std::to_array<AllowedCall>({
    {"brk", kAny, "malloc: the heap grows"},
    {"mmap", kNeverExecutable, "malloc: large blocks; files and the output; stacks of threads"},
    {"mremap", kAny, "realloc of a large block"},
    {"munmap", kAny, "free of a large block; done with a file, an output or a stack"},
    {"mprotect", kNeverExecutable, "malloc: a heap's edge; the guard page of a stack"},
    {"madvise", kAny, "free gives pages back; the stack of a thread that ended"},
    {"futex", kAny, "locks, and threads that wait for each other"},
    {"clock_gettime", kAny, "where the kernel offers no faster way"},
    {"rt_sigreturn", kAny, "the return from a signal handler"},
    {"ppoll", kAny, "waits for the server's next message"},
    {"recvmsg", kAny, "a plan and its output arrive"},
    {"sendmsg", kAny, "replies"},
    {"fstat", kAny, "the size of a file, before it is mapped"},
    {"close", kAny, "done with an output"},
    {"write", kAny, "a library's complaint to stderr, which is /dev/null"},
    {"exit_group", kAny, "the end"},
    {"clone3", kNotThere, "its flags lie in memory; glibc then uses clone"},
    {"clone", kThread, "the thread that a library computes on"},
    {"set_robust_list", kAny, "the start of a thread"},
    {"rseq", kAny, "the start of a thread"},
    {"rt_sigprocmask", kAny, "the start of a thread"},
    {"rt_sigaction", kAny, "the first thread: glibc's own handler"},
    {"exit", kAny, "the end of a thread"},
});

constexpr auto kFetcherCalls = std::to_array<AllowedCall>({
    // memory and time
    {"brk", kAny, "malloc: the heap grows"},
    {"mmap", kNeverExecutable, "malloc: large blocks; outputs are mapped; stacks of threads"},
    {"mremap", kAny, "realloc of a large block"},
    {"munmap", kAny, "free of a large block; done with an output or a stack"},
    {"mprotect", kNeverExecutable, "malloc: a heap's edge; the guard page of a stack"},
    {"madvise", kAny, "free gives pages back; the stack of a thread that ended"},
    {"futex", kAny, "locks"},
    {"clock_gettime", kAny, "where the kernel offers no faster way"},
    {"getrandom", kAny, "keys of TLS, numbers of DNS queries"},
    {"getpid", kAny, "the random numbers of TLS: not those of a fork"},
    // the thread that looks up a name
    {"clone3", kNotThere, "its flags lie in memory; glibc then uses clone"},
    {"clone", kThread, "a thread for each name that is looked up"},
    {"set_robust_list", kAny, "the start of a thread"},
    {"rseq", kAny, "the start of a thread"},
    {"rt_sigprocmask", kAny, "the start of a thread"},
    {"exit", kAny, "the end of a thread"},
    // its files
    {"openat", kToRead, "hosts, resolv.conf and the like; Landlock says which"},
    {"newfstatat", kAny, "whether those files have changed"},
    {"fstat", kAny, "the size of such a file, or of an output"},
    {"read", kAny, "such files, and what arrives on a connection"},
    {"lseek", kAny, "such files: what was read ahead is given back"},
    {"close", kAny, "done with a file, a socket or an output"},
    // sockets
    {"socket", kInternet, "connections, DNS, which addresses are this machine's own"},
    {"socketpair", kLocalPair, "how a thread wakes the one that waits for it"},
    {"bind", kInterfaceList, "which addresses are this machine's own"},
    {"connect", kAny, "web servers and DNS servers; Landlock says which TCP ports"},
    {"getsockname", kAny, "the local end of a connection"},
    {"getpeername", kAny, "the far end of a connection"},
    {"getsockopt", kAny, "whether a connection was made"},
    {"setsockopt", kTransportOptions, "no delay, keep-alive, errors of DNS queries"},
    {"fcntl", kDescriptorFlags, "non-blocking sockets"},
    {"ioctl", kReadableBytes, "the size of a DNS answer"},
    {"poll", kAny, "waits for sockets"},
    {"ppoll", kAny, "waits for the server's next message"},
    {"recvfrom", kAny, "DNS answers; what arrives on a connection"},
    {"recvmsg", kAny, "orders with their outputs; the list of interfaces"},
    {"sendto", kAny, "requests; the question for the list of interfaces"},
    {"sendmsg", kAny, "replies to the server"},
    {"sendmmsg", kAny, "DNS queries for both kinds of address at once"},
    {"write", kAny, "what leaves on a connection; a thread wakes the one that waits"},
    {"writev", kAny, "DNS queries by TCP"},
    // signals, the end
    {"rt_sigaction", kAny, "libcurl ignores SIGPIPE while it closes a connection"},
    {"rt_sigreturn", kAny, "the return from a signal handler"},
    {"exit_group", kAny, "the end"},
});

#ifdef TSR_SANITIZER_RUNTIME
constexpr auto kSanitizerCalls = std::to_array<AllowedCall>({
    {"getpid", kAny, "reports"},
    {"gettid", kAny, "reports, internal locks"},
    {"sched_yield", kAny, "internal locks"},
    {"gettimeofday", kAny, "internal locks that are waited for"},
    {"nanosleep", kAny, "internal threads and locks that wait"},
    {"sigaltstack", kAny, "the start and end of a thread"},
    {"rt_sigprocmask", kAny, "around internal threads"},
    {"rt_sigaction", kAny, "handlers are put back"},
    {"prctl", kAny, "names of mappings"},
    {"prlimit64", kAny, "the size of the stack"},
    {"getrlimit", kAny, "the size of the stack"},
    // from here on where threads are allowed
    {"sched_getaffinity", kAny, "the start of a thread"},
    {"pipe2", kAny, "whether memory can be read, before the type of an object in it is checked"},
});
constexpr std::size_t kThreadCalls = 2;
#else
constexpr std::array<AllowedCall, 0> kSanitizerCalls{};
constexpr std::size_t kThreadCalls = 0;
#endif

}  // namespace

std::string_view to_string(CallTerms terms) {
  switch (terms) {
    case kAny:
      return "";
    case kNeverExecutable:
      return "never executable";
    case kToRead:
      return "only to read";
    case kThread:
      return "only a thread";
    case kNotThere:
      return "answered as missing";
    case kInternet:
      return "only TCP, UDP and the list of interfaces";
    case kLocalPair:
      return "only a pair of our own";
    case kInterfaceList:
      return "only the list of interfaces";
    case kReadableBytes:
      return "only FIONREAD";
    case kDescriptorFlags:
      return "only the flags of a descriptor";
    case kTransportOptions:
      return "only a list of options";
  }
  return "?";
}

std::span<const AllowedCall> allowed_calls(CallList list) {
  switch (list) {
    case CallList::kDecoder:
      return kDecoderCalls;
    case CallList::kThreadedDecoder:
      return kThreadedDecoderCalls;
    case CallList::kFetcher:
      return kFetcherCalls;
  }
  return {};
}

std::span<const AllowedCall> sanitizer_calls(CallList list) {
  const std::span<const AllowedCall> calls = kSanitizerCalls;
  return list == CallList::kDecoder ? calls.first(calls.size() - kThreadCalls) : calls;
}

}  // namespace tessera::sandbox
