#include "api/body_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace tessera::api {
namespace {

/// What a body comes to, in a form that two runs can be compared by.
struct Outcome {
  std::string json;  // with "@" for the mark
  std::vector<std::string> media;
  std::string error;  // reason | message | param
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << outcome.json << " media " << testing::PrintToString(outcome.media) << " error "
       << outcome.error;
}

std::string bytes_of(const EncodedMedia& media) {
  std::string bytes(media.size_bytes, '\0');
  EXPECT_EQ(::pread(media.fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

Outcome outcome_of(const Error& error) {
  return {{}, {}, error.reason + " | " + error.message + " | " + error.param};
}

Outcome read(std::string_view body, const std::vector<std::size_t>& ends, const Limits& limits) {
  BodyReader reader(limits);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    if (auto fed = reader.feed(body.substr(begin, end - begin)); !fed) {
      return outcome_of(fed.error());
    }
    begin = end;
  }
  auto finished = reader.finish();
  if (!finished) return outcome_of(finished.error());
  Outcome outcome{finished->json, {}, {}};
  const std::string& mark = finished->media_mark;
  for (std::size_t at = 0; (at = outcome.json.find(mark)) != std::string::npos;) {
    outcome.json.replace(at, mark.size(), "@");
  }
  for (const EncodedMedia& media : finished->media) outcome.media.push_back(bytes_of(media));
  return outcome;
}

Outcome read(std::string_view body, const Limits& limits = {}) {
  return read(body, {body.size()}, limits);
}

std::string with_url(const std::string& url) {
  return R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
         url + R"("}}]}]})";
}

TEST(BodyReader, CopiesABodyWithoutMediaByteForByte) {
  const std::string body =
      "\xEF\xBB\xBF { \"messages\" : [ {\"content\":\"a \\\"quoted\\\" \\\\ \\u00e9 {[,:]}\"} ], "
      "\"n\":1e2,\"url\":\"https://example.com/x.png\"}\n";

  EXPECT_EQ(read(body), (Outcome{body, {}, {}}));
}

TEST(BodyReader, PutsImagesIntoMemfdsAndAMarkInTheirPlace) {
  const std::string body =
      R"([{"url":"data:image/png;base64,Zm9vYmFy"},{"url":"DATA:;BASE64,Zg=="},{"url":"x"}])";

  EXPECT_EQ(read(body),
            (Outcome{R"([{"url":"@0"},{"url":"@1"},{"url":"x"}])", {"foobar", "f"}, {}}));
}

TEST(BodyReader, UnderstandsEscapesInKeysSchemesAndData) {
  const std::string body = R"({"\u0075rl":"\u0064ata:image\/png;base64,\/\u002b\/\/Zm9v",)"
                           R"("URL":"data:,x","xurl":"data:"})";

  EXPECT_EQ(read(body), (Outcome{R"({"\u0075rl":"@0","URL":"data:,x","xurl":"data:"})",
                                 {"\xFF\xEF\xFF"
                                  "foo"},
                                 {}}));
}

TEST(BodyReader, TakesDataOnlyFromAValueOfTheKeyUrl) {
  const std::string body = R"({"text":"data:image/png;base64,Zm9v","url":["data:;base64,Zm9v"],)"
                           R"("data:x":"url","a":"url"})";

  EXPECT_EQ(read(body), (Outcome{body, {}, {}}));
}

TEST(BodyReader, MarksDifferFromRequestToRequest) {
  const auto first = BodyReader(Limits{}).finish();
  const auto second = BodyReader(Limits{}).finish();

  EXPECT_GE(first->media_mark.size(), 32U);
  EXPECT_NE(first->media_mark, second->media_mark);
}

