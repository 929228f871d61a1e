// The real HEIC worker's children, ended from outside in mid-work: the request fails by the
// cause, others are served, nothing is left.
#include <gtest/gtest.h>

#include <csignal>

#include "media/decode_session.h"
#include "media/heif/testing/encode_heic.h"
#include "media/testing/worker_zygote.h"
#include "sandbox/test_processes.h"

namespace tessera::media::heif {
namespace {

using sandbox::test_support::count_open_fds;
using sandbox::test_support::descendants;
using sandbox::test_support::only_new;
using sandbox::test_support::shrinks_to;
using std::chrono::milliseconds;

DecoderOptions options_of(milliseconds timeout) {
  DecoderOptions options;
  options.zygotes.heif = &media::testing::worker_zygote(TESSERA_HEIF_WORKER);
  options.base_timeout = timeout;
  options.timeout_per_megapixel = milliseconds(0);
  return options;
}

std::vector<EncodedMedia> one_file() {
  std::vector<EncodedMedia> media;
  media.push_back(
      media::testing::to_media(testing::encode_heic(media::testing::gradient({64, 48}))));
  return media;
}

TEST(HeifDeath, AChildThatIsKilledFailsItsRequestAndNoOther) {
  const auto media = one_file();
  const DecoderOptions options = options_of(milliseconds(60'000));
  const auto n_open = count_open_fds();
  const auto before = descendants();
  // Not those that sanitizers catch, to make calls of their own.
  for (const int signal : {SIGKILL, SIGABRT, SIGXCPU}) {
    {
      auto session = DecodeSession::open(options, {}, media, {});
      ASSERT_TRUE(session && session->probe());
      const pid_t child = only_new(before);
      auto other = DecodeSession::open(options, {}, media, {});
      ASSERT_TRUE(other);

      ::kill(child, signal);
      const auto images = session->decode();

      ASSERT_FALSE(images);
      EXPECT_EQ(images.error().reason, "media_decoder_failed");
      EXPECT_TRUE(images.error().message.starts_with("image 1: ")) << images.error().message;
      EXPECT_EQ(session->death(), DecoderDeath::kSignal) << signal;
      EXPECT_EQ(session->failed_item().decoder_class, DecoderClass::kHeif);
      EXPECT_TRUE(other->decode());
    }
    EXPECT_TRUE(shrinks_to(before));
  }
  EXPECT_EQ(count_open_fds(), n_open);
}

TEST(HeifDeath, AChildThatIsStoppedIsKilledAtItsDeadline) {
  const auto media = one_file();
  // Enough to start a child and to probe on a busy machine; waited for once.
  const DecoderOptions options = options_of(milliseconds(1000));
  const auto before = descendants();
  {
    auto session = DecodeSession::open(options, {}, media, {});
    ASSERT_TRUE(session && session->probe());

    ::kill(only_new(before), SIGSTOP);

    EXPECT_FALSE(session->decode());
    EXPECT_EQ(session->death(), DecoderDeath::kTimeout);
  }
  EXPECT_TRUE(shrinks_to(before));
}

}  // namespace
}  // namespace tessera::media::heif
