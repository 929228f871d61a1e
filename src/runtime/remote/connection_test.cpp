#include "runtime/remote/connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tessera::runtime::remote {
namespace {

/// A connection whose other ends the test holds.
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < kLines; ++i) {
      auto ends = sandbox::Channel::make_pair();
      lines.emplace_back(std::move(ends->first));
      engine.emplace_back(std::move(ends->second));
    }
    auto control = sandbox::Channel::make_pair();
    far_control.emplace(std::move(control->second));
    connection.emplace(std::move(control->first), std::move(lines));
  }

  /// Answers one call on the decode line with a value of any type.
  template <typename T>
  std::jthread answer_with(const T& value) {
    return std::jthread([this, value] {
      const auto call = engine[1].next_call();
      ASSERT_TRUE(call);
      ParcelWriter parcel;
      parcel(value);
      EXPECT_TRUE(engine[1].answer(*call, parcel));
    });
  }

  std::vector<Line> engine;
  std::optional<sandbox::Channel> far_control;
  std::optional<Connection> connection;
};

TEST_F(ConnectionTest, GivesTheAnswerOrTheErrorInItsPlace) {
  {
    const auto far = answer_with(Result<int>(7));
    EXPECT_EQ(*connection->call_executor<int>(Call::kDecode, 1, {}), 7);
  }
  const auto far = answer_with(Result<int>(make_error(ErrorCode::kNotFound, "gone", "it is gone")));
  EXPECT_EQ(connection->call_executor<int>(Call::kDecode, 1, {}).error().reason, "gone");
  EXPECT_TRUE(connection->is_alive());
}

TEST_F(ConnectionTest, AnAnswerThatCannotBeReadIsTheEndOfTheEngine) {
  const auto far = answer_with(std::string("no result"));

  EXPECT_TRUE(is_engine_lost(connection->call_executor<int>(Call::kDecode, 1, {}).error()));

  EXPECT_FALSE(connection->is_alive());
  std::array<std::byte, 1> nothing;
  EXPECT_EQ(far_control->receive_packet(nothing, 0).status, sandbox::IoStatus::kClosed)
      << "whoever keeps the process is told";
  EXPECT_TRUE(is_engine_lost(connection->call_encoder<int>(1, {}).error())) << "at once";
}

TEST_F(ConnectionTest, OneMoreCallThanThereAreLinesWaitsForOne) {
  std::atomic<int> n_answered{0};
  std::vector<std::jthread> callers;
  for (std::size_t i = 0; i <= kModelLines; ++i) {
    callers.emplace_back([&] {
      EXPECT_TRUE(connection->call_model<int>(Call::kTokenize, 1));
      ++n_answered;
    });
  }
  // Each line has a call; the last caller has none.
  std::vector<Line::Incoming> calls;
  for (std::size_t i = 2; i < kLines; ++i) calls.push_back(*engine[i].next_call());
  EXPECT_EQ(n_answered, 0);
  ParcelWriter parcel;
  parcel(Result<int>(1));
  for (std::size_t i = 2; i < kLines; ++i) EXPECT_TRUE(engine[i].answer(calls[i - 2], parcel));

  std::vector<std::jthread> engines;
  std::atomic<int> n_more{0};
  for (std::size_t i = 2; i < kLines; ++i) {
    engines.emplace_back([&, i] {
      while (const auto call = engine[i].next_call()) {
        ++n_more;
        engine[i].answer(*call, parcel);
      }
    });
  }
  callers.clear();
  EXPECT_EQ(n_answered, kModelLines + 1);
  EXPECT_EQ(n_more, 1);
  connection.reset();
}

TEST_F(ConnectionTest, TellsOnceWhatWasLetGo) {
  EXPECT_NE(connection->new_number(), connection->new_number());
  connection->drop_set(3);
  connection->drop_sampler(4);

  EXPECT_EQ(connection->take_dropped_sets(), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(connection->take_dropped_samplers(), (std::vector<std::uint64_t>{4}));
  EXPECT_TRUE(connection->take_dropped_sets().empty());
  connection->lose();
  connection->drop_set(5);
  EXPECT_TRUE(connection->take_dropped_sets().empty()) << "nobody has it any more";
}

}  // namespace
}  // namespace tessera::runtime::remote
