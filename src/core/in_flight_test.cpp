#include "core/in_flight.h"

#include <gtest/gtest.h>

#include "core/token_stream.h"

namespace tessera {
namespace {

std::unique_ptr<InFlight> make(const std::shared_ptr<TokenStream>& stream, std::stop_token stop) {
  return std::make_unique<InFlight>(RequestId{1}, TenantId{0}, Request{}, Trace(TimePoint{}),
                                    TimePoint{} + std::chrono::seconds(10), std::move(stop),
                                    stream);
}

TEST(InFlight, EndSendsTheTerminalEventWithTheTrace) {
  std::stop_source stop;
  auto stream = std::make_shared<TokenStream>(stop);
  auto request = make(stream, stop.get_token());

  request->end(std::nullopt, TimePoint{} + std::chrono::seconds(2));
  request.reset();

  const auto event = stream->try_pop();
  ASSERT_TRUE(event.has_value());
  const auto& end = std::get<StreamEnd>(*event);
  EXPECT_FALSE(end.error.has_value());
  EXPECT_EQ(end.trace.in(Stage::kRead), std::chrono::seconds(2));
  EXPECT_FALSE(stream->try_pop().has_value());
}

TEST(InFlight, ShouldStopNamesCancellationAndDeadline) {
  std::stop_source stop;
  auto stream = std::make_shared<TokenStream>(stop);
  auto request = make(stream, stop.get_token());

  EXPECT_FALSE(request->should_stop(TimePoint{}).has_value());
  EXPECT_EQ(request->should_stop(TimePoint{} + std::chrono::seconds(10))->code,
            ErrorCode::kDeadlineExceeded);
  stop.request_stop();
  EXPECT_EQ(request->should_stop(TimePoint{})->code, ErrorCode::kCancelled);

  request->end(std::nullopt, TimePoint{});
}

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

}  // namespace
}  // namespace tessera
