#include "encode/encode_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::encode {
namespace {

using std::chrono::milliseconds;

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
    for (auto& request : gone_on_) end(*request);
    for (auto& request : queue_.clear(error())) end(*request);
  }

  static void end(InFlight& request) { request.end(std::nullopt, TimePoint()); }

  static Error error() { return make_error(ErrorCode::kInternal, "failed", "it failed"); }

  int add(std::uint64_t id, const std::string& tiles, const std::stop_token& stop = {},
          std::shared_ptr<void> tile_holds = nullptr) {
    auto request = std::make_unique<InFlight>(RequestId{id}, TenantId{}, Request{}, Limits{},
                                              Trace(TimePoint()), TimePoint::max(), stop,
                                              std::make_shared<NoSink>());
    request->tile_holds = std::move(tile_holds);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      VisualSegment segment;
      segment.image_index = i;
      segment.n_tokens = tiles[i] < 'a' ? 100 : 1;
      request->prompt.segments.emplace_back(segment);
      ImagePlan plan;
      plan.n_tiles = 1;
      plan.n_patches = tiles[i] < 'a' ? 100 : 1;
      request->prompt.images.push_back(plan);
      request->feature_keys.push_back(key(tiles[i]));
      request->tiles.push_back(std::make_unique<NoTile>());
      request->embeddings.emplace_back();
    }
    return queue_.add(std::move(request), clock_.now()).n_shared;
  }

  static Digest key(char tile) {
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(tile);
    return digest;
  }

  EncodeQueue::Step next(int n_patches_max = 0) { return queue_.next(clock_.now(), n_patches_max); }

  /// The tiles of the next step, as letters.
  std::string letters(int n_patches_max = 0) {
    std::string letters;
    for (const auto* tile : next(n_patches_max)) letters += letter(tile->key);
    return letters;
  }

  static char letter(const Digest& key) { return static_cast<char>(key.bytes[0]); }

  /// @return  ids of the requests that go on
  std::string finish(char tile) {
    std::string ids;
    for (auto& request : queue_.finish(key(tile), std::make_shared<const Embedding>())) {
      ids += std::to_string(request->id.value);
      gone_on_.push_back(std::move(request));
    }
    return ids;
  }

  /// Does every tile; behind it the ids of the requests that go on with it.
  std::string drain() {
    std::string order;
    for (auto step = next(); !step.empty(); step = next()) {
      const char tile = letter(step.front()->key);
      order += tile + finish(tile);
    }
    return order;
  }

  /// The tiles that a request has, as letters; "." for one that it lacks.
  std::string features_of(std::uint64_t id) {
    for (auto& request : gone_on_) {
      if (request->id.value != id) continue;
      if (request->arriving != nullptr) EXPECT_FALSE(request->arriving->take(request->embeddings));
      std::string letters;
      for (std::size_t i = 0; i < request->embeddings.size(); ++i) {
        letters += request->embeddings[i] != nullptr ? letter(request->feature_keys[i]) : '.';
      }
      return letters;
    }
    return "has not gone on";
  }

  ManualClock clock_;
  int n_wakes_ = 0;
  EncodeQueue queue_{[this] { ++n_wakes_; }};
  Requests gone_on_;
};

TEST_F(EncodeQueueTest, ARequestGoesOnWithItsFirstTileAndTheOthersFollow) {
  EXPECT_EQ(add(1, "abc"), 0);
  ASSERT_EQ(letters(), "a");
  EXPECT_EQ(finish('a'), "1");
  EXPECT_EQ(features_of(1), "a..");

  ASSERT_EQ(letters(), "b");
  EXPECT_EQ(finish('b'), "") << "it has gone already";
  EXPECT_EQ(n_wakes_, 1);
  EXPECT_EQ(features_of(1), "ab.");

  finish('c');
  EXPECT_EQ(features_of(1), "abc");
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_TRUE(next().empty());
}

TEST_F(EncodeQueueTest, ARequestThatIsCompleteAwaitsNothing) {
  add(1, "aa");
  EXPECT_EQ(finish('a'), "1");
  EXPECT_EQ(gone_on_.front()->arriving, nullptr);
  EXPECT_EQ(features_of(1), "aa");
}

TEST_F(EncodeQueueTest, TheSameTileIsDoneOnceForAllWhoWait) {
  add(1, "aba");
  EXPECT_EQ(add(2, "bc"), 1);
  EXPECT_EQ(add(3, "ab"), 2);

  EXPECT_EQ(drain(), "a13b2c");
  EXPECT_EQ(features_of(1), "aba");
  EXPECT_EQ(features_of(2), "bc");
  EXPECT_EQ(features_of(3), "ab");
}

