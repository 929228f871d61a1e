#include "api/visual_plan.h"

#include <gtest/gtest.h>

#include "api/test_server.h"

namespace tessera::api {
namespace {

using test_support::chat_body;
using test_support::Client;
using test_support::post;
using test_support::Response;

PlanReport one_image() {
  ImagePlan image;
  image.source = {1536, 1536};
  image.planned = {616, 616};
  image.n_tiles = 1;
  image.n_patches = 1936;
  image.n_visual_tokens = 484;
  image.budget = 512;
  PlanReport report;
  report.images = {image};
  report.n_text_tokens = 12;
  report.n_visual_tokens = 484;
  report.encode_flops = 2e9;
  report.prefill_flops = 3e9;
  report.kv_bytes = 4096;
  report.encode_seconds = 0.25;
  return report;
}

TEST(VisualPlan, SaysEverythingAboutEachImageAndTheWhole) {
  EXPECT_EQ(visual_plan_json("tiny", one_image()),
            R"({"object":"visual.plan","model":"tiny","images":[{"source":{"width":1536,)"
            R"("height":1536},"planned":{"width":616,"height":616},"n_tiles":1,)"
            R"("n_cached_tiles":0,"n_patches":1936,"n_visual_tokens":484,"budget":512,)"
            R"("summary":"1536×1536 → 616×616, 484 tokens, budget 512"}],"n_text_tokens":12,)"
            R"("n_visual_tokens":484,"encode_flops":2000000000,"prefill_flops":3000000000,)"
            R"("kv_bytes":4096,"estimated_seconds":{"media_decode":null,"encode":0.250000,)"
            R"("prefill":null}})");
}

class VisualPlanTest : public test_support::ServerTest {
 protected:
  static std::string plan_request(const std::string& body) {
    const std::string chat = post(body);
    return "POST /v1/visual/plan" + chat.substr(chat.find(" HTTP/1.1"));
  }
};

TEST_F(VisualPlanTest, TakesTheBodyOfAChatAndAnswersItsPlan) {
  service.script = {0, "", true, false, std::nullopt};
  service.plan = one_image();
  start();

  const Response response = exchange(plan_request(chat_body()));

  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, visual_plan_json("tiny", one_image()));
  EXPECT_TRUE(service.last_request.plan_only);
  EXPECT_EQ(exchange(post(chat_body())).status, 200);
  EXPECT_FALSE(service.last_request.plan_only);
}

TEST_F(VisualPlanTest, RefusesWhatAChatRefuses) {
  start();
  EXPECT_EQ(exchange(plan_request("{}")).status, 400);
  EXPECT_EQ(exchange("GET /v1/visual/plan HTTP/1.1\r\nHost: x\r\n\r\n").status, 405);
  service.refusal = make_error(ErrorCode::kTooLarge, "too_many_images", "17 images");
  EXPECT_EQ(exchange(plan_request(chat_body())).status, 413);
}

TEST_F(VisualPlanTest, AnErrorOnTheWayIsTheAnswer) {
  service.script = {0, "", true, false,
                    make_error(ErrorCode::kTooLarge, "visual_tokens_exceeded", "too many")};
  start();

  const Response response = exchange(plan_request(chat_body()));

  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(response.has("visual_tokens_exceeded"));
  EXPECT_EQ(service.wait_accounted(1), "visual_tokens_exceeded");
}

}  // namespace
}  // namespace tessera::api
