#include "api/chat_request.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace tessera::api {
namespace {

Result<ChatCall> parse(const std::string& json, const MediaSources& sources = {}) {
  BodyReader reader{Limits{}};
  if (Result<void> fed = reader.feed(json); !fed) return fed.error();
  auto body = reader.finish();
  if (!body) return body.error();
  return parse_chat_request(std::move(body).value(), "tiny", sources);
}

/// A valid request with more members, e.g. R"("n":2)".
Result<ChatCall> parse_with(const std::string& members) {
  return parse(R"({"messages":[{"role":"user","content":"hi"}],)" + members + "}");
}

/// A request with this content in a user message.
Result<ChatCall> parse_content(const std::string& content, const std::string& role = "user") {
  return parse(R"({"messages":[{"role":")" + role + R"(","content":)" + content + "}]}");
}

TEST(ChatRequest, TakesDefaultsFromOpenAi) {
  const auto call = parse(R"({"model":"tiny","messages":[{"role":"user","content":"hi"}]})");

  ASSERT_TRUE(call);
  const Request& request = call->request;
  EXPECT_EQ(request.model, "tiny");
  EXPECT_EQ(request.sampling.temperature, 1.F);
  EXPECT_EQ(request.sampling.top_p, 1.F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_FALSE(request.sampling.seed);
  EXPECT_FALSE(request.max_output_tokens);
  EXPECT_EQ(request.n_choices, 1);
  EXPECT_FALSE(request.logprobs);
  EXPECT_EQ(request.response_format.kind, ResponseFormat::Kind::kText);
  EXPECT_FALSE(call->stream);
  EXPECT_FALSE(call->include_usage);
}

TEST(ChatRequest, ReadsEveryField) {
  const auto call = parse_with(
      R"("max_tokens":5,"max_completion_tokens":7,"temperature":0,"top_p":0.5,"top_k":40,)"
      R"("seed":-3,"stop":["a","b"],"n":3,"stream":true,"stream_options":{"include_usage":true},)"
      R"("logprobs":true,"top_logprobs":20)");

  ASSERT_TRUE(call) << call.error().message;
  const Request& request = call->request;
  EXPECT_EQ(request.max_output_tokens, 7);
  EXPECT_EQ(request.output_tokens_name, "max_completion_tokens");
  EXPECT_EQ(request.sampling.temperature, 0.F);
  EXPECT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.n_choices, 3);
  EXPECT_TRUE(call->stream && call->include_usage);
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.n_top_logprobs, 20);
}

TEST(ChatRequest, ReadsTheLimitsThatARequestWantsLower) {
  const auto call = parse_with(R"("tessera":{"limits":{"images_max":2,"visual_tokens_max":0}})");

  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->request.limit_wishes.size(), 2U);
  EXPECT_EQ(call->request.limit_wishes[0].name, "images_max");
  EXPECT_EQ(call->request.limit_wishes[0].value, 2);
  EXPECT_TRUE(parse_with(R"("tessera":{})"));
}

TEST(ChatRequest, RefusesLimitsOfWrongTypesWithoutRepeatingTheirNames) {
  for (const char* limits : {"3", R"({"secret":"2"})", R"({"secret":-1})", R"({"secret":1.5})"}) {
    const auto call = parse_with(R"("tessera":{"limits":)" + std::string(limits) + "}");
    ASSERT_FALSE(call) << limits;
    EXPECT_EQ(call.error().param, "tessera.limits") << limits;
    EXPECT_EQ(call.error().message.find("secret"), std::string::npos) << limits;
  }
  std::string many = R"("tessera":{"limits":{"a":1)";
  for (std::size_t i = 0; i < kLimitWishesMax; ++i) many += ",\"a" + std::to_string(i) + "\":1";
  EXPECT_FALSE(parse_with(many + "}}"));
}

