#include "sandbox/system_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tessera::sandbox {
namespace {

TEST(SystemError, NamesTheCallAndErrno) {
  const Error error = system_error("memfd_create", EMFILE);

  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.reason, "system_call_failed");
  EXPECT_EQ(error.message, "memfd_create failed: EMFILE");
}

TEST(SystemError, GivesTheNumberOfAnUnknownErrno) {
  EXPECT_EQ(system_error("poll", 99999).message, "poll failed: errno 99999");
}

}  // namespace
}  // namespace tessera::sandbox