TEST(BodyReader, NamesTheFieldOfEveryWrongDataUri) {
  const std::string where = " | messages[0].content[0].image_url.url";
  const std::pair<std::string, std::string> cases[] = {
      {"data:image/png;base64,Zm9*", "invalid_base64 | image 1: the data is not valid base64"},
      {"data:image/png;base64,Zm9v\\n", "invalid_base64 | image 1: the data is not valid base64"},
      {"data:image/png;base64,Zm9v\\u00e9", "invalid_base64 | image 1: the data is not valid"},
      {"data:image/png;base64,Zm9", "invalid_base64 | image 1: the base64 data ends inside"},
      {"data:image/png;base64,Zm9vZg==Zg==", "invalid_base64 | image 1"},
      {"data:image/png;base64,", "image_empty | image 1: the image has no bytes"},
      {"data:image/png,Zm9v", "invalid_data_uri | image 1: a data URI must say ';base64'"},
      {"data:image/png;base64", "invalid_data_uri | image 1: the data URI has no comma"},
      {"data:" + std::string(300, 'x'),
       "invalid_data_uri | image 1: no comma within the first 256"},
  };
  for (const auto& [url, expected] : cases) {
    const Outcome outcome = read(with_url(url));

    EXPECT_EQ(outcome.error.find(expected), 0U) << outcome.error;
    EXPECT_NE(outcome.error.find(where), std::string::npos) << outcome.error;
  }
}

TEST(BodyReader, KeepsItsFirstError) {
  BodyReader reader{Limits{}};
  ASSERT_FALSE(reader.feed(with_url("data:,")));

  EXPECT_EQ(reader.feed("{}").error().reason, "invalid_data_uri");
  EXPECT_EQ(reader.finish().error().reason, "invalid_data_uri");
}

TEST(BodyReader, RefusesABodyThatEndsInsideAnImage) {
  const std::string body = with_url("data:image/png;base64,Zm9v");

  EXPECT_EQ(read(body.substr(0, body.find("Zm9v") + 2)).error.find("invalid_json | image 1"), 0U);
}