TEST(ChatRequest, ReadsWhereAndForWhomFeaturesAreKept) {
  using Scope = CachePolicy::Scope;
  using Tier = CachePolicy::Tier;
  struct Case {
    std::string cache;
    std::optional<Scope> scope = {};
    std::optional<Tier> tier = {};
  };
  for (const Case& c :
       {Case{"{}"}, Case{R"({"scope":"tenant","tier":"all"})", Scope::kTenant, Tier::kAll},
        Case{R"({"scope":"request"})", Scope::kRequest}, Case{R"({"scope":"none"})", Scope::kNone},
        Case{R"({"tier":"memory","ttl_seconds":60})", {}, Tier::kMemory}}) {
    const auto call = parse_with(R"("tessera":{"cache":)" + c.cache + "}");
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->cache.scope, c.scope) << c.cache;
    EXPECT_EQ(call->cache.tier, c.tier) << c.cache;
  }
  for (const char* wrong : {R"({"tier":"disk"})", R"({"tier":1})", R"({"scope":"server"})"}) {
    const auto call = parse_with(R"("tessera":{"cache":)" + std::string(wrong) + "}");
    ASSERT_FALSE(call) << wrong;
    EXPECT_TRUE(call.error().param.starts_with("tessera.cache.")) << call.error().param;
  }
}

TEST(ChatRequest, AMisspeltMemberOfOursIsRefusedAndNotRepeated) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("tessera":{"kache":{"scope":"none"}})", "tessera"},
      {R"("tessera":{"cache":{"skope":"none"}})", "tessera.cache"},
      {R"("tessera":{"visual_tokens":{"mx":5,"max":7}})", "tessera.visual_tokens"},
  };
  for (const auto& [member, param] : wrong) {
    const auto call = parse_with(member);
    ASSERT_FALSE(call) << member;
    EXPECT_EQ(call.error().reason, "unsupported_parameter");
    EXPECT_EQ(call.error().param, param);
    EXPECT_EQ(call.error().message.find("kache"), std::string::npos);
    EXPECT_EQ(call.error().message.find("skope"), std::string::npos);
  }
  const auto cache = parse_with(R"("tessera":{"cache":{"skope":1}})");
  EXPECT_EQ(cache.error().message,
            "'tessera.cache' has a member that this server does not know; it knows scope, tier, "
            "ttl_seconds");
}

TEST(ChatRequest, ADeadlineIsInMillisecondsFromTheArrival) {
  const auto call = parse_with(R"("tessera":{"deadline_ms":2500})");

  ASSERT_TRUE(call);
  EXPECT_EQ(call->request.deadline, std::chrono::milliseconds(2500));
  for (const char* bad : {"0", "-1", "1.5", "\"1s\"", "4294967296"}) {
    EXPECT_EQ(parse_with(R"("tessera":{"deadline_ms":)" + std::string(bad) + "}").error().param,
              "tessera.deadline_ms")
        << bad;
  }
}

TEST(ChatRequest, ReadsVisualTokensOfAnImageAndOfAll) {
  const auto call = parse_with(R"("tessera":{"visual_tokens":{"max":512}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.visual_tokens_max, 512);
  EXPECT_FALSE(parse_with(R"("tessera":{"visual_tokens":{"max":0}})"));
  EXPECT_FALSE(parse_with(R"("tessera":{"visual_tokens":7})"));
}

TEST(ChatRequest, ReadsTurnsAndKeepsImagesInTheOrderOfTheirParts) {
  const auto call =
      parse(R"({"metadata":{"url":"data:;base64,QUFB"},"messages":[)"
            R"({"role":"developer","content":"be brief"},)"
            R"({"role":"user","content":[{"image_url":{"detail":"low","url":"data:;base64,QQ=="},)"
            R"("type":"image_url"},)"
            R"({"type":"text","text":"and"},)"
            R"({"type":"image_url","image_url":{"url":"data:;base64,QUI="}}]},)"
            R"({"role":"assistant","content":"yes"}]})");

  ASSERT_TRUE(call) << call.error().message;
  const Request& request = call->request;
  ASSERT_EQ(request.messages.size(), 3U);
  EXPECT_EQ(request.messages[0].role, Role::kSystem);
  EXPECT_EQ(request.messages[2].role, Role::kAssistant);
  const auto& parts = request.messages[1].parts;
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(std::get<ImagePart>(parts[0]).media_index, 0U);
  EXPECT_EQ(std::get<ImagePart>(parts[0]).detail, ImageDetail::kLow);
  EXPECT_EQ(std::get<TextPart>(parts[1]).text, "and");
  EXPECT_EQ(std::get<ImagePart>(parts[2]).media_index, 1U);
  EXPECT_EQ(std::get<ImagePart>(parts[2]).detail, ImageDetail::kAuto);
  // The unused one of `metadata` is gone.
  ASSERT_EQ(request.media.size(), 2U);
  EXPECT_EQ(request.media[0].size_bytes, 1U);
  EXPECT_EQ(request.media[1].size_bytes, 2U);
}

TEST(ChatRequest, ReadsHowManyFramesOfAMovingImageAreWanted) {
  const auto frames_of = [](const std::string& frames) {
    return parse(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":)"
                 R"({"frames":)" +
                 frames + R"(,"url":"data:;base64,QQ=="}}]}]})");
  };

  ASSERT_TRUE(frames_of("8"));
  EXPECT_EQ(frames_of("8")->request.media[0].n_frames, 8);
  EXPECT_EQ(frames_of("null")->request.media[0].n_frames, std::nullopt);
  for (const char* wrong : {"0", "-1", "1.5", "\"8\"", "99999999999"}) {
    ASSERT_FALSE(frames_of(wrong)) << wrong;
    EXPECT_EQ(frames_of(wrong).error().param, "messages[0].content[0].image_url.frames");
  }
}

TEST(ChatRequest, ReadsVideosAsItReadsImages) {
  const auto call =
      parse(R"({"messages":[{"role":"user","content":[{"type":"video_url","video_url":)"
            R"({"url":"data:video/mp4;base64,QUE=","frames":4}}]}]})");

  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->request.media.size(), 1U);
  EXPECT_EQ(call->request.media[0].size_bytes, 2U);
  EXPECT_EQ(call->request.media[0].n_frames, 4);
  EXPECT_EQ(call->request.media[0].field, "messages[0].content[0].video_url.url");
}

