// The whole lock-down, seen from inside a child of the test worker.
#include "sandbox/lockdown.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "sandbox/sanitizer.h"
#include "sandbox/test_worker.h"
#include "sandbox/zygote.h"

namespace tessera::sandbox {
namespace {

using test_support::Answer;
using test_support::Command;
using test_support::Deed;

constexpr std::int64_t kNobody = 65534;

class LockdownTest : public testing::Test {
 protected:
  LockdownTest() {
    auto started = Zygote::start({TESSERA_SANDBOX_TEST_WORKER, false}, clock_);
    EXPECT_TRUE(started) << started.error().message;
    zygote_ = *std::move(started);
  }

  static WaitLimits patient() {
    return {std::chrono::steady_clock::now() + std::chrono::seconds(60), nullptr};
  }

  std::optional<std::int64_t> answer_to(Command command) {
    auto child = zygote_->fork_child();
    EXPECT_EQ(child->wait_started(patient()), IoStatus::kOk);
    EXPECT_EQ(child->channel().send(command, {}, patient()), IoStatus::kOk);
    const auto answer = child->channel().receive<Answer>(0, patient());
    if (answer.status == IoStatus::kOk) return answer.message.value;
    end_ = child->wait_end(patient());
    return std::nullopt;
  }

  SteadyClock clock_;
  std::unique_ptr<Zygote> zygote_;
  std::optional<ExitStatus> end_;
};

TEST_F(LockdownTest, ChildStillTalksAfterIt) {
  EXPECT_EQ(answer_to({Deed::kLockDown, 0}), 0);
}

TEST_F(LockdownTest, ForbiddenCallAfterItEndsTheChildBySigsys) {
  EXPECT_EQ(answer_to({Deed::kLockDownThenCall, SYS_getppid}), std::nullopt);
  EXPECT_EQ(end_, (ExitStatus{ExitStatus::Kind::kSignalled, SIGSYS}));
}

TEST_F(LockdownTest, ChildIsNobodyWhereThatCanBeHad) {
  const auto user = answer_to({Deed::kReportUser, 0});

  if (zygote_->level() == SandboxLevel::kA) {
    EXPECT_EQ(user, kNobody);
  } else {
    EXPECT_TRUE(user == kNobody || user == ::geteuid()) << user.value_or(-1);
  }
}

TEST_F(LockdownTest, ChildAtLevelAIsAloneInAnEmptyWorld) {
  const bool alone = zygote_->level() == SandboxLevel::kA;

  EXPECT_EQ(answer_to({Deed::kListRoot, 0}), alone ? ENOENT : 0);
  EXPECT_EQ(answer_to({Deed::kReportParent, 0}) == 1, alone);
}

TEST_F(LockdownTest, OutOfMemoryKillerTakesTheDecodersFirst) {
  std::ifstream file("/proc/" + std::to_string(zygote_->pid()) + "/oom_score_adj");
  int score = 0;
  file >> score;

  EXPECT_EQ(score, 1000);
}

TEST_F(LockdownTest, ChildCannotOpenTheRootDirectoryUnderLandlock) {
  const bool has_landlock =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) > 0;  // 1 = asks for the version

  EXPECT_EQ(answer_to({Deed::kOpenRoot, 0}), has_landlock ? EACCES : 0);
}

TEST(FilterHolds, FindsThatTheFilterKills) {
  const auto filter = SeccompFilter::build(CallList::kDecoder);
  ASSERT_TRUE(filter);

  EXPECT_TRUE(filter_holds(*filter));
}

}  // namespace
}  // namespace tessera::sandbox
