#include "api/content_record.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

Request picture_and_question() {
  Request request;
  request.messages = {{Role::kSystem, {TextPart{"be \"brief\""}}},
                      {Role::kUser, {TextPart{"look:"}, ImagePart{0, {}}, TextPart{"what?\n"}}}};
  request.media.resize(1);
  request.media.front().field = "messages[1].content[1].image_url.url";
  request.pending.push_back({0, RedactedUrl("https://a.example.com/secret.png")});
  return request;
}

TEST(ContentRecord, HoldsTheTextsTheAnswersAndTheNumberOfImages) {
  const ContentRecord record("req_01", TenantId{3}, 1'700'000'000, picture_and_question());

  const std::vector<std::string> answers{"a cat", "a dog"};
  EXPECT_EQ(record.finish(answers, std::nullopt),
            R"({"request":"req_01","tenant":3,"unix_seconds":1700000000,"n_images":1,)"
            R"("texts":[{"role":"system","text":"be \"brief\""},{"role":"user","text":"look:"},)"
            R"({"role":"user","text":"what?\n"}],"answers":["a cat","a dog"],"error":null})");
}

TEST(ContentRecord, SaysWhyAnAnswerIsMissing) {
  const ContentRecord record("req_01", TenantId{0}, 0, Request{});

  EXPECT_EQ(record.finish({}, ErrorCode::kResourceExhausted),
            R"({"request":"req_01","tenant":0,"unix_seconds":0,"n_images":0,"texts":[],)"
            R"("answers":[],"error":"resource_exhausted"})");
}

}  // namespace
}  // namespace tessera::api
