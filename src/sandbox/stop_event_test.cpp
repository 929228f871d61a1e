#include "sandbox/stop_event.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace tessera::sandbox {
namespace {

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

TEST(StopEvent, BecomesReadableWithTheStopRequest) {
  std::stop_source source;
  auto event = StopEvent::create(source.get_token());
  ASSERT_TRUE(event);
  EXPECT_FALSE(is_readable((*event)->fd()));

  source.request_stop();

  EXPECT_TRUE(is_readable((*event)->fd()));
}

TEST(StopEvent, IsReadableAtOnceWhenStopWasRequestedBefore) {
  std::stop_source source;
  source.request_stop();

  auto event = StopEvent::create(source.get_token());

  ASSERT_TRUE(event);
  EXPECT_TRUE(is_readable((*event)->fd()));
}

TEST(StopEvent, MayBeDestroyedBeforeTheStopRequest) {
  std::stop_source source;
  auto event = StopEvent::create(source.get_token());
  ASSERT_TRUE(event);

  event.value().reset();

  EXPECT_TRUE(source.request_stop());
}

}  // namespace
}  // namespace tessera::sandbox
