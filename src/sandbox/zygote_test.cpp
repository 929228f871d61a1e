#include "sandbox/zygote.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/test_processes.h"
#include "sandbox/test_worker.h"
#include "sandbox/zygote_wire.h"

namespace tessera::sandbox {
namespace {

using std::chrono::seconds;
using test_support::Answer;
using test_support::Command;
using test_support::count_open_fds;
using test_support::Deed;
using test_support::descendants;
using test_support::ProcessEnd;
using test_support::shrinks_to;

// Longer than any test may take: no test waits for it unless it fails.
WaitLimits patient() {
  return {std::chrono::steady_clock::now() + seconds(60), nullptr};
}

class ZygoteTest : public testing::Test {
 protected:
  void start() {
    auto started = Zygote::start({TESSERA_SANDBOX_TEST_WORKER, false}, clock_);
    ASSERT_TRUE(started) << started.error().message;
    zygote_ = *std::move(started);
  }

  /// A child that runs.
  ZygoteChild child() {
    auto forked = zygote_->fork_child();
    EXPECT_TRUE(forked) << forked.error().message;
    EXPECT_EQ(forked->wait_started(patient()), IoStatus::kOk);
    return *std::move(forked);
  }

  /// -1 when the child did not answer.
  static std::int64_t ask(ZygoteChild& child, Deed deed, std::int32_t value = 0) {
    EXPECT_EQ(child.channel().send(Command{deed, value}, {}, patient()), IoStatus::kOk);
    const auto answer = child.channel().receive<Answer>(0, patient());
    return answer.status == IoStatus::kOk ? answer.message.value : -1;
  }
  std::int64_t ask(Deed deed, std::int32_t value = 0) {
    ZygoteChild one = child();
    return ask(one, deed, value);
  }
  static void tell(ZygoteChild& child, Deed deed, std::int32_t value = 0) {
    EXPECT_EQ(child.channel().send(Command{deed, value}, {}, patient()), IoStatus::kOk);
  }

  ManualClock clock_;
  std::unique_ptr<Zygote> zygote_;
};

TEST_F(ZygoteTest, ChildSeesItsChannelAndDevNullAndNothingElse) {
  const UniqueFd leak(::dup(STDIN_FILENO));
  start();

  ZygoteChild other = child();

  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
  EXPECT_EQ(ask(other, Deed::kReportDescriptors), 0b1111);
}

TEST_F(ZygoteTest, ReportsHowAChildEnded) {
  start();
  ZygoteChild exits = child();
  ZygoteChild crashes = child();

  tell(exits, Deed::kExit, 7);
  tell(crashes, Deed::kRaise, SIGSEGV);

  EXPECT_EQ(exits.wait_end(patient()), (ExitStatus{ExitStatus::Kind::kExited, 7}));
  EXPECT_EQ(crashes.wait_end(patient()), (ExitStatus{ExitStatus::Kind::kSignalled, SIGSEGV}));
}

TEST_F(ZygoteTest, ChildEndsInOrderWhenItsChannelIsClosed) {
  start();
  ZygoteChild one = child();

  one.channel().close();

  EXPECT_EQ(one.wait_end(patient()), (ExitStatus{ExitStatus::Kind::kExited, 0}));
}

TEST_F(ZygoteTest, DestroyedChildIsKilledAndReapedWhateverItDoes) {
  start();
  const auto before = descendants();
  const auto n_open = count_open_fds();
  {
    ZygoteChild hangs = child();
    tell(hangs, Deed::kHang);
    const auto running = descendants();
    ZygoteChild stopped = child();
    ::kill(test_support::only_new(running), SIGSTOP);
    ZygoteChild idle = child();
  }

  EXPECT_TRUE(shrinks_to(before));
  EXPECT_EQ(count_open_fds(), n_open);
}

TEST_F(ZygoteTest, KillOfOneChildLeavesTheOthersAlone) {
  start();
  ZygoteChild victim = child();
  ZygoteChild other = child();
  tell(victim, Deed::kHang);

  victim.kill();

  EXPECT_EQ(victim.channel().receive<Answer>(0, patient()).status, IoStatus::kClosed);
  EXPECT_EQ(ask(other, Deed::kReportDescriptors), 0b1111);
}

TEST_F(ZygoteTest, RefusesMoreChildrenThanItsBoundAndRecovers) {
  start();
  const auto before = descendants();
  {
    std::vector<ZygoteChild> children;
    for (std::size_t i = 0; i < wire::kChildrenMax; ++i) children.push_back(child());

    auto refused = zygote_->fork_child();
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_EQ(refused->wait_started(patient()), IoStatus::kFailed);
    EXPECT_EQ(refused->channel().receive<Answer>(0, patient()).status, IoStatus::kClosed);
    EXPECT_EQ(ask(children.front(), Deed::kReportDescriptors), 0b1111);
  }

  EXPECT_TRUE(shrinks_to(before));
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
}

TEST_F(ZygoteTest, ServesManyThreadsAtOnce) {
  start();
  const auto before = descendants();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([this, t] {
        for (int i = 0; i < 20; ++i) {
          ZygoteChild one = child();
          tell(one, Deed::kExit, t * 20 + i);
          EXPECT_EQ(one.wait_end(patient()), (ExitStatus{ExitStatus::Kind::kExited, t * 20 + i}));
        }
      });
    }
  }

