#include "api/chat_answer.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

const AnswerHead kHead{"chatcmpl-1", 1700000000, "tiny"};

TokenDelta token(int choice, std::string piece) {
  return {choice, 7, std::move(piece), std::nullopt, {}};
}

Trace trace_with_counts() {
  Trace trace(TimePoint{});
  trace.counts = {1, 2, 64, 10, 3, 4};
  trace.mark_first_token(TimePoint{} + std::chrono::milliseconds(250));
  trace.enter(Stage::kEmit, TimePoint{} + std::chrono::milliseconds(500));
  trace.finish(TimePoint{} + std::chrono::milliseconds(1500));
  return trace;
}

std::string chunk(const std::string& choices, const std::string& rest = "") {
  return R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,)"
         R"("model":"tiny","choices":[)" +
         choices + "]" + rest + "}\n\n";
}

std::string choice(const std::string& delta, const std::string& reason = "null",
                   const std::string& logprobs = "null", int index = 0) {
  return R"({"index":)" + std::to_string(index) + R"(,"delta":)" + delta + R"(,"logprobs":)" +
         logprobs + R"(,"finish_reason":)" + reason + "}";
}

const std::string kUsage =
    R"("usage":{"prompt_tokens":74,"completion_tokens":3,"total_tokens":77,)"
    R"("prompt_tokens_details":{"cached_tokens":3,"text_tokens":10,"image_tokens":64}})";

const std::string kTrace =
    R"("tessera":{"stages_seconds":{"read":0.500000,"fetch_wait":0.000000,"fetch":0.000000,)"
    R"("media_wait":0.000000,"media_decode":0.000000,)"
    R"("plan":0.000000,"resize":0.000000,"encode_wait":0.000000,"encode":0.000000,)"
    R"("schedule_wait":0.000000,"prefill_visual":0.000000,"prefill_text":0.000000,)"
    R"("decode":0.000000,"emit":1.000000},"total_seconds":1.500000,"ttft_seconds":0.250000,)"
    R"("n_images":1,"n_tiles":2,"n_cached_tiles":0,"n_visual_tokens":64,"n_text_tokens":10,)"
    R"("n_cached_tokens":3,)"
    R"("n_output_tokens":4,"images":[],)"
    R"("note":"encode holds the projector: the library runs both in one call"})";

TEST(WholeAnswer, IsAChatCompletionWithUsage) {
  WholeAnswer answer(kHead, {});
  answer.add(token(0, "Two \xC3"));
  answer.add(token(0, "\xA9 \"circles\""));
  EXPECT_FALSE(answer.complete());
  answer.add(ChoiceEnd{0, FinishReason::kStop, 3});

  EXPECT_TRUE(answer.complete());
  EXPECT_EQ(answer.body(trace_with_counts()),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"tiny",)"
            R"("choices":[{"index":0,"message":{"role":"assistant","content":"Two é \"circles\"",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop"}],)" +
                kUsage + "}");
}

TEST(WholeAnswer, KeepsChoicesApartAndAddsUpTheirTokens) {
  AnswerOptions options;
  options.n_choices = 2;
  WholeAnswer answer(kHead, options);
  answer.add(token(1, "b"));
  answer.add(token(0, "a"));
  answer.add(ChoiceEnd{1, FinishReason::kLength, 1});
  answer.add(ChoiceEnd{0, FinishReason::kStop, 2});

  const std::string body = answer.body(trace_with_counts());

  EXPECT_NE(body.find(R"("content":"a","refusal":null},"logprobs":null,"finish_reason":"stop"})"),
            std::string::npos);
  EXPECT_NE(body.find(R"("content":"b","refusal":null},"logprobs":null,"finish_reason":"length"})"),
            std::string::npos);
  EXPECT_NE(body.find(kUsage), std::string::npos);
}

TEST(WholeAnswer, HasLogprobsAndTraceWhenAsked) {
  AnswerOptions options;
  options.logprobs = true;
  options.with_trace = true;
  WholeAnswer answer(kHead, options);
  answer.add({0, 7, "A\xC3", -0.25F, {{7, "A\xC3", -0.25F}, {8, "b", -1e30F}}});
  answer.add(ChoiceEnd{0, FinishReason::kStop, 1});

  const std::string body = answer.body(trace_with_counts());

  EXPECT_NE(
      body.find(
          R"("logprobs":{"content":[{"token":"A)"
          "\xEF\xBF\xBD"
          R"(","logprob":-0.25,"bytes":[65,195],"top_logprobs":[{"token":"A)"
          "\xEF\xBF\xBD"
          R"(","logprob":-0.25,"bytes":[65,195]},{"token":"b","logprob":-9999,"bytes":[98]}]}],)"
          R"("refusal":null})"),
      std::string::npos)
      << body;
  EXPECT_NE(body.find("," + kTrace + "}"), std::string::npos) << body;
}

