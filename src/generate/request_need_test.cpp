#include "generate/request_need.h"

#include <gtest/gtest.h>

#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {
namespace {

class RequestNeedTest : public testing::Test {
 protected:
  RequestNeedTest() {
    runtime::fake::FakeOptions fake;
    fake.context_length = 100;
    fake.n_kv_cells = 150;
    fake.n_sequences_max = 4;
    fake.n_rows_max = 16;
    fake.non_causal_images = true;
    model = std::move(runtime::fake::load(fake)).value();
  }

  ~RequestNeedTest() override {
    for (auto& request : requests) request->end(std::nullopt, {});
  }

  InFlight& request(const Ask& ask) {
    requests.push_back(make_request(*model.model, model.encoder.get(), ask, asked, {}));
    return *requests.back();
  }

  Result<RequestNeed> need(const InFlight& in_flight) {
    const runtime::Executor& executor = *model.executor;
    return need_of(in_flight, model.model->info(),
                   {executor.n_sequences_max(), executor.n_kv_cells(), executor.n_rows_max()},
                   options);
  }

  runtime::LoadedModel model;
  EngineOptions options;
  Asked asked;
  std::vector<std::unique_ptr<InFlight>> requests;
};

TEST_F(RequestNeedTest, TakesTheSmallestOfTheOutputLimits) {
  options.output_tokens_default = 30;
  options.output_tokens_max = 40;
  Ask ask{.text = "12345678"};  // 10 tokens with the roles

  EXPECT_EQ(need(request(ask))->output_limit, 30);
  ask.max_output_tokens = 35;
  EXPECT_EQ(need(request(ask))->output_limit, 35);
  ask.max_output_tokens = 50;
  EXPECT_EQ(need(request(ask))->output_limit, 40);
  options.output_tokens_max = 1000;
  ask.max_output_tokens = 1000;
  EXPECT_EQ(need(request(ask))->output_limit, 90);
}

TEST_F(RequestNeedTest, ReservesPromptAndOutputForEveryChoice) {
  const auto result = need(request({.text = "12345678", .n_choices = 3, .max_output_tokens = 20}));

  EXPECT_EQ(result->total.n_sequences, 3);
  EXPECT_EQ(result->total.n_kv_cells_most, 90);
}

TEST_F(RequestNeedTest, RefusesWhatCanNeverFitWithNumbers) {
  const auto long_prompt = need(request({.text = std::string(98, 'x')}));
  const auto many_cells =
      need(request({.text = "12345678", .n_choices = 4, .max_output_tokens = 40}));
  const auto many_choices = need(request({.text = "x", .n_choices = 5}));
  const auto large_tile = need(request({.text = "x", .images = {{140, 112}}}));

  EXPECT_EQ(long_prompt.error().reason, "context_length_exceeded");
  EXPECT_NE(long_prompt.error().message.find("100 tokens"), std::string::npos);
  EXPECT_EQ(many_cells.error().reason, "context_length_exceeded");
  EXPECT_NE(many_cells.error().message.find("4 × (10 prompt + 40 output) tokens exceed the 150"),
            std::string::npos);
  EXPECT_EQ(many_choices.error().reason, "too_many_choices");
  EXPECT_EQ(large_tile.error().reason, "image_tokens_exceeded");
  EXPECT_EQ(large_tile.error().code, ErrorCode::kTooLarge);
}

TEST_F(RequestNeedTest, RefusesPromptsThatDoNotHoldTogether) {
  const Ask ask{.text = "x", .images = {{28, 56}}};
  InFlight& missing = request(ask);
  missing.embeddings.clear();
  InFlight& too_many = request(ask);
  too_many.embeddings.push_back(too_many.embeddings.front());
  InFlight& other_size = request(ask);
  other_size.embeddings.front() = std::make_shared<Embedding>();
  InFlight& ends_in_image = request(ask);
  ends_in_image.prompt.n_text_tokens -= segment_tokens(ends_in_image.prompt.segments.back());
  ends_in_image.prompt.segments.pop_back();
  InFlight& empty = request(ask);
  empty.prompt = {};
  empty.embeddings.clear();

  for (const InFlight* in_flight : {&missing, &too_many, &other_size, &ends_in_image, &empty}) {
    EXPECT_EQ(need(*in_flight).error().reason, "prompt_invalid");
  }
}

}  // namespace
}  // namespace tessera::generate