  EXPECT_TRUE(shrinks_to(before));
}

TEST_F(ZygoteTest, EndsEverythingBelowItWithItsOwner) {
  const auto before = descendants();
  const auto n_open = count_open_fds();
  start();
  {
    ZygoteChild hangs = child();
    tell(hangs, Deed::kHang);

    zygote_.reset();

    EXPECT_EQ(hangs.channel().receive<Answer>(0, patient()).status, IoStatus::kClosed);
  }
  EXPECT_TRUE(shrinks_to(before));
  EXPECT_EQ(count_open_fds(), n_open);
}

// --- a zygote that dies ---

/// Kills the process that the server started, or the innermost one of the zygote.
class DeadZygote : public ZygoteTest, public testing::WithParamInterface<bool> {
 protected:
  /// At level A the server's child only waits for the zygote, which is its only child.
  pid_t innermost() {
    const bool is_below = zygote_->level() == SandboxLevel::kA;
    return is_below ? *test_support::children_of(zygote_->pid()).begin() : zygote_->pid();
  }
  pid_t victim() { return GetParam() ? innermost() : zygote_->pid(); }

  /// Kills one of its processes and waits until both are gone, and their ends of its channel.
  void kill_zygote() {
    const ProcessEnd outermost_end(zygote_->pid());
    const ProcessEnd innermost_end(innermost());
    ::kill(victim(), SIGKILL);
    EXPECT_TRUE(outermost_end.wait() && innermost_end.wait());
  }
};
INSTANTIATE_TEST_SUITE_P(EitherProcess, DeadZygote, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Innermost" : "Outermost");
});

TEST_P(DeadZygote, TakesItsChildrenWithItAndIsStartedAgain) {
  start();
  ZygoteChild hangs = child();
  EXPECT_EQ(ask(hangs, Deed::kReportDescriptors), 0b1111) << "it has let the zygote's go";
  tell(hangs, Deed::kHang);
  const auto n_open = count_open_fds();

  kill_zygote();

  EXPECT_EQ(hangs.channel().receive<Answer>(0, patient()).status, IoStatus::kClosed);
  EXPECT_EQ(hangs.wait_end(patient()), std::nullopt) << "nobody can say how it ended";
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
  EXPECT_EQ(count_open_fds(), n_open);
}

TEST_P(DeadZygote, IsNotStartedAgainAtOnceWhenItDiesAtOnce) {
  start();
  kill_zygote();
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111) << "the first time at once";
  kill_zygote();

  const auto refused = zygote_->fork_child();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "zygote_failed");
  EXPECT_EQ(refused.error().retry_after, seconds(1));

  clock_.advance(seconds(1));
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
}