TEST(ChatRequest, KeepsTheOrderOfASchemasProperties) {
  const auto call = parse_with(
      R"("response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,)"
      R"("schema":{"type":"object","properties":{"z":{},"a":{}}}}})");

  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.response_format.kind, ResponseFormat::Kind::kJsonSchema);
  EXPECT_EQ(call->request.response_format.json_schema,
            R"({"type":"object","properties":{"z":{},"a":{}}})");
  EXPECT_EQ(parse_with(R"("response_format":{"type":"json_object"})")->request.response_format.kind,
            ResponseFormat::Kind::kJsonObject);
}

TEST(ChatRequest, IgnoresUnknownFieldsNullsAndWhatAsksForNothing) {
  const char* accepted[] = {
      R"("user":"u","store":false,"reasoning_effort":"low","x":{"y":[1]})",
      R"("temperature":null,"stop":null,"n":null,"tools":null,"stream_options":null)",
      R"("tools":[],"tool_choice":"none","functions":[],"function_call":"none","logit_bias":{})",
      R"("presence_penalty":0,"frequency_penalty":0.0,"modalities":["text"],"tool_choice":"auto")",
      R"("model":"","top_k":-1,"top_p":0,"stop":"x","stop":[])",
  };
  for (const char* members : accepted) {
    const auto call = parse_with(members);
    EXPECT_TRUE(call) << members << ": " << call.error().message;
  }
}

struct Refusal {
  const char* json;
  const char* reason;
  const char* param;
};

