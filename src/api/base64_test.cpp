#include "api/base64.h"

#include <gtest/gtest.h>

#include <optional>

namespace tessera::api {
namespace {

std::optional<std::string> decode(std::string_view text, std::size_t piece = 1000) {
  Base64Decoder decoder;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    if (!decoder.feed(text.substr(i, piece), out)) return std::nullopt;
  }
  if (!decoder.complete()) return std::nullopt;
  return out;
}

TEST(Base64Decoder, DecodesTheVectorsOfRfc4648AtEverySplit) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},
      {"Zg==", "f"},
      {"Zm8=", "fo"},
      {"Zm9v", "foo"},
      {"Zm9vYg==", "foob"},
      {"Zm9vYmE=", "fooba"},
      {"Zm9vYmFy", "foobar"},
      {"+/+/", "\xFB\xFF\xBF"},
  };
  for (const auto& [text, bytes] : vectors) {
    for (std::size_t piece = 1; piece <= 8; ++piece) {
      EXPECT_EQ(decode(text, piece), bytes) << text << " by " << piece;
    }
  }
}

TEST(Base64Decoder, RefusesEverySecondSpelling) {
  const char* wrong[] = {
      "Z",     "Zg",    "Zg=",    "Zm9",  "=",    "====", "Z===",  "Zg==Zg==",   "Zg=g",
      "Zm9v=", "Zm 9v", "Zm9v\n", "Zm-_", "Zh==", "Zm9=", "Zm9v!", "\xC3\xA9==",
  };
  for (const char* text : wrong) {
    EXPECT_EQ(decode(text), std::nullopt) << text;
    EXPECT_EQ(decode(text, 1), std::nullopt) << text;
  }
}

TEST(Base64Decoder, StaysWrongAfterAnError) {
  Base64Decoder decoder;
  std::string out;

  EXPECT_FALSE(decoder.feed("Zm9v!", out));
  EXPECT_FALSE(decoder.feed("Zm9v", out));
  EXPECT_FALSE(decoder.complete());
}

}  // namespace
}  // namespace tessera::api
