#include "sandbox/child_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>

namespace tessera::sandbox {
namespace {

using std::chrono::seconds;

// The children are /bin/sh scripts of shell builtins; one write to descriptor 3 is one message.
SpawnOptions shell(std::string script) {
  return {"/bin/sh", {"-c", std::move(script)}, false};
}

TimePoint in(seconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

template <std::size_t N>
struct Text {
  std::array<char, N> bytes{};
};

template <std::size_t N>
std::string answer_of(SpawnedChild& child) {
  const auto received = child.channel.receive<Text<N>>(0, {in(seconds(20)), nullptr});
  if (received.status != IoStatus::kOk) return "no answer";
  return std::string(received.message.bytes.data(), N);
}

bool is_reaped(pid_t pid) {
  return ::waitpid(pid, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST(ChildProcess, ReportsTheExitCode) {
  auto child = spawn_child(shell("exit 7"));
  ASSERT_TRUE(child);

  EXPECT_EQ(child->process.wait(in(seconds(20))), (ExitStatus{ExitStatus::Kind::kExited, 7}));
}

TEST(ChildProcess, ReportsTheSignalAfterKill) {
  auto child = spawn_child(shell("read forever <&3"));
  ASSERT_TRUE(child);

  child->process.kill();

  const ExitStatus killed{ExitStatus::Kind::kSignalled, SIGKILL};
  EXPECT_EQ(child->process.wait(in(seconds(20))), killed);
  EXPECT_EQ(child->process.wait(in(seconds(0))), killed) << "a second wait knows it too";
}

TEST(ChildProcess, WaitGivesUpAtTheDeadline) {
  auto child = spawn_child(shell("read forever <&3"));
  ASSERT_TRUE(child);

  EXPECT_EQ(child->process.wait(in(seconds(0))), std::nullopt);
}

TEST(ChildProcess, DestructorKillsAndReaps) {
  pid_t pid = -1;
  {
    auto child = spawn_child(shell("trap '' TERM HUP; read forever <&3"));
    ASSERT_TRUE(child);
    pid = child->process.pid();
    ASSERT_EQ(::kill(pid, 0), 0);
  }

  EXPECT_TRUE(is_reaped(pid));
}

TEST(ChildProcess, MoveAssignmentEndsTheOldProcess) {
  auto first = spawn_child(shell("read forever <&3"));
  auto second = spawn_child(shell("read forever <&3"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  const pid_t old = first->process.pid();

  first->process = std::move(second->process);

  EXPECT_TRUE(is_reaped(old));
  EXPECT_EQ(first->process.wait(in(seconds(0))), std::nullopt) << "the new one lives";
}

TEST(SpawnChild, GivesTheChildExactlyFourDescriptors) {
  // An inheritable descriptor of ours must not reach the child.
  UniqueFd leak(::dup(STDIN_FILENO));

  // The shell keeps the saved stdout of a redirected loop at 10; it is not looked at.
  auto child = spawn_child(
      shell("i=0; open=; while [ $i -lt 256 ]; do "
            "[ $i -ne 10 ] && [ -e /proc/$$/fd/$i ] && open=\"$open$i\"; i=$((i+1)); done; "
            "printf '%s.' \"$open\" >&3"));
  ASSERT_TRUE(child);

  EXPECT_EQ(answer_of<5>(*child), "0123.");
}

TEST(SpawnChild, ConnectsStandardStreamsToDevNull) {
  auto child =
      spawn_child(shell("[ /proc/$$/fd/0 -ef /dev/null ] && [ /proc/$$/fd/1 -ef /dev/null ] && "
                        "[ /proc/$$/fd/2 -ef /dev/null ] && printf yes >&3 || printf no! >&3"));
  ASSERT_TRUE(child);

  EXPECT_EQ(answer_of<3>(*child), "yes");
}

TEST(SpawnChild, LeavesStandardErrorOpenWhenAsked) {
  SpawnOptions options =
      shell("[ /proc/$$/fd/2 -ef /dev/null ] && printf nul >&3 || printf own >&3");
  options.inherit_stderr = true;
  auto child = spawn_child(options);
  ASSERT_TRUE(child);

  struct stat ours{};
  struct stat null{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &ours), 0);
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  const bool ours_is_null = ours.st_dev == null.st_dev && ours.st_ino == null.st_ino;
  EXPECT_EQ(answer_of<3>(*child), ours_is_null ? "nul" : "own");
}

TEST(SpawnChild, PassesNoEnvironment) {
  auto child = spawn_child(shell("read first < /proc/$$/environ; printf '<%s>' \"$first\" >&3"));
  ASSERT_TRUE(child);

  EXPECT_EQ(answer_of<2>(*child), "<>");
}

TEST(SpawnChild, StartsInTheRootDirectory) {
  auto child = spawn_child(shell("[ . -ef / ] && printf root >&3 || printf else >&3"));
  ASSERT_TRUE(child);

  EXPECT_EQ(answer_of<4>(*child), "root");
}

TEST(SpawnChild, ReportsAMissingProgram) {
  const auto n_open = count_open_fds();

  const auto child = spawn_child({"/nonexistent/program", {}, false});

  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "posix_spawn failed: ENOENT");
  EXPECT_EQ(count_open_fds(), n_open);
}

TEST(SpawnChild, RefusesARelativePath) {
  const auto child = spawn_child({"sh", {}, false});

  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kInvalidArgument);
}

TEST(SpawnChild, LeavesNoDescriptorBehind) {
  const auto n_open = count_open_fds();
  {
    auto child = spawn_child(shell("exit 0"));
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->process.wait(in(seconds(20))));
  }

  EXPECT_EQ(count_open_fds(), n_open);
}

}  // namespace
}  // namespace tessera::sandbox