TEST_F(EncodeQueueTest, TheFewestPatchesComeFirst) {
  add(1, "AB");
  add(2, "cd");
  add(3, "e");

  EXPECT_EQ(drain(), "e3c2dA1B");
}

TEST_F(EncodeQueueTest, PatchesThatAreDoneCountNoMore) {
  add(1, "Aa");
  EXPECT_EQ(finish('A'), "1");
  add(2, "bcd");

  EXPECT_EQ(drain(), "ab2cd");
}

TEST_F(EncodeQueueTest, WhoHasWaitedLongIsOvertakenNoMore) {
  add(1, "AB");
  clock_.advance(kAgingWindow);
  add(2, "c");
  EXPECT_EQ(letters(), "c");

  clock_.advance(milliseconds(1));
  EXPECT_EQ(letters(), "A");
}

TEST_F(EncodeQueueTest, TilesOfOneShapeShareAStepWithinItsPatches) {
  add(1, "ab");
  add(2, "ABc");
  add(3, "bde");

  EXPECT_EQ(letters(0), "a");
  EXPECT_EQ(letters(2), "ab");
  EXPECT_EQ(letters(3), "abd") << "b once, and those with the fewest patches first";
  EXPECT_EQ(letters(1000), "abdec");
  drain();

  add(4, "CD");
  EXPECT_EQ(letters(50), "C") << "one tile always fits";
  EXPECT_EQ(letters(200), "CD");
}

TEST_F(EncodeQueueTest, AStepHasABoundedNumberOfTiles) {
  std::string tiles;
  for (std::size_t i = 0; i <= kStepTilesMax; ++i) tiles += static_cast<char>(i + 1);
  add(1, tiles);

  EXPECT_EQ(next(1'000'000).size(), kStepTilesMax);
}

TEST_F(EncodeQueueTest, ATileOutlivesTheRequestThatBroughtItWhileOthersWait) {
  std::stop_source stop;
  add(1, "ab", stop.get_token());
  add(2, "bc");
  stop.request_stop();
  auto left = queue_.take_stopped(clock_.now());
  ASSERT_EQ(left.size(), 1U);
  end(*left[0]);

  EXPECT_EQ(drain(), "b2c") << "a went with the only one who wanted it";
}

TEST_F(EncodeQueueTest, TilesOfARequestThatEndedElsewhereAreNotDone) {
  add(1, "abc");
  finish('a');
  add(2, "c");
  end(*gone_on_.front());
  gone_on_.clear();

  EXPECT_TRUE(queue_.take_stopped(clock_.now()).empty()) << "it is not here";
  EXPECT_EQ(drain(), "c2");
}

TEST_F(EncodeQueueTest, AFailureConcernsThoseWhoWaitForThatTile) {
  add(1, "ab");
  add(2, "b");
  add(3, "c");
  add(4, "db");
  finish('d');

  Requests failed = queue_.fail(key('b'), error());
  EXPECT_EQ(failed.size(), 2U);
  for (auto& request : failed) end(*request);
  InFlight& gone_on = *gone_on_.front();
  EXPECT_EQ(gone_on.arriving->take(gone_on.embeddings)->reason, "failed");

  EXPECT_EQ(drain(), "c3");
  EXPECT_TRUE(queue_.fail(key('a'), error()).empty()) << "it went with its request";
}

TEST_F(EncodeQueueTest, ClearTellsThoseThatHaveGoneOn) {
  add(1, "ab");
  add(2, "c");
  finish('a');

  Requests rest = queue_.clear(error());
  ASSERT_EQ(rest.size(), 1U);
  end(*rest[0]);
  InFlight& gone_on = *gone_on_.front();
  EXPECT_EQ(gone_on.arriving->take(gone_on.embeddings)->reason, "failed");
  EXPECT_TRUE(next().empty());
}

TEST_F(EncodeQueueTest, WhatItsTilesHoldIsGivenBackWithTheLastOfThem) {
  auto holds = std::make_shared<int>();
  add(1, "ab", {}, holds);
  finish('a');
  EXPECT_EQ(holds.use_count(), 2);
  finish('b');
  EXPECT_EQ(holds.use_count(), 1);
}

}  // namespace
}  // namespace tessera::encode
