#include "media/vision_room.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::media {
namespace {

struct NoSink final : EventSink {
  void push(StreamEvent /*event*/) override {}
};

/// A server of 100 bytes, of which a tenant may have 60.
class VisionRoomTest : public ::testing::Test {
 protected:
  VisionRoomTest() {
    limits_.vision_bytes_max = 100;
    limits_.tenant_vision_bytes_max = 60;
  }

  ~VisionRoomTest() override {
    for (MediaRequest& taken : room().close()) end(taken);
    for (auto& [id, taken] : in_) end(taken);
  }

  VisionRoom& room() {
    if (room_ == nullptr) {
      room_ = std::make_unique<VisionRoom>(limits_, clock_, [this](MediaRequest taken) {
        went_on_ += std::to_string(taken.request->id.value);
        keep(std::move(taken));
      });
    }
    return *room_;
  }

  MediaRequest taken(std::uint64_t id, std::uint32_t tenant, VisionBytes bytes,
                     const std::stop_token& stop = {}) {
    MediaRequest taken;
    taken.request = std::make_unique<InFlight>(
        RequestId{id}, TenantId{tenant}, Request{}, Limits{}, Trace(clock_.now()),
        clock_.now() + std::chrono::seconds(10), stop, std::make_shared<NoSink>());
    taken.bytes = bytes;
    return taken;
  }

  /// @return  whether it went in at once
  bool enter(std::uint64_t id, std::uint32_t tenant, VisionBytes bytes,
             const std::stop_token& stop = {}) {
    MediaRequest one = taken(id, tenant, bytes, stop);
    const auto is_in = room().enter(one);
    EXPECT_TRUE(is_in);
    if (*is_in) keep(std::move(one));
    return *is_in;
  }

  void keep(MediaRequest taken) {
    const auto id = taken.request->id.value;
    in_.emplace(id, std::move(taken));
  }

  void end(MediaRequest& taken) const { taken.request->end(std::nullopt, clock_.now()); }

  void leave(std::uint64_t id) {
    const auto node = in_.extract(id);
    end(node.mapped());
  }

  InFlight& request(std::uint64_t id) { return *in_.at(id).request; }

  Limits limits_;
  ManualClock clock_;
  std::unique_ptr<VisionRoom> room_;
  std::map<std::uint64_t, MediaRequest> in_;  // that hold bytes
  std::string went_on_;                       // ids, after they had waited
};

TEST_F(VisionRoomTest, GivesTilesAndFeaturesBackApart) {
  EXPECT_TRUE(enter(1, 0, {40, 20}));
  EXPECT_EQ(room().n_bytes_held(), 60U);
  request(1).tile_holds.reset();
  EXPECT_EQ(room().n_bytes_held(), 20U);
  leave(1);
  EXPECT_EQ(room().n_bytes_held(), 0U);
}

TEST_F(VisionRoomTest, WhoFindsNoRoomWaitsUntilSomebodyGivesItBack) {
  enter(1, 1, {50, 0});
  enter(2, 2, {40, 0});
  EXPECT_FALSE(enter(3, 3, {0, 30}));
  EXPECT_EQ(room().n_waiting(), 1U);

  leave(2);
  EXPECT_EQ(went_on_, "3");
  EXPECT_EQ(room().n_bytes_held(), 80U);
  EXPECT_NE(request(3).feature_holds, nullptr);
  EXPECT_EQ(request(3).tile_holds, nullptr);
}

TEST_F(VisionRoomTest, ALargeOneIsNotOvertakenByThoseThatWouldFit) {
  enter(1, 1, {60, 0});
  EXPECT_FALSE(enter(2, 2, {60, 0}));
  EXPECT_FALSE(enter(3, 3, {10, 0})) << "it came later";

  leave(1);
  EXPECT_EQ(went_on_, "23");
}

TEST_F(VisionRoomTest, ATenantThatHoldsItsShareWaitsAlone) {
  enter(1, 1, {60, 0});
  EXPECT_FALSE(enter(2, 1, {10, 0}));
  EXPECT_FALSE(enter(3, 1, {0, 0})) << "of one tenant, nobody overtakes";
  EXPECT_TRUE(enter(4, 2, {40, 0}));

  leave(4);
  EXPECT_EQ(went_on_, "");
  leave(1);
  EXPECT_EQ(went_on_, "23");
}

TEST_F(VisionRoomTest, WhatNeedsMoreThanThereIsIsRefusedAndNamesTheSetting) {
  MediaRequest large = taken(1, 1, {50, 20});
  const auto refused = room().enter(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "vision_bytes_exceeded");
  EXPECT_NE(refused.error().message.find("70 bytes"), std::string::npos);
  EXPECT_NE(refused.error().message.find("limits.tenant_vision_bytes_max is 60"),
            std::string::npos);
  large.bytes.tiles = 90;
  EXPECT_NE(room().enter(large).error().message.find("limits.vision_bytes_max is 100"),
            std::string::npos);
  end(large);
}

TEST_F(VisionRoomTest, WhoWasCancelledOrIsLateLeavesWithoutRoom) {
  std::stop_source stop;
  enter(1, 1, {60, 0});
  enter(2, 2, {20, 0});
  EXPECT_FALSE(enter(3, 3, {60, 0}, stop.get_token()));
  EXPECT_FALSE(enter(4, 4, {60, 0}));

  stop.request_stop();
  leave(2);
  EXPECT_EQ(went_on_, "3");
  EXPECT_EQ(request(3).tile_holds, nullptr);
  clock_.advance(std::chrono::seconds(11));
  request(1).tile_holds.reset();
  EXPECT_EQ(went_on_, "34");
  EXPECT_EQ(room().n_bytes_held(), 0U);
}

TEST_F(VisionRoomTest, CloseGivesBackThoseWhoWaitAndNobodyGoesOnAfterwards) {
  enter(1, 1, {60, 0});
  EXPECT_FALSE(enter(2, 1, {10, 0}));
  auto rest = room().close();
  ASSERT_EQ(rest.size(), 1U);
  end(rest[0]);

  leave(1);
  EXPECT_EQ(went_on_, "");
}

TEST_F(VisionRoomTest, BytesMayBeHeldLongerThanTheRoomExists) {
  enter(1, 1, {60, 0});
  room_.reset();
  leave(1);
}

}  // namespace
}  // namespace tessera::media
