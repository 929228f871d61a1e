#include "media/codecs/last_words.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace tessera::media {
namespace {

using sandbox::Channel;
using sandbox::IoStatus;

/// A child that ends without memory, and its parent's end of their channel.
class LastWordsTest : public ::testing::Test {
 protected:
  LastWordsTest() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = Channel(UniqueFd(ends[0]));
    theirs_ = Channel(UniqueFd(ends[1]));
  }

  /// @return  its exit code
  template <typename Prepare>
  int end_child(Prepare prepare) {
    const pid_t child = ::fork();
    if (child == 0) {
      LastWords words(theirs_);
      prepare(words);
      end_without_memory();
    }
    theirs_.close();
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

  Channel ours_{UniqueFd()};
  Channel theirs_{UniqueFd()};
};

TEST_F(LastWordsTest, AreTheProbeReplyThatIsDue) {
  const int code = end_child([](LastWords& words) {
    wire::ProbeReply due;
    due.header.index = 3;
    words.set(due);
  });

  const auto received = ours_.receive<wire::ProbeReply>(0);
  EXPECT_EQ(code, kExitWithoutMemory);
  ASSERT_EQ(received.status, IoStatus::kOk);
  EXPECT_EQ(received.message.header.kind, wire::Kind::kProbed);
  EXPECT_EQ(received.message.header.index, 3U);
  EXPECT_EQ(received.message.error, wire::MediaError::kOutOfMemory);
  EXPECT_EQ(ours_.receive<wire::ProbeReply>(0).status, IoStatus::kClosed);
}

TEST_F(LastWordsTest, AreTheDecodeReplyThatIsDue) {
  end_child([](LastWords& words) {
    wire::DecodeReply due;
    due.header.index = 2;
    words.set(due);
  });

  const auto received = ours_.receive<wire::DecodeReply>(0);
  ASSERT_EQ(received.status, IoStatus::kOk);
  EXPECT_EQ(received.message.header.kind, wire::Kind::kDecoded);
  EXPECT_EQ(received.message.header.index, 2U);
  EXPECT_EQ(received.message.error, wire::MediaError::kOutOfMemory);
}

TEST_F(LastWordsTest, AreNoneWhenNoReplyIsDue) {
  const int code = end_child([](LastWords& words) {
    words.set(wire::ProbeReply{});
    words.clear();
  });

  EXPECT_EQ(code, kExitWithoutMemory);
  EXPECT_EQ(ours_.receive<wire::ProbeReply>(0).status, IoStatus::kClosed);
}

}  // namespace
}  // namespace tessera::media
