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

/// A request that may be done again.
struct Redoable {
  Redoable() {
    request->request.messages = {{Role::kUser, {TextPart{"as it is now"}}}};
    request->asked_messages = {{Role::kUser, {TextPart{"as it came"}}}};
    request->request.media.emplace_back();
    request->embeddings.resize(2);
    request->holds = request->tile_holds = request->media_holds = held;
    request->trace.counts.n_images = 1;
    request->allow_redo([this](std::unique_ptr<InFlight> given) { again = std::move(given); });
  }

  std::stop_source stop;
  std::shared_ptr<TokenStream> stream = std::make_shared<TokenStream>(stop);
  std::shared_ptr<int> held = std::make_shared<int>();
  std::unique_ptr<InFlight> again;
  std::unique_ptr<InFlight> request = make(stream, stop.get_token());
};

TEST(InFlight, IsDoneAgainWhenTheEngineIsLostBeforeItsAnswerBegan) {
  Redoable redoable;
  redoable.request->release_media();

  redoable.request->end(engine_lost_error(), TimePoint{});
  redoable.request.reset();

  ASSERT_NE(redoable.again, nullptr);
  EXPECT_FALSE(redoable.stream->try_pop()) << "nobody is told";
  EXPECT_EQ(std::get<TextPart>(redoable.again->request.messages[0].parts[0]).text, "as it came");
  EXPECT_EQ(redoable.again->request.media.size(), 1U);
  EXPECT_TRUE(redoable.again->embeddings.empty());
  EXPECT_EQ(redoable.again->trace.counts.n_images, 0);
  EXPECT_EQ(redoable.held.use_count(), 3) << "its place and its media; no tiles";

  redoable.again->end(engine_lost_error(), TimePoint{});
  const auto event = redoable.stream->try_pop();
  ASSERT_TRUE(event) << "once";
  EXPECT_EQ(std::get<StreamEnd>(*event).error->reason, "engine_lost");
  EXPECT_EQ(redoable.held.use_count(), 1);
}

TEST(InFlight, IsNotDoneAgainAfterItsFirstToken) {
  Redoable redoable;
  redoable.request->release_media();
  redoable.request->push(TokenDelta{});
  EXPECT_TRUE(redoable.request->request.media.empty()) << "for nothing more";
  ASSERT_TRUE(redoable.stream->try_pop());

  redoable.request->end(engine_lost_error(), TimePoint{});

  EXPECT_EQ(redoable.again, nullptr);
  EXPECT_TRUE(redoable.stream->try_pop());
}

TEST(InFlight, IsNotDoneAgainForAnyOtherError) {
  Redoable redoable;

  redoable.request->end(make_error(ErrorCode::kUnavailable, "shutting_down", ""), TimePoint{});

  EXPECT_EQ(redoable.again, nullptr);
  EXPECT_TRUE(redoable.stream->try_pop());
  EXPECT_EQ(redoable.held.use_count(), 1);
}

}  // namespace
}  // namespace tessera
