#include "core/in_flight.h"

#include <gtest/gtest.h>

#include "core/token_stream.h"

namespace tessera {
namespace {

std::unique_ptr<InFlight> make(const std::shared_ptr<TokenStream>& stream, std::stop_token stop) {
  return std::make_unique<InFlight>(RequestId{1}, TenantId{0}, Request{}, Limits{},
                                    Trace(TimePoint{}), TimePoint{} + std::chrono::seconds(10),
                                    std::move(stop), stream);
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

}  // namespace
}  // namespace tessera
