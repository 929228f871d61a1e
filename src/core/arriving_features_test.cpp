#include "core/arriving_features.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class ArrivingFeaturesTest : public testing::Test {
 protected:
  int n_wakes_ = 0;
  std::stop_source cancel_;
  ArrivingFeatures features_{cancel_.get_token(), [this] { ++n_wakes_; }};
  std::vector<std::shared_ptr<const Embedding>> embeddings_{3};
};

TEST_F(ArrivingFeaturesTest, WhatLandsIsTakenOnceAndWhereItBelongs) {
  const auto last = std::make_shared<const Embedding>();
  features_.land(2, last);
  EXPECT_EQ(n_wakes_, 1);

  EXPECT_EQ(features_.take(embeddings_), std::nullopt);
  EXPECT_EQ(embeddings_[2], last);
  EXPECT_EQ(embeddings_[0], nullptr);

  embeddings_[2] = nullptr;
  EXPECT_EQ(features_.take(embeddings_), std::nullopt);
  EXPECT_EQ(embeddings_[2], nullptr);
}

TEST_F(ArrivingFeaturesTest, AFailureComesWithWhatHasLandedBefore) {
  features_.land(0, std::make_shared<const Embedding>());
  features_.fail(make_error(ErrorCode::kInternal, "first", "it failed"));
  features_.fail(make_error(ErrorCode::kInternal, "second", "again"));
  EXPECT_EQ(n_wakes_, 3);

  EXPECT_EQ(features_.take(embeddings_)->reason, "first");
  EXPECT_NE(embeddings_[0], nullptr);
}

TEST_F(ArrivingFeaturesTest, TheReaderLearnsWhenItsTileIsBegunAndLeft) {
  features_.set_encoding(true);
  EXPECT_TRUE(features_.is_encoding());
  features_.set_encoding(true);
  EXPECT_EQ(n_wakes_, 1) << "nothing changed";

  features_.set_encoding(false);
  EXPECT_FALSE(features_.is_encoding());
  EXPECT_EQ(n_wakes_, 2);
}

TEST_F(ArrivingFeaturesTest, WhoeverGivesUpIsSeenByTheWriter) {
  EXPECT_FALSE(features_.unwanted().stop_requested());
  features_.abandon();
  EXPECT_TRUE(features_.unwanted().stop_requested());
}

TEST_F(ArrivingFeaturesTest, CancellationWakesTheReaderAndTellsTheWriter) {
  cancel_.request_stop();
  EXPECT_TRUE(features_.unwanted().stop_requested());
  EXPECT_EQ(n_wakes_, 1);
}

}  // namespace
}  // namespace tessera
