#include "sandbox/seccomp_filter.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "sandbox/memfd.h"
#include "sandbox/sanitizer.h"
#include "sandbox/system_error.h"

namespace tessera::sandbox {
namespace {

constexpr auto kAllowed = std::to_array<AllowedCall>({
    {"brk", false, "malloc: the heap grows"},
    {"mmap", true, "malloc: large blocks; the files and the output are mapped"},
    {"mremap", false, "realloc of a large block"},
    {"munmap", false, "free of a large block; done with a file or an output"},
    {"mprotect", true, "malloc: a heap's edge"},
    {"madvise", false, "free gives pages back"},
    {"futex", false, "locks and one-time initialisation inside the libraries"},
    {"clock_gettime", false, "where the kernel offers no faster way"},
    {"rt_sigreturn", false, "the return from a signal handler"},
    {"ppoll", false, "waits for the server's next message"},
    {"recvmsg", false, "a plan and its output arrive"},
    {"sendmsg", false, "replies"},
    {"fstat", false, "the size of a file, before it is mapped"},
    {"close", false, "done with an output"},
    {"write", false, "a library's complaint to stderr, which is /dev/null"},
    {"exit_group", false, "the end"},
});

#ifdef TSR_SANITIZER_RUNTIME
constexpr auto kSanitizer = std::to_array<AllowedCall>({
    {"getpid", false, "reports"},
    {"gettid", false, "reports, internal locks"},
    {"sched_yield", false, "internal locks"},
    {"sigaltstack", false, "the end of a thread"},
    {"rt_sigprocmask", false, "around internal threads"},
    {"rt_sigaction", false, "handlers are put back"},
    {"prctl", false, "names of mappings"},
    {"prlimit64", false, "the size of the stack"},
    {"getrlimit", false, "the size of the stack"},
});
#else
constexpr std::array<AllowedCall, 0> kSanitizer{};
#endif

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Builder = std::unique_ptr<void, Release>;

/// @return  0, or a negative errno as libseccomp gives it
int allow(const Builder& builder, const AllowedCall& call) {
  const int number = ::seccomp_syscall_resolve_name(call.name);
  if (number == __NR_SCMP_ERROR) return -EINVAL;
  // The protection is the third argument of both calls that take one.
  const scmp_arg_cmp not_executable{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0};
  return ::seccomp_rule_add_array(builder.get(), SCMP_ACT_ALLOW, number,
                                  call.never_executable ? 1 : 0, &not_executable);
}

/// libseccomp writes to descriptors only.
Result<std::vector<sock_filter>> exported(const Builder& builder) {
  TSR_ASSIGN_OR_RETURN(const UniqueFd fd, create_memfd("filter", 0));
  if (const int code = ::seccomp_export_bpf(builder.get(), fd.get()); code != 0) {
    return system_error("seccomp_export_bpf", -code);
  }
  TSR_ASSIGN_OR_RETURN(const std::size_t size, file_size(fd.get()));
  std::vector<sock_filter> program(size / sizeof(sock_filter));
  const ssize_t n_read = ::pread(fd.get(), program.data(), size, 0);
  if (n_read != static_cast<ssize_t>(size)) return system_error("pread", EIO);
  return program;
}

}  // namespace

std::span<const AllowedCall> allowed_calls() {
  return kAllowed;
}

std::span<const AllowedCall> sanitizer_calls() {
  return kSanitizer;
}

Result<SeccompFilter> SeccompFilter::build() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) {
    return system_error("seccomp(GET_ACTION_AVAIL)", errno);
  }
  const Builder builder(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!builder) return system_error("seccomp_init", ENOMEM);
  // Calls of another architecture (32 bits) have other numbers: the same end.
  int code = ::seccomp_attr_set(builder.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (const auto calls : {allowed_calls(), sanitizer_calls()}) {
    for (const AllowedCall& call : calls) {
      if (code == 0) code = allow(builder, call);
    }
  }
  if (code != 0) return system_error("seccomp_rule_add", -code);
  TSR_ASSIGN_OR_RETURN(std::vector<sock_filter> program, exported(builder));
  return SeccompFilter(std::move(program));
}

Result<void> SeccompFilter::install() const {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return system_error("prctl(PR_SET_NO_NEW_PRIVS)", errno);
  }
  // The kernel takes a pointer to mutable filters for historical reasons and does not write.
  const sock_fprog program{
      static_cast<unsigned short>(program_.size()),  // NOLINT(google-runtime-int)
      const_cast<sock_filter*>(program_.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    return system_error("seccomp(SET_MODE_FILTER)", errno);
  }
  return {};
}

}  // namespace tessera::sandbox