TEST(WholeAnswer, EndsAtAStopStringBeforeTheEngineDoes) {
  AnswerOptions options;
  options.stop = {"END"};
  WholeAnswer answer(kHead, options);
  answer.add(token(0, "one E"));
  answer.add(token(0, "ND two"));
  EXPECT_TRUE(answer.complete());
  answer.add(token(0, "three"));
  answer.add(ChoiceEnd{0, FinishReason::kLength, 9});

  const std::string body = answer.body(trace_with_counts());

  EXPECT_NE(body.find(R"("content":"one ")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("finish_reason":"stop")"), std::string::npos);
  EXPECT_NE(body.find(R"("completion_tokens":2)"), std::string::npos);
}

TEST(StreamedAnswer, FramesRoleTextEndAndDone) {
  StreamedAnswer answer(kHead, {});
  answer.add(token(0, "Tw"));
  answer.add(token(0, "\xC3"));
  EXPECT_EQ(answer.take(), chunk(choice(R"({"role":"assistant","content":""})")) +
                               chunk(choice(R"({"content":"Tw"})")));
  EXPECT_EQ(answer.take(), "");
  answer.add(token(0, "\xA9"));
  EXPECT_EQ(answer.take(), chunk(choice(R"({"content":"é"})")));
  answer.add(ChoiceEnd{0, FinishReason::kLength, 3});
  answer.finish(trace_with_counts());

  EXPECT_EQ(answer.take(), chunk(choice("{}", R"("length")")) + "data: [DONE]\n\n");
}

TEST(StreamedAnswer, SendsUsageAndTraceInOneLastEventWithoutChoices) {
  AnswerOptions options;
  options.include_usage = true;
  options.with_trace = true;
  StreamedAnswer answer(kHead, options);
  answer.add(ChoiceEnd{0, FinishReason::kStop, 3});
  answer.finish(trace_with_counts());

  EXPECT_EQ(answer.take(),
            chunk(choice(R"({"role":"assistant","content":""})"), R"(,"usage":null)") +
                chunk(choice("{}", R"("stop")"), R"(,"usage":null)") +
                chunk("", "," + kUsage + "," + kTrace) + "data: [DONE]\n\n");
}

TEST(StreamedAnswer, SendsLogprobsWithTheTextTheyBelongTo) {
  AnswerOptions options;
  options.logprobs = true;
  options.stop = {"xyz"};
  StreamedAnswer answer(kHead, options);
  answer.add({0, 1, "x", -1.0F, {}});
  EXPECT_EQ(answer.take(), chunk(choice(R"({"role":"assistant","content":""})")));
  answer.add({0, 2, "a", -2.0F, {}});

  const std::string both =
      R"({"content":[{"token":"x","logprob":-1,"bytes":[120],"top_logprobs":[]},)"
      R"({"token":"a","logprob":-2,"bytes":[97],"top_logprobs":[]}],"refusal":null})";
  EXPECT_EQ(answer.take(), chunk(choice(R"({"content":"xa"})", "null", both)));
}

TEST(WholeAnswer, HasNoLogprobsOfTokensThatAreNoPartOfTheText) {
  AnswerOptions options;
  options.logprobs = true;
  options.stop = {"xy"};
  WholeAnswer answer(kHead, options);
  answer.add({0, 1, "a", -1.0F, {}});
  answer.add({0, 2, "x", -2.0F, {}});
  answer.add({0, 3, "y", -3.0F, {}});

  const std::string body = answer.body(trace_with_counts());

  EXPECT_NE(body.find(R"("logprobs":{"content":[{"token":"a","logprob":-1,)"), std::string::npos);
  EXPECT_EQ(body.find(R"("token":"x")"), std::string::npos);
  EXPECT_EQ(body.find(R"("token":"y")"), std::string::npos);
}

TEST(StreamedAnswer, EndsAtAStopStringOnceAndIgnoresWhatFollows) {
  AnswerOptions options;
  options.stop = {"STOP"};
  StreamedAnswer answer(kHead, options);
  answer.add(token(0, "aSTOPb"));
  EXPECT_TRUE(answer.complete());
  const std::string text = answer.take();
  answer.add(token(0, "c"));
  answer.add(ChoiceEnd{0, FinishReason::kLength, 2});

  EXPECT_EQ(text, chunk(choice(R"({"role":"assistant","content":""})")) +
                      chunk(choice(R"({"content":"a"})")) + chunk(choice("{}", R"("stop")")));
  EXPECT_EQ(answer.take(), "");
}

TEST(StreamedAnswer, SaysAnErrorInAnEventOfItsOwn) {
  StreamedAnswer answer(kHead, {});
  answer.fail(make_error(ErrorCode::kInternal, "internal_error", "no luck"));

  EXPECT_EQ(answer.take(),
            R"(data: {"error":{"message":"no luck","type":"server_error","param":null,)"
            R"("code":"internal_error"}})"
            "\n\n");
}

}  // namespace
}  // namespace tessera::api