TEST_F(ZygoteTest, OneThatIsSilentAgainAndAgainIsKilledAndStartedAgain) {
  start();
  const pid_t first = zygote_->pid();
  const ProcessEnd end(first);

  for (int i = 0; i < kSilencesMax; ++i) {
    EXPECT_EQ(zygote_->pid(), first);
    zygote_->record_start(false);
  }

  EXPECT_TRUE(end.wait());
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
  EXPECT_NE(zygote_->pid(), first);
}

/// Returns when the kernel shows it as stopped.
void stop(pid_t process) {
  ::kill(process, SIGSTOP);
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  for (std::string text; text.find(") T") == std::string::npos; ::sched_yield()) {
    std::ifstream file(path);
    ASSERT_TRUE(std::getline(file, text)) << "it is gone";
  }
}

TEST_P(DeadZygote, ThatIsOnlyStoppedIsKilledAtItsFirstSilenceAndStartedAgain) {
  start();
  const pid_t first = zygote_->pid();
  const ProcessEnd end(first);
  stop(victim());

  zygote_->record_start(false);

  EXPECT_TRUE(end.wait());
  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
  EXPECT_NE(zygote_->pid(), first);
}

TEST_F(ZygoteTest, OneThatIsLateNowAndThenIsLeftAlone) {
  start();
  const pid_t first = zygote_->pid();

  for (int i = 0; i < 3 * kSilencesMax; ++i) zygote_->record_start(i % kSilencesMax == 0);

  EXPECT_EQ(zygote_->pid(), first);
}

// --- a worker program that is not one ---

class WrongProgram : public ZygoteTest {
 protected:
  WrongProgram() : path_(testing::TempDir() + "worker-" + std::to_string(::getpid())) {}
  ~WrongProgram() override { ::unlink(path_.c_str()); }

  /// @param script  of sh; descriptor 3 is the channel
  std::string reason_of(const std::string& script, bool allow_unsafe = false) {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path_.c_str(), S_IRUSR | S_IXUSR | S_IWUSR);
    const auto before = descendants();
    auto started = Zygote::start({path_, allow_unsafe}, clock_);
    if (started) return "level " + std::string(to_string((*started)->level()));
    EXPECT_TRUE(shrinks_to(before));
    return started.error().reason;
  }

 private:
  std::string path_;
};

TEST_F(WrongProgram, IsReportedWhenItEndsOrTalksNonsense) {
  EXPECT_EQ(reason_of("exit 0"), "zygote_failed");
  EXPECT_EQ(reason_of("printf hello >&3; read x <&3"), "zygote_failed");
  EXPECT_EQ(reason_of(R"(printf '\002\000\000\000\000\000\000\000' >&3; read x <&3)"),
            "zygote_failed")
      << "another version";
  EXPECT_EQ(reason_of(R"(printf '\001\000\000\000\003\000\000\000' >&3; read x <&3)"),
            "zygote_failed")
      << "no such level";
}

TEST_F(WrongProgram, IsRefusedAtLevelCUnlessAllowed) {
  const std::string level_c = R"(printf '\001\000\000\000\002\000\000\000' >&3; read x <&3)";

  EXPECT_EQ(reason_of(level_c), "sandbox_unavailable");
  EXPECT_EQ(reason_of(level_c, true), "level C");
}

TEST_F(ZygoteTest, ReportsAMissingProgram) {
  const auto started = Zygote::start({"/nonexistent/worker", false}, clock_);

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().reason, "system_call_failed");
}

TEST_F(ZygoteTest, FullDescriptorTableCostsOneRequestAndLeaksNothing) {
  start();
  const auto n_open = count_open_fds();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit original = limit;
  const UniqueFd next(::dup(STDIN_FILENO));

  for (rlim_t n_left = 0; n_left < 4; ++n_left) {
    limit.rlim_cur = static_cast<rlim_t>(next.get()) + 1 + n_left;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto refused = zygote_->fork_child();
    ::setrlimit(RLIMIT_NOFILE, &original);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "socketpair failed: EMFILE");
  }

  EXPECT_EQ(ask(Deed::kReportDescriptors), 0b1111);
  EXPECT_EQ(count_open_fds(), n_open + 1) << "the test's own";
}

}  // namespace
}  // namespace tessera::sandbox
