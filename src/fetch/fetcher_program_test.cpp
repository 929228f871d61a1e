#include "fetch/fetcher_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fetch/loopback_hooks.h"
#include "sandbox/child_process.h"

namespace tessera::fetch {
namespace {

TEST(RunFetcher, EndsWhenNobodyIsAtTheOtherEndOfItsChannel) {
  EXPECT_EXIT(
      {
        ::close(sandbox::kChildChannelFd);
        run_fetcher(loopback_hooks());
      },
      testing::ExitedWithCode(2), "");
}

}  // namespace
}  // namespace tessera::fetch