TEST(BodyReader, BoundsDepthMembersAndValues) {
  const std::string deep(100'000, '[');
  std::string wide = "{";
  for (int i = 0; i < 513; ++i) wide += "\"k" + std::to_string(i) + "\":0,";
  std::string many = "[";
  for (std::size_t i = 0; i < kJsonValuesMax; ++i) many += "0,";

  EXPECT_EQ(read(std::string(64, '[')).error, "");
  EXPECT_EQ(read(deep).error, "json_too_deep | the body nests deeper than 64 levels | ");
  EXPECT_EQ(read(wide).error.find("json_too_complex | an object of the body has more than 512"),
            0U);
  EXPECT_EQ(read(many).error.find("json_too_complex | the body has more than 200000 values"), 0U);
}

TEST(BodyReader, BoundsTextWithoutCountingMedia) {
  Limits limits;
  limits.text_bytes_max = 200;
  const std::string image = with_url("data:image/png;base64," + std::string(4000, 'A'));

  EXPECT_EQ(read(image, limits).error, "");
  EXPECT_EQ(read("\"" + std::string(198, 'x') + "\"", limits).error, "");
  EXPECT_EQ(read("\"" + std::string(199, 'x') + "\"", limits).error,
            "text_too_large | the body without its images has more than 200 bytes | ");
}

TEST(BodyReader, RefusesTheFirstImageTooMany) {
  std::string body = "[";
  for (int i = 0; i < 10'000; ++i) body += R"({"url":"data:;base64,Zm9v"},)";

  EXPECT_EQ(read(body).error,
            "too_many_images | a request may have 16 images, this one has more | [16].url");
}

TEST(BodyReader, RefusesA150MegabyteImageAtItsLimitWhileHoldingLittle) {
  Limits limits;
  limits.image_bytes_max = 4 * kMiB;
  BodyReader reader(limits);
  ASSERT_TRUE(reader.feed(R"({"url":"data:image/png;base64,)"));
  const std::string piece(std::size_t{64} * 1024, 'A');
  std::size_t n_read = 0;
  std::size_t held_max = 0;

  Result<void> fed;
  while (fed && n_read < 150 * kMiB) {
    fed = reader.feed(piece);
    n_read += piece.size();
    held_max = std::max(held_max, reader.held_bytes());
  }

  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(fed.error().message, "image 1: the image has more than 4194304 bytes");
  EXPECT_LE(n_read, limits.image_bytes_max / 3 * 4 + 2 * piece.size());
  EXPECT_LE(held_max, std::size_t{256} * 1024);
}

TEST(BodyReader, AVideoHasItsOwnLimit) {
  Limits limits;
  limits.image_bytes_max = 10;
  limits.video_bytes_max = 20;
  const auto accepts = [&limits](const std::string& type, std::size_t n_bytes) {
    BodyReader reader(limits);
    const std::string base64(n_bytes / 3 * 4, 'A');
    return reader.feed(R"({"url":"data:)" + type + ";base64," + base64 + R"("})").has_value();
  };

  EXPECT_TRUE(accepts("image/png", 9));
  EXPECT_FALSE(accepts("image/png", 12));
  EXPECT_TRUE(accepts("VIDEO/mp4", 18));
  EXPECT_FALSE(accepts("video/mp4", 21));
  EXPECT_FALSE(accepts("", 12));
}

std::string random_body(std::mt19937& random) {
  const std::string pieces[] = {
      R"({"url":"data:image/png;base64,Zm9v"},)",
      R"({"url":"data:;base64,Zm9vYmFyZm9vYmE="},)",
      R"({"\u0075rl":"DATA:;base64,\/\/8="},)",
      R"({"text":"caf\u00e9 \"data:\""},)",
      R"({"url":"data:image/png;base64,)",
      R"(Zm9v)",
      R"(\/+\u002F)",
      R"("})",
      R"({"url":")",
      R"("text":)",
      R"({"image_url":)",
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      R"("a\"b\\")",
      R"(\u00)",
      "true",
      "1e5",
      " ",
      "\\",
      "\"",
      "data:",
      R"("\u0075rl":"DATA:;base64,Zg=="})",
      "=",
      "\xC3\xA9",
  };
  std::string body = "[";
  const std::size_t n = 1 + random() % 24;
  for (std::size_t i = 0; i < n; ++i) body += pieces[random() % std::size(pieces)];
  return body;
}

TEST(BodyReader, GivesTheSameForEverySplit) {
  Limits limits;
  limits.images_max = 2;
  limits.image_bytes_max = 12;
  limits.text_bytes_max = 120;
  int n_with_media = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::string body = random_body(random);
    const Outcome whole = read(body, limits);
    n_with_media += whole.media.empty() ? 0 : 1;

    std::vector<std::size_t> random_ends;
    std::vector<std::size_t> every_byte;
    for (std::size_t i = 1; i <= body.size(); ++i) {
      every_byte.push_back(i);
      if (random() % 4 == 0 || i == body.size()) random_ends.push_back(i);
    }
    ASSERT_EQ(read(body, random_ends, limits), whole) << "seed " << seed << ": " << body;
    ASSERT_EQ(read(body, every_byte, limits), whole) << "seed " << seed << ": " << body;
  }
  EXPECT_GT(n_with_media, 300);
}

TEST(BodyReader, GivesTheSameForEverySplitOfALargeImage) {
  std::mt19937 random(7);
  std::string data;
  for (int i = 0; i < 400'000; ++i) data += "ABCDEFGHabcdefgh0123456789+/"[random() % 28];
  const std::string body = with_url("data:image/png;base64," + data);
  const Outcome whole = read(body);
  ASSERT_EQ(whole.error, "");
  ASSERT_EQ(whole.media.at(0).size(), 300'000U);

  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < body.size();) {
    at = std::min<std::size_t>(body.size(), at + 1 + random() % 70'000);
    ends.push_back(at);
  }
  EXPECT_EQ(read(body, ends, Limits{}), whole);
}

}  // namespace
}  // namespace tessera::api