TEST(ChatRequest, NamesTheFieldThatIsWrong) {
  const Refusal refusals[] = {
      {R"("model":"other")", "model_not_found", "model"},
      {R"("model":1)", "invalid_type", "model"},
      {R"("temperature":"hot")", "invalid_type", "temperature"},
      {R"("temperature":-0.1)", "invalid_value", "temperature"},
      {R"("temperature":1e300)", "invalid_value", "temperature"},
      {R"("top_p":1.1)", "invalid_value", "top_p"},
      {R"("top_k":-2)", "invalid_value", "top_k"},
      {R"("top_k":4000000000)", "invalid_value", "top_k"},
      {R"("seed":1.5)", "invalid_type", "seed"},
      {R"("max_tokens":-1)", "invalid_value", "max_tokens"},
      {R"("max_tokens":0)", "invalid_value", "max_tokens"},
      {R"("max_tokens":1.5)", "invalid_type", "max_tokens"},
      {R"("max_completion_tokens":"9")", "invalid_type", "max_completion_tokens"},
      {R"("n":0)", "invalid_value", "n"},
      {R"("n":true)", "invalid_type", "n"},
      {R"("stop":7)", "invalid_type", "stop"},
      {R"("stop":["a",7])", "invalid_type", "stop[1]"},
      {R"("stop":["a",""])", "invalid_value", "stop"},
      {R"("stop":["a","b","c","d","e"])", "invalid_value", "stop"},
      {R"("stream":"yes")", "invalid_type", "stream"},
      {R"("stream_options":{"include_usage":true})", "invalid_value", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "invalid_type",
       "stream_options.include_usage"},
      {R"("logprobs":1)", "invalid_type", "logprobs"},
      {R"("top_logprobs":2)", "invalid_value", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "invalid_value", "top_logprobs"},
      {R"("response_format":"json")", "invalid_type", "response_format"},
      {R"("response_format":{"type":"xml"})", "invalid_value", "response_format.type"},
      {R"("response_format":{"type":"json_schema"})", "missing_field",
       "response_format.json_schema"},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})", "missing_field",
       "response_format.json_schema.name"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":[]}})",
       "invalid_type", "response_format.json_schema.schema"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x",)"
       R"("schema":{"default":{"url":"data:;base64,QUFB"}}}})",
       "invalid_value", "response_format.json_schema.schema"},
      {R"("tools":[{"type":"function"}])", "unsupported_parameter", "tools"},
      {R"("tool_choice":"required")", "unsupported_parameter", "tool_choice"},
      {R"("functions":[{}])", "unsupported_parameter", "functions"},
      {R"("logit_bias":{"5":1})", "unsupported_parameter", "logit_bias"},
      {R"("frequency_penalty":0.5)", "unsupported_parameter", "frequency_penalty"},
      {R"("modalities":["text","audio"])", "unsupported_parameter", "modalities[1]"},
  };
  for (const Refusal& refusal : refusals) {
    const auto call = parse_with(refusal.json);

    ASSERT_FALSE(call) << refusal.json;
    EXPECT_EQ(call.error().reason, refusal.reason) << refusal.json;
    EXPECT_EQ(call.error().param, refusal.param) << refusal.json;
    EXPECT_FALSE(call.error().message.empty());
  }
}

TEST(ChatRequest, NamesTheMessagePartThatIsWrong) {
  const Refusal refusals[] = {
      {"7", "invalid_type", "messages[0].content"},
      {"null", "missing_field", "messages[0].content"},
      {"[]", "empty_content", "messages[0].content"},
      {"[7]", "invalid_type", "messages[0].content[0]"},
      {R"([{"text":"x"}])", "missing_field", "messages[0].content[0].type"},
      {R"([{"type":"text"}])", "missing_field", "messages[0].content[0].text"},
      {R"([{"type":"text","text":[]}])", "invalid_type", "messages[0].content[0].text"},
      {R"([{"type":"smell"}])", "invalid_value", "messages[0].content[0].type"},
      {R"([{"type":"text","text":""},{"type":"input_audio"}])", "unsupported_parameter",
       "messages[0].content[1].type"},
      {R"([{"type":"video_url","image_url":{"url":"data:video/mp4;base64,QUFB"}}])",
       "missing_field", "messages[0].content[0].video_url"},
      {R"([{"type":"video_url","video_url":{"url":"clip.mp4"}}])", "invalid_image_url",
       "messages[0].content[0].video_url.url"},
      {R"([{"type":"image_url"}])", "missing_field", "messages[0].content[0].image_url"},
      {R"([{"type":"image_url","image_url":"data:x"}])", "invalid_type",
       "messages[0].content[0].image_url"},
      {R"([{"type":"image_url","image_url":{"url":7}}])", "invalid_type",
       "messages[0].content[0].image_url.url"},
      {R"([{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}])",
       "remote_media_disabled", "messages[0].content[0].image_url.url"},
      {R"([{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}])", "invalid_image_url",
       "messages[0].content[0].image_url.url"},
      {R"([{"type":"image_url","image_url":{"url":"media-00-0"}}])", "invalid_image_url",
       "messages[0].content[0].image_url.url"},
      {R"([{"type":"image_url","image_url":{"url":"data:;base64,QQ==","detail":"max"}}])",
       "invalid_value", "messages[0].content[0].image_url.detail"},
      {R"([{"type":"image_url","image_url":{"url":"data:;base64,QQ="}}])", "invalid_base64",
       "messages[0].content[0].image_url.url"},
  };
  for (const Refusal& refusal : refusals) {
    const auto call = parse_content(refusal.json);

    ASSERT_FALSE(call) << refusal.json;
    EXPECT_EQ(call.error().reason, refusal.reason) << refusal.json;
    EXPECT_EQ(call.error().param, refusal.param) << refusal.json;
    EXPECT_EQ(call.error().message.find("example.com"), std::string::npos);
  }
}

