#include "sandbox/zygote_loop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "sandbox/child_process.h"
#include "sandbox/zygote_wire.h"

namespace tessera::sandbox {
namespace {

WaitLimits patient() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(60), nullptr};
}

struct Word {
  std::uint32_t value = 0;
};

/// run_zygote in a forked process; its children answer one word with its double.
class ZygoteLoop : public testing::Test {
 protected:
  ZygoteLoop() : ends_(std::move(Channel::make_pair()).value()) {
    pid_ = ::fork();
    if (pid_ != 0) {
      ends_.second.close();
      return;
    }
    ends_.first.close();
    ::_exit(run_zygote(ends_.second, [](Channel& channel) {
      const auto asked = channel.receive<Word>(0);
      return channel.send(Word{asked.message.value * 2}, {}) == IoStatus::kOk ? 5 : 6;
    }));
  }
  ~ZygoteLoop() override { EXPECT_EQ(finish(), 0); }

  /// Closes the main channel; the exit code.
  int finish() {
    if (pid_ < 0) return 0;
    ends_.first.close();
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  Channel& server() { return ends_.first; }

 private:
  std::pair<Channel, Channel> ends_;
  pid_t pid_ = -1;
};

TEST_F(ZygoteLoop, ForksAChildForAMessageAndReportsItsLife) {
  auto data = Channel::make_pair();
  auto life = Channel::make_pair();
  const std::array fds{data->second.fd(), life->second.fd()};
  ASSERT_EQ(server().send(wire::ForkMessage{}, fds, patient()), IoStatus::kOk);
  data->second.close();
  life->second.close();

  ASSERT_EQ(data->first.send(Word{21}, {}, patient()), IoStatus::kOk);

  EXPECT_EQ(data->first.receive<Word>(0, patient()).message.value, 42U);
  EXPECT_EQ(life->first.receive<wire::LifeMessage>(0, patient()).message.event,
            wire::LifeEvent::kStarted);
  const auto end = life->first.receive<wire::LifeMessage>(0, patient());
  EXPECT_EQ(end.message.event, wire::LifeEvent::kExited);
  EXPECT_EQ(end.message.value, 5);
  EXPECT_EQ(life->first.receive<wire::LifeMessage>(0, patient()).status, IoStatus::kClosed);
}

TEST_F(ZygoteLoop, IgnoresMessagesThatAreNotForks) {
  auto data = Channel::make_pair();
  auto life = Channel::make_pair();
  const std::array fds{data->second.fd(), life->second.fd()};
  wire::ForkMessage other_version;
  ++other_version.version;

  EXPECT_EQ(server().send(wire::ForkMessage{}, {}, patient()), IoStatus::kOk);
  EXPECT_EQ(server().send(wire::ForkMessage{}, std::span(fds).first(1), patient()), IoStatus::kOk);
  EXPECT_EQ(server().send(other_version, fds, patient()), IoStatus::kOk);
  EXPECT_EQ(server().send(Word{1}, fds, patient()), IoStatus::kOk);
  data->second.close();
  life->second.close();

  EXPECT_EQ(data->first.receive<Word>(0, patient()).status, IoStatus::kClosed);
  EXPECT_EQ(life->first.receive<wire::LifeMessage>(0, patient()).status, IoStatus::kClosed);
}

TEST_F(ZygoteLoop, KillsWhatRunsWhenTheServerLeaves) {
  auto data = Channel::make_pair();
  auto life = Channel::make_pair();
  const std::array fds{data->second.fd(), life->second.fd()};
  ASSERT_EQ(server().send(wire::ForkMessage{}, fds, patient()), IoStatus::kOk);
  data->second.close();
  life->second.close();
  ASSERT_EQ(life->first.receive<wire::LifeMessage>(0, patient()).status, IoStatus::kOk);

  EXPECT_EQ(finish(), 0);

  EXPECT_EQ(data->first.receive<Word>(0, patient()).status, IoStatus::kClosed);
}

}  // namespace
}  // namespace tessera::sandbox
