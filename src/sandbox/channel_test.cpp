#include "sandbox/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>

namespace tessera::sandbox {
namespace {

using std::chrono::milliseconds;

struct Small {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

struct Large {
  std::array<std::uint64_t, 4> words{};
};

std::pair<Channel, Channel> connected() {
  return std::move(Channel::make_pair()).value();
}

std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

WaitLimits already_late() {
  return WaitLimits{std::chrono::steady_clock::now(), nullptr};
}

TEST(Channel, CarriesAMessageWhole) {
  auto [here, there] = connected();

  ASSERT_EQ(here.send(Small{1, 2}, {}), IoStatus::kOk);
  const auto received = there.receive<Small>(0);

  ASSERT_EQ(received.status, IoStatus::kOk);
  EXPECT_EQ(received.message.a, 1U);
  EXPECT_EQ(received.message.b, 2U);
  EXPECT_TRUE(received.fds.empty());
}

TEST(Channel, CarriesDescriptorsAndMakesThemCloseOnExec) {
  auto [here, there] = connected();
  const std::array<int, 2> fds{STDIN_FILENO, STDOUT_FILENO};

  ASSERT_EQ(here.send(Small{}, fds), IoStatus::kOk);
  const auto received = there.receive<Small>(2);

  ASSERT_EQ(received.status, IoStatus::kOk);
  ASSERT_EQ(received.fds.size(), 2U);
  for (const auto& fd : received.fds) EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Channel, RefusesAMessageOfAnotherSize) {
  auto [here, there] = connected();

  ASSERT_EQ(here.send(Small{}, {}), IoStatus::kOk);
  EXPECT_EQ(there.receive<Large>(0).status, IoStatus::kMalformed);

  ASSERT_EQ(here.send(Large{}, {}), IoStatus::kOk);
  EXPECT_EQ(there.receive<Small>(0).status, IoStatus::kMalformed);
}

TEST(Channel, RefusesAndClosesDescriptorsBeyondTheAllowedNumber) {
  auto [here, there] = connected();
  const std::array<int, 3> fds{0, 0, 0};
  const auto n_open = count_open_fds();

  for (const std::size_t n_allowed : {0U, 1U, 2U}) {
    ASSERT_EQ(here.send(Small{}, fds), IoStatus::kOk);
    EXPECT_EQ(there.receive<Small>(n_allowed).status, IoStatus::kMalformed);
  }

  EXPECT_EQ(count_open_fds(), n_open);
}

TEST(Channel, ReportsTheOtherEndsDeath) {
  auto [here, there] = connected();

  there.close();

  EXPECT_EQ(here.receive<Small>(0).status, IoStatus::kClosed);
  EXPECT_EQ(here.send(Small{}, {}), IoStatus::kClosed);
}

TEST(Channel, DeliversWhatWasSentBeforeTheOtherEndClosed) {
  auto [here, there] = connected();
  ASSERT_EQ(there.send(Small{7, 0}, {}), IoStatus::kOk);

  there.close();

  EXPECT_EQ(here.receive<Small>(0).message.a, 7U);
  EXPECT_EQ(here.receive<Small>(0).status, IoStatus::kClosed);
}

TEST(Channel, GivesUpAtTheDeadline) {
  auto [here, there] = connected();

  EXPECT_EQ(here.receive<Small>(0, already_late()).status, IoStatus::kTimeout);
}

TEST(Channel, APassedDeadlineWinsOverAFullSocket) {
  auto [here, there] = connected();
  ASSERT_EQ(there.send(Small{}, {}), IoStatus::kOk);

  EXPECT_EQ(here.receive<Small>(0, already_late()).status, IoStatus::kTimeout);
}

TEST(Channel, GivesUpSendingIntoAFullSocketAtTheDeadline) {
  auto [here, there] = connected();
  IoStatus status = IoStatus::kOk;

  // Nobody reads: the socket's buffer ends the loop.
  while (status == IoStatus::kOk) {
    status = here.send(Large{}, {}, {std::chrono::steady_clock::now() + milliseconds(20), nullptr});
  }

  EXPECT_EQ(status, IoStatus::kTimeout);
}

TEST(Channel, AStopRequestEndsAWaitFromAnotherThread) {
  auto [here, there] = connected();
  std::stop_source source;
  auto event = StopEvent::create(source.get_token());
  ASSERT_TRUE(event);
  IoStatus status = IoStatus::kOk;

  {
    std::jthread waiting(
        [&] { status = here.receive<Small>(0, {TimePoint::max(), event->get()}).status; });
    source.request_stop();
  }

  EXPECT_EQ(status, IoStatus::kStopped);
}

TEST(Channel, AStopRequestWinsOverAReadyMessage) {
  auto [here, there] = connected();
  std::stop_source source;
  auto event = StopEvent::create(source.get_token());
  ASSERT_TRUE(event);
  ASSERT_EQ(there.send(Small{}, {}), IoStatus::kOk);

  source.request_stop();

  EXPECT_EQ(here.receive<Small>(0, {TimePoint::max(), event->get()}).status, IoStatus::kStopped);
}

}  // namespace
}  // namespace tessera::sandbox
