#include "media/codecs/warm_up.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/codecs/decoder.h"
#include "media/testing/encode_images.h"
#include "media/validate.h"
#include "sandbox/seccomp_filter.h"

namespace tessera::media {
namespace {

TEST(WarmUp, LeavesNothingThatAFilteredDecoderWouldHaveToOpen) {
  const auto filter = sandbox::SeccompFilter::build(sandbox::CallList::kDecoder);
  ASSERT_TRUE(filter);
  const auto file = testing::encode_png(testing::gradient({8, 8}));
  warm_up();

  const pid_t child = ::fork();
  if (child == 0) {
    if (!filter->install()) ::_exit(2);
    ::_exit(probe_image(file, image_limits(Limits{})).error == MediaError::kNone ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tessera::media