TEST(ChatRequest, RefusesRolesAndBodiesItDoesNotKnow) {
  const std::string image = R"([{"type":"image_url","image_url":{"url":"data:;base64,QQ=="}}])";

  EXPECT_EQ(parse_content(R"("x")", "wizard").error().param, "messages[0].role");
  EXPECT_EQ(parse_content(R"("x")", "tool").error().reason, "unsupported_parameter");
  EXPECT_EQ(parse_content(image, "system").error().reason, "image_not_allowed");
  EXPECT_EQ(parse_content(image, "assistant").error().param, "messages[0].content[0].type");
  EXPECT_EQ(parse(R"({"messages":[]})").error().reason, "empty_messages");
  EXPECT_EQ(parse(R"({"messages":{}})").error().param, "messages");
  EXPECT_EQ(parse(R"({"messages":["x"]})").error().param, "messages[0]");
  EXPECT_EQ(parse("{}").error().reason, "missing_field");
  EXPECT_EQ(parse("[]").error().message, "the body must be an object, not an array");
  EXPECT_EQ(parse("hello").error().reason, "invalid_json");
  EXPECT_EQ(
      parse(R"({"messages":[{"role":"assistant","content":"","tool_calls":[{}]}]})").error().param,
      "messages[0].tool_calls");
}

/// The reason why an image of this URL is refused; empty when it is taken.
std::string refusal_of(const std::string& url, const MediaSources& sources) {
  const auto call = parse(R"({"messages":[{"role":"user","content":[{"type":"image_url",)"
                          R"("image_url":{"url":")" +
                              url + R"("}}]}]})",
                          sources);
  return call ? std::string() : call.error().reason;
}

TEST(ChatRequest, UrlsAreTakenWhereTheOperatorAllowsTheirScheme) {
  struct Row {
    const char* url;
    MediaSources allowed_by;
    const char* refused_as;
  };
  const Row rows[] = {
      {"http://a/", {.remote = true}, "remote_media_disabled"},
      {"https://a/", {.remote = true}, "remote_media_disabled"},
      {"HTTPS://a/", {.remote = true}, "remote_media_disabled"},
      {"file:///a", {.files = true}, "invalid_image_url"},
      {"tessera-file:a", {.uploads = true}, "invalid_image_url"},
  };
  for (const Row& row : rows) {
    const MediaSources others{!row.allowed_by.remote, !row.allowed_by.files,
                              !row.allowed_by.uploads};
    EXPECT_EQ(refusal_of(row.url, row.allowed_by), "") << row.url;
    EXPECT_EQ(refusal_of(row.url, others), row.refused_as) << row.url;
    EXPECT_EQ(refusal_of(row.url, {}), row.refused_as) << row.url;
  }
  for (const char* url : {"ftp://a/", "tessera-files:a", "gopher:a", "a", "", ":", "httpss://a"}) {
    EXPECT_EQ(refusal_of(url, {true, true, true}), "invalid_image_url") << url;
  }
}

TEST(ChatRequest, ImagesByUrlAndInTheBodyKeepTheirOrder) {
  const auto image = [](const std::string& url) {
    return R"({"type":"image_url","image_url":{"url":")" + url + "\"}}";
  };
  const auto call = parse(R"({"messages":[{"role":"user","content":[)" + image("file:///a") + "," +
                              image("data:image/png;base64,iVBORw0KGgo=") + "," +
                              image("tessera-file:b") + "]}]}",
                          {.files = true, .uploads = true});

  ASSERT_TRUE(call) << call.error().message;
  const Request& request = call->request;
  ASSERT_EQ(request.media.size(), 3U);
  ASSERT_EQ(request.pending.size(), 2U);
  EXPECT_EQ(request.pending[0].media_index, 0U);
  EXPECT_EQ(request.pending[0].url.unredacted(), "file:///a");
  EXPECT_EQ(request.pending[1].media_index, 2U);
  EXPECT_EQ(request.pending[1].url.unredacted(), "tessera-file:b");
  EXPECT_FALSE(request.media[0].fd);
  EXPECT_TRUE(request.media[1].fd);
  EXPECT_EQ(request.media[2].field, "messages[0].content[2].image_url.url");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<ImagePart>(request.messages[0].parts[i]).media_index, i);
  }
}

}  // namespace
}  // namespace tessera::api
