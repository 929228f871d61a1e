#include "fetch/dispatcher.h"

#include <gtest/gtest.h>

#include "fetch/program_link.h"
#include "sandbox/memfd.h"

namespace tessera::fetch {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBytesMax = 1000;

/// A dispatcher over the fake fetcher's `mode`.
std::unique_ptr<Dispatcher> make_dispatcher(const std::string& mode) {
  const auto program =
      mode == "missing" ? own_program_path(mode) : link_program(mode, TESSERA_FAKE_FETCHER);
  auto dispatcher =
      Dispatcher::create({program, milliseconds(0), milliseconds(1), milliseconds(60'000)}, {});
  EXPECT_TRUE(dispatcher);
  return std::move(*dispatcher);
}

UniqueFd output() {
  return std::move(*sandbox::create_memfd("test", kBytesMax));
}

wire::Order order() {
  wire::Order message;
  message.bytes_max = kBytesMax;
  message.total_timeout_ms = 60'000;
  return message;
}

FetchEnd wait_for_end(Dispatcher& dispatcher, FetchId id) {
  for (;;) {
    const std::uint64_t seen = dispatcher.version();
    if (const auto end = dispatcher.take_end(id)) return *end;
    EXPECT_TRUE(dispatcher.wait_beyond(seen, {}));
  }
}

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

TEST(Dispatcher, AReplyReachesItsFetchOnce) {
  const auto dispatcher = make_dispatcher("honest");

  const auto id = dispatcher->try_start(kTenant, 8, order(), output());
  ASSERT_TRUE(id);
  const FetchEnd end = wait_for_end(*dispatcher, *id);

  EXPECT_EQ(end.kind, FetchEnd::Kind::kReplied);
  EXPECT_EQ(end.outcome, wire::Outcome::kFetched);
  EXPECT_FALSE(dispatcher->take_end(*id));
}

TEST(Dispatcher, PlacesAreCountedForEachTenantAndForAll) {
  const auto dispatcher = make_dispatcher("hang");
  EXPECT_TRUE(dispatcher->try_start(kTenant, 2, order(), output()));
  EXPECT_TRUE(dispatcher->try_start(kTenant, 2, order(), output()));
  EXPECT_FALSE(dispatcher->try_start(kTenant, 2, order(), output()));
  EXPECT_TRUE(dispatcher->try_start(kOther, 2, order(), output()));
  for (std::size_t i = 3; i < wire::kFetchesMax; ++i) {
    EXPECT_TRUE(dispatcher->try_start(kOther, 100, order(), output()));
  }
  EXPECT_FALSE(dispatcher->try_start(TenantId{3}, 100, order(), output()));
}

TEST(Dispatcher, ACancelledFetchFreesItsPlaceAndTellsWhoWaitsForOne) {
  const auto dispatcher = make_dispatcher("hang");
  const auto first = dispatcher->try_start(kTenant, 1, order(), output());
  const std::uint64_t seen = dispatcher->version();

  dispatcher->cancel(*first);

  EXPECT_TRUE(dispatcher->wait_beyond(seen, {}));
  EXPECT_TRUE(dispatcher->try_start(kTenant, 1, order(), output()));
  EXPECT_FALSE(dispatcher->take_end(*first));
}

TEST(Dispatcher, AFetcherThatCannotBeStartedOrDiesAtOnceLeavesNobodyWaiting) {
  for (const char* mode : {"missing", "exit", "die"}) {
    const auto dispatcher = make_dispatcher(mode);
    for (int i = 0; i < 3; ++i) {
      const auto id = dispatcher->try_start(kTenant, 8, order(), output());
      ASSERT_TRUE(id);
      EXPECT_EQ(wait_for_end(*dispatcher, *id).kind, FetchEnd::Kind::kLost) << mode;
    }
  }
}

TEST(Dispatcher, OnlyADeathByAForbiddenCallIsAnAlarm) {
  for (const auto& [mode, expected] : {std::pair{"forbidden", "error fetcher_forbidden_call"},
                                       std::pair{"die", "warning fetcher_exited code=1"}}) {
    testing::internal::CaptureStderr();
    const auto dispatcher = make_dispatcher(mode);
    const auto id = dispatcher->try_start(kTenant, 8, order(), output());
    EXPECT_EQ(wait_for_end(*dispatcher, *id).kind, FetchEnd::Kind::kLost) << mode;
    const std::string log = testing::internal::GetCapturedStderr();

    EXPECT_NE(log.find(expected), std::string::npos) << log;
    EXPECT_EQ(log.find("forbidden_call") != std::string::npos, mode == std::string("forbidden"));
  }
}

TEST(Dispatcher, AStopRequestEndsAWait) {
  const auto dispatcher = make_dispatcher("hang");
  const std::uint64_t now = dispatcher->version() + 1000;
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });

  EXPECT_FALSE(dispatcher->wait_beyond(now, stop.get_token()));
}

TEST(Dispatcher, ShutdownEndsWhatRunsAndWhatComesLater) {
  const auto dispatcher = make_dispatcher("hang");
  const auto running = dispatcher->try_start(kTenant, 8, order(), output());

  dispatcher->shutdown();
  dispatcher->shutdown();

  EXPECT_EQ(dispatcher->take_end(*running)->kind, FetchEnd::Kind::kShutDown);
  const auto late = dispatcher->try_start(kTenant, 8, order(), output());
  EXPECT_EQ(dispatcher->take_end(*late)->kind, FetchEnd::Kind::kShutDown);
  EXPECT_EQ(dispatcher->fetcher_pid(), 0);
}

}  // namespace
}  // namespace tessera::fetch
