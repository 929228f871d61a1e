#include "media/testing/worker_zygote.h"

#include <gtest/gtest.h>

namespace tessera::media::testing {
namespace {

TEST(WorkerZygote, IsStartedOnceForEachPath) {
  sandbox::Zygote& zygote = worker_zygote(TESSERA_MEDIA_WORKER);

  EXPECT_EQ(&worker_zygote(TESSERA_MEDIA_WORKER), &zygote);
  EXPECT_TRUE(zygote.fork_child());
}

}  // namespace
}  // namespace tessera::media::testing
