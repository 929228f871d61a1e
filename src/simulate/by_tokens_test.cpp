#include "simulate/by_tokens.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::simulate {
namespace {

TEST(ByTokens, AShortOneDoesNotWaitForAnImage) {
  const SimulationOptions options;
  std::vector<SimulatedRequest> requests(2);
  requests[0] = {0, RequestKind::kManyImages, 10, 68, 68, 50};
  requests[1] = {1, RequestKind::kShortText, 10, 0, 0, 4};

  const SimulationResult result = ByTokens(requests, options).run();

  EXPECT_LT(result.kinds[0].total.largest(), 1);
  EXPECT_GT(result.kinds[3].first_token.largest(), 68 * options.machine.tile_seconds);
}

TEST(ByTokens, WhatIsKnownIsNotEncoded) {
  std::vector<SimulatedRequest> requests(1);
  requests[0] = {0, RequestKind::kKnownImage, 10, 17, 0, 4};

  EXPECT_LT(ByTokens(requests, {}).run().kinds[1].first_token.largest(), 17 * 0.5);
}

TEST(ByTokens, OfTwoImagesTheSmallerIsEncodedFirst) {
  std::vector<SimulatedRequest> requests(3);
  requests[0] = {0, RequestKind::kManyImages, 10, 68, 68, 1};
  requests[1] = {0.1, RequestKind::kManyImages, 10, 68, 68, 1};
  requests[2] = {0.2, RequestKind::kNewImage, 10, 17, 17, 1};

  const SimulationResult result = ByTokens(requests, {}).run();

  EXPECT_LT(result.kinds[2].total.largest(), 20 * 2.0 * 1.65);
}

}  // namespace
}  // namespace tessera::simulate
