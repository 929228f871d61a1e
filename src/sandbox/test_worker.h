// What the tests of the zygote tell a child of tessera-sandbox-test-worker to do.
#pragma once

#include <cstdint>

namespace tessera::sandbox::test_support {

enum class Deed : std::uint32_t {
  kReportDescriptors,  // answers with a bit for each open descriptor below 63
  kReportUser,         // answers with the effective user id
  kReportParent,       // answers with getppid()
  kOpenRoot,           // answers with the errno of opening "/"
  kListRoot,           // answers with the errno of stat("/bin")
  kLockDown,           // answers 0 from inside the lock-down
  kLockDownThenCall,   // makes system call `value` inside it; answers if that returned
  kExit,               // with code `value`
  kRaise,              // signal `value`
  kHang,
};

struct Command {
  Deed deed{};
  std::int32_t value = 0;
};

struct Answer {
  std::int64_t value = 0;
};

}  // namespace tessera::sandbox::test_support
