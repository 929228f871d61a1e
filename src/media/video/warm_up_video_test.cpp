#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "media/validate.h"
#include "media/video/testing/encode_clip.h"
#include "media/video/video_decoder.h"
#include "sandbox/seccomp_filter.h"

namespace tessera::media::video {
namespace {

TEST(WarmUpVideo, LeavesNothingThatAFilteredDecoderWouldHaveToOpen) {
  const auto filter = sandbox::SeccompFilter::build(sandbox::CallList::kDecoder);
  ASSERT_TRUE(filter);
  const auto file = testing::encode_clip({.n_frames = 3});
  warm_up_video();

  const pid_t child = ::fork();
  if (child == 0) {
    if (!filter->install()) ::_exit(2);
    const auto limits = image_limits(Limits{}, DecoderClass::kVideo);
    ::_exit(probe_video(file, 8, limits).header.error == MediaError::kNone ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tessera::media::video
