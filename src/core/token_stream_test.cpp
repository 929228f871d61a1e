#include "core/token_stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

TEST(StreamReader, GoingAwayCancelsTheRequest) {
  std::stop_source stop;
  {
    const StreamReader reader(std::make_shared<TokenStream>(stop));
  }

  EXPECT_TRUE(stop.stop_requested());
}

TEST(TokenStream, WakesForEventsThatCameBeforeTheWaker) {
  TokenStream stream(std::stop_source{});
  int n_wakes = 0;
  stream.push(ChoiceEnd{});

  stream.set_waker([&n_wakes] { ++n_wakes; });
  EXPECT_EQ(n_wakes, 1);
  stream.push(ChoiceEnd{});
  EXPECT_EQ(n_wakes, 2);
  stream.clear_waker();
  stream.push(ChoiceEnd{});
  EXPECT_EQ(n_wakes, 2);
}

TEST(TokenStream, PopWaitsForThePushOfAnotherThread) {
  TokenStream stream(std::stop_source{});
  const std::jthread producer([&stream] { stream.push(ChoiceEnd{2, FinishReason::kLength, 7}); });

  const auto event = stream.pop({});

  EXPECT_EQ(std::get<ChoiceEnd>(*event).n_output_tokens, 7);
}

TEST(TokenStream, StopEndsAWaitingPop) {
  TokenStream stream(std::stop_source{});
  std::stop_source stop;
  const std::jthread stopper([&stop] { stop.request_stop(); });

  EXPECT_FALSE(stream.pop(stop.get_token()).has_value());
}

}  // namespace
}  // namespace tessera
