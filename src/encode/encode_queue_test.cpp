#include "encode/encode_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
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
          std::shared_ptr<void> tile_holds = nullptr, TenantId tenant = {},
          TimePoint deadline = TimePoint::max()) {
    auto request =
        std::make_unique<InFlight>(RequestId{id}, tenant, Request{}, Limits{}, Trace(TimePoint()),
                                   deadline, stop, std::make_shared<NoSink>());
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
  auto left = queue_.take_stopped(clock_.now(), {});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].reason.reason, "cancelled");
  end(*left[0].request);

  EXPECT_EQ(drain(), "b2c") << "a went with the only one who wanted it";
}

TEST_F(EncodeQueueTest, WhatCannotBeDoneInTimeIsNotBegun) {
  using std::chrono::seconds;
  add(1, "abc");
  finish('a');  // it has gone on
  add(2, "bcde", {}, nullptr, {}, clock_.now() + seconds(8));
  add(3, "f");
  EXPECT_TRUE(queue_.take_stopped(clock_.now(), {}).empty()) << "nobody knows";
  EncodeTimes times;
  times.record(1, seconds(2 * kFasterAtMost));
  EXPECT_TRUE(queue_.take_stopped(clock_.now(), times).empty()) << "just in time";
  clock_.advance(seconds(1));

  auto late = queue_.take_stopped(clock_.now(), times);

  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].request->id, RequestId{2});
  EXPECT_EQ(late[0].reason.reason, "deadline_too_short");
  EXPECT_EQ(late[0].reason.code, ErrorCode::kDeadlineExceeded);
  end(*late[0].request);
  EXPECT_EQ(drain(), "f3bc") << "those of the first come all the same";
}

TEST_F(EncodeQueueTest, TilesOfARequestThatEndedElsewhereAreNotDone) {
  add(1, "abc");
  finish('a');
  add(2, "c");
  end(*gone_on_.front());
  gone_on_.clear();

  EXPECT_TRUE(queue_.take_stopped(clock_.now(), {}).empty()) << "it is not here";
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

// --- tenants
// --------------------------------------------------------------------------------------

/// Requests of some tenants, and the order in which their tiles are encoded.
class TenantsInEncodeQueue : public EncodeQueueTest {
 protected:
  void add_for(std::uint32_t tenant, const std::string& tiles) {
    add(++n_requests_, tiles, {}, nullptr, TenantId{tenant});
    for (const char tile : tiles) tenants_[tile] = tenant;
  }

  /// The tenants of the next tiles, each done before the next.
  std::string served(int n_tiles) {
    std::string tenants;
    for (int i = 0; i < n_tiles; ++i) {
      const auto step = next();
      if (step.empty()) break;
      const char tile = letter(step.front()->key);
      tenants += std::to_string(tenants_.at(tile));
      finish(tile);
    }
    return tenants;
  }

  std::uint64_t n_requests_ = 0;
  std::map<char, std::uint32_t> tenants_;
};

TEST_F(TenantsInEncodeQueue, ALargeImageIsNotHeldUpByAnothersManySmallOnes) {
  add_for(1, "ABCD");
  for (const char* small : {"E", "F", "G", "H"}) add_for(2, small);

  // By patches alone, all of tenant 2 would come before the first of tenant 1.
  const std::string order = served(8);
  EXPECT_EQ(order.front(), '2');
  for (std::size_t n = 1; n <= order.size(); ++n) {
    const auto n_ones =
        std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), '1');
    EXPECT_LE(std::abs(2 * n_ones - static_cast<std::ptrdiff_t>(n)), 1) << order;
  }
}

TEST_F(TenantsInEncodeQueue, TurnsAreByPatchesNotByTiles) {
  add_for(1, "AB");
  for (char small = 'a'; small <= 'z'; ++small) add_for(2, std::string(1, small));

  // Tenant 2 has had 26 patches when it is tenant 1's turn for 100, and goes first again after it.
  EXPECT_EQ(served(28), std::string(1, '2') + "1" + std::string(25, '2') + "1");
}

class NumbersOfTenants : public TenantsInEncodeQueue,
                         public testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(NumbersOfTenants, DoNotMatter) {
  const auto [one, other] = GetParam();
  add_for(static_cast<std::uint32_t>(one), "ABC");
  add_for(static_cast<std::uint32_t>(other), "D");
  add_for(static_cast<std::uint32_t>(other), "E");

  EXPECT_EQ(drain(), "D2A1E3BC");
}

INSTANTIATE_TEST_SUITE_P(Pairs, NumbersOfTenants,
                         testing::Values(std::pair(1, 2), std::pair(2, 1), std::pair(9, 3)));

TEST_F(TenantsInEncodeQueue, WhoWasIdleHasSavedNothingUp) {
  add_for(1, "ABCDEF");
  EXPECT_EQ(served(4), "1111");

  add_for(2, "UVWXYZ");

  EXPECT_EQ(served(8), "21212222") << "each in turn, until one has no more";
}

TEST_F(TenantsInEncodeQueue, WhoRidesAlongHasHadItToo) {
  add_for(1, "AB");
  add_for(2, "CD");
  ASSERT_EQ(letters(300), "ABC") << "of one shape";
  for (const char tile : {'A', 'B', 'C'}) finish(tile);
  add_for(1, "E");

  EXPECT_EQ(served(2), "21") << "two for the one, one for the other";
}

TEST_F(TenantsInEncodeQueue, AgeCountsAmongATenantsOwn) {
  add_for(1, "ABC");
  add_for(2, "DEF");
  clock_.advance(kAgingWindow + milliseconds(1));
  add_for(2, "g");

  EXPECT_EQ(served(6), "121212") << "the oldest of all has waited as long as the other's";
}

}  // namespace
}  // namespace tessera::encode
