// For tests of each class: its real worker's children, ended from outside in mid-work. The request
// fails by the cause, others are served, nothing is left.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <span>
#include <string_view>

#include "media/decode_session.h"
#include "sandbox/test_processes.h"

namespace tessera::media::testing {

/// @param media  one file of the class
/// @param name   of it in messages: "image 1: "
inline void expect_that_a_killed_child_fails_its_request_alone(const DecoderZygotes& zygotes,
                                                               std::span<const EncodedMedia> media,
                                                               DecoderClass decoder_class,
                                                               std::string_view name) {
  using namespace sandbox::test_support;
  const DecoderOptions options{zygotes, std::chrono::milliseconds(60'000),
                               std::chrono::milliseconds(0)};
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
      EXPECT_TRUE(images.error().message.starts_with(name)) << images.error().message;
      EXPECT_EQ(session->death(), DecoderDeath::kSignal) << signal;
      EXPECT_EQ(session->failed_item().decoder_class, decoder_class);
      EXPECT_TRUE(other->decode());
    }
    EXPECT_TRUE(shrinks_to(before));
  }
  EXPECT_EQ(count_open_fds(), n_open);
}

inline void expect_that_a_stopped_child_is_killed_at_its_deadline(
    const DecoderZygotes& zygotes, std::span<const EncodedMedia> media) {
  using namespace sandbox::test_support;
  // Enough to start a child and to probe on a busy machine; waited for once.
  const DecoderOptions options{zygotes, std::chrono::milliseconds(1000),
                               std::chrono::milliseconds(0)};
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

}  // namespace tessera::media::testing
