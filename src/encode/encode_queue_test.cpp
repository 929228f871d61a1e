#include "encode/encode_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::encode {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct NoSink final : EventSink {
  void push(StreamEvent /*event*/) override {}
};

struct NoTile final : PreparedTile {
  int n_tokens() const override { return 1; }
};

/// Each letter is a tile; equal letters have equal keys. A capital one costs 100 patches, a small
/// one 1.
class EncodeQueueTest : public ::testing::Test {
 protected:
  ~EncodeQueueTest() override {
    for (auto& request : queue_.take_if([](const InFlight&) { return true; })) end(*request);
  }

  static void end(InFlight& request) { request.end(std::nullopt, TimePoint()); }

  int add(std::uint64_t id, const std::string& tiles) {
    auto request = std::make_unique<InFlight>(RequestId{id}, TenantId{}, Request{}, Limits{},
                                              Trace(TimePoint()), TimePoint::max(),
                                              std::stop_token(), std::make_shared<NoSink>());
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      VisualSegment segment;
      segment.image_index = i;
      segment.n_tokens = 1;
      request->prompt.segments.emplace_back(segment);
      ImagePlan plan;
      plan.n_tiles = 1;
      plan.n_patches = tiles[i] < 'a' ? 100 : 1;
      request->prompt.images.push_back(plan);
      request->feature_keys.push_back(key(tiles[i]));
      request->tiles.push_back(std::make_unique<NoTile>());
      request->embeddings.emplace_back();
    }
    return queue_.add(std::move(request), clock_.now());
  }

  static Digest key(char tile) {
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(tile);
    return digest;
  }

  /// Does every tile; the ids of complete requests stand behind the tile that completed them.
  std::string drain() {
    std::string order;
    while (const auto* wanted = queue_.next(clock_.now())) {
      order += static_cast<char>(wanted->key.bytes[0]);
      for (auto& request : queue_.finish(*wanted, std::make_shared<const Embedding>())) {
        order += std::to_string(request->id.value);
        end(*request);
      }
    }
    return order;
  }

  ManualClock clock_;
  EncodeQueue queue_;
};

TEST_F(EncodeQueueTest, DoesTilesInOrderAndCompletesTheRequest) {
  EXPECT_EQ(add(1, "abc"), 0);

  EXPECT_EQ(drain(), "abc1");
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_EQ(queue_.next(clock_.now()), nullptr);
}

TEST_F(EncodeQueueTest, TheSameTileIsDoneOnceForAllWhoWait) {
  add(1, "aba");
  EXPECT_EQ(add(2, "bc"), 1);
  EXPECT_EQ(add(3, "ab"), 2);

  EXPECT_EQ(drain(), "ab13c2");
}

TEST_F(EncodeQueueTest, TheFewestPatchesComeFirst) {
  add(1, "AB");
  add(2, "cd");
  add(3, "e");

  EXPECT_EQ(drain(), "e3cd2AB1");
}

TEST_F(EncodeQueueTest, PatchesThatAreDoneCountNoMore) {
  add(1, "Aa");
  const auto* first = queue_.next(clock_.now());
  EXPECT_TRUE(queue_.finish(*first, std::make_shared<const Embedding>()).empty());
  add(2, "bcd");

  EXPECT_EQ(drain(), "a1bcd2");
}

TEST_F(EncodeQueueTest, WhoHasWaitedLongIsOvertakenNoMore) {
  add(1, "AB");
  clock_.advance(kAgingWindow);
  add(2, "c");
  EXPECT_EQ(queue_.next(clock_.now())->key, key('c'));

  clock_.advance(milliseconds(1));
  EXPECT_EQ(queue_.next(clock_.now())->key, key('A'));
}

TEST_F(EncodeQueueTest, ATileOutlivesTheRequestThatBroughtItWhileOthersWait) {
  add(1, "ab");
  add(2, "bc");
  auto left = queue_.take_if([](const InFlight& request) { return request.id.value == 1; });
  ASSERT_EQ(left.size(), 1U);
  end(*left[0]);

  EXPECT_EQ(drain(), "bc2") << "a went with the only one who wanted it";
}

TEST_F(EncodeQueueTest, AFailureConcernsThoseWhoWaitForThatTile) {
  add(1, "ab");
  add(2, "b");
  add(3, "c");
  EncodeQueue::WantedTile* wanted = queue_.next(clock_.now());
  ASSERT_EQ(wanted->key, key('b'));

  Requests failed = queue_.fail(*wanted);
  EXPECT_EQ(failed.size(), 2U);
  for (auto& request : failed) end(*request);

  EXPECT_EQ(drain(), "c3");
}

}  // namespace
}  // namespace tessera::encode
