#include "fetch/url.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <sstream>

namespace tessera::fetch {
namespace {

const UrlPolicy kBoth{.allow_http = true};
const UrlPolicy kHttpsOnly{};

std::string canonical(std::string_view text, const UrlPolicy& policy = kBoth) {
  const ParsedUrl parsed = parse_url(text, policy);
  return parsed.url ? parsed.url->curl_text() : "refused";
}

UrlRefusal refusal(std::string_view text, const UrlPolicy& policy = kBoth) {
  return parse_url(text, policy).refusal;
}

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
template <typename T>
concept TextLike =
    std::is_convertible_v<T, std::string> || std::is_convertible_v<T, std::string_view>;

static_assert(!Printable<RedactedUrl> && !TextLike<RedactedUrl>);
static_assert(!Printable<FetchUrl> && !TextLike<FetchUrl>);

TEST(Url, PartsOfAnOrdinaryUrlAreKept) {
  const ParsedUrl parsed = parse_url("https://cdn.example.com/a/b.jpg?w=1&sig=x%2Fy", kHttpsOnly);

  ASSERT_TRUE(parsed.url);
  EXPECT_EQ(parsed.refusal, UrlRefusal::kNone);
  EXPECT_EQ(parsed.url->scheme(), UrlScheme::kHttps);
  EXPECT_EQ(parsed.url->host(), "cdn.example.com");
  EXPECT_EQ(parsed.url->port(), 443);
  EXPECT_EQ(parsed.url->target(), "/a/b.jpg?w=1&sig=x%2Fy");
  EXPECT_EQ(parsed.url->host_for_operator(), "cdn.example.com");
}

TEST(Url, DifferentSpellingsHaveOneCanonicalForm) {
  EXPECT_EQ(canonical("HTTPS://CDN.Example.COM"), "https://cdn.example.com:443/");
  EXPECT_EQ(canonical("https://cdn.example.com.:443/#top"), "https://cdn.example.com:443/");
  EXPECT_EQ(canonical("http://cdn.example.com/a/../b"), "http://cdn.example.com:80/b");
  EXPECT_EQ(canonical("https://cdn.example.com?x=1"), "https://cdn.example.com:443/?x=1");
  EXPECT_EQ(canonical("https://[2606:4700:0:0::1111]/"), "https://[2606:4700::1111]:443/");
}

TEST(Url, NumbersBecomeTheAddressThatTheyMean) {
  // Parsed, because the address itself is judged where it is connected to.
  EXPECT_EQ(canonical("http://2130706433/"), "http://127.0.0.1:80/");
  EXPECT_EQ(canonical("http://0x7f.1/"), "http://127.0.0.1:80/");
  EXPECT_EQ(canonical("http://0177.0.0.1/"), "http://127.0.0.1:80/");
  EXPECT_EQ(canonical("http://127.1/"), "http://127.0.0.1:80/");
}

struct RefusedCase {
  std::string_view text;
  UrlRefusal refusal;
};

TEST(Url, WhatAnotherParserMightReadOtherwiseIsRefused) {
  const std::vector<RefusedCase> cases{
      {"", UrlRefusal::kScheme},
      {"cdn.example.com/a.jpg", UrlRefusal::kScheme},
      {"//cdn.example.com/a.jpg", UrlRefusal::kScheme},
      {"https:cdn.example.com", UrlRefusal::kScheme},
      {"https:/cdn.example.com", UrlRefusal::kScheme},
      {"https:///cdn.example.com", UrlRefusal::kHost},
      {"https://", UrlRefusal::kHost},
      {"https://?x", UrlRefusal::kHost},
      {"file:///etc/passwd", UrlRefusal::kScheme},
      {"gopher://cdn.example.com/", UrlRefusal::kScheme},
      {"ftp://cdn.example.com/", UrlRefusal::kScheme},
      {"dict://cdn.example.com/", UrlRefusal::kScheme},
      {"httpss://cdn.example.com/", UrlRefusal::kScheme},
      {" https://cdn.example.com/", UrlRefusal::kForbiddenByte},
      {"https://cdn.example.com/ x", UrlRefusal::kForbiddenByte},
      {"https://cdn.example.com/\r\nHost: a", UrlRefusal::kForbiddenByte},
      {"https://cdn.example.com\\@127.0.0.1/", UrlRefusal::kForbiddenByte},
      {"https://\xD9\xA1\xD9\xA2\xD9\xA7.0.0.1/", UrlRefusal::kForbiddenByte},
      {"https://b\xC3\xBC"
       "cher.example/",
       UrlRefusal::kForbiddenByte},
      {"https://user@cdn.example.com/", UrlRefusal::kUserinfo},
      {"https://user:word@cdn.example.com/", UrlRefusal::kUserinfo},
      {"https://@cdn.example.com/", UrlRefusal::kUserinfo},
      {"http://user@127.0.0.1:80#@cdn.example.com/", UrlRefusal::kUserinfo},
      {"https://localhost/", UrlRefusal::kHost},
      {"https://localhost./", UrlRefusal::kHost},
      {"https://intranet/", UrlRefusal::kHost},
      {"https://a..example.com/", UrlRefusal::kHost},
      {"https://.example.com/", UrlRefusal::kHost},
      {"https://-a.example.com/", UrlRefusal::kHost},
      {"https://1.2.3.4.5/", UrlRefusal::kHost},
      {"https://256.256.256.256/", UrlRefusal::kHost},
      {"https://a.0x7f/", UrlRefusal::kHost},
      {"https://[fe80::1%25eth0]/", UrlRefusal::kHost},
      {"https://cdn.example.com:22/", UrlRefusal::kPort},
      {"https://cdn.example.com:0/", UrlRefusal::kPort},
      {"https://cdn.example.com:99999/", UrlRefusal::kPort},
      {"https://cdn.example.com:80a/", UrlRefusal::kPort},
  };
  for (const RefusedCase& row : cases) {
    const ParsedUrl parsed = parse_url(row.text, kBoth);
    EXPECT_FALSE(parsed.url) << row.text;
    EXPECT_EQ(parsed.refusal, row.refusal) << row.text;
  }
}

TEST(Url, HttpNeedsTheOperatorsLeave) {
  EXPECT_EQ(refusal("http://cdn.example.com/", kHttpsOnly), UrlRefusal::kScheme);
  EXPECT_EQ(refusal("http://cdn.example.com/", kBoth), UrlRefusal::kNone);
}

TEST(Url, OtherPortsNeedTheOperatorsLeave) {
  const UrlPolicy policy{.allow_http = false, .ports = {8443}};
  EXPECT_EQ(refusal("https://cdn.example.com:8443/", policy), UrlRefusal::kNone);
  EXPECT_EQ(refusal("https://cdn.example.com/", policy), UrlRefusal::kPort);
}

TEST(Url, TooLongTextIsRefusedAlsoWhenOnlyItsCanonicalFormIs) {
  const std::string head = "https://cdn.example.com/";
  const std::string fits = head + std::string(kUrlBytesMax - head.size(), 'a');
  EXPECT_EQ(refusal(fits + "a"), UrlRefusal::kTooLong);
  EXPECT_EQ(refusal(fits), UrlRefusal::kTooLong) << "the port is written out";
  EXPECT_EQ(refusal(fits.substr(0, kUrlBytesMax - 4)), UrlRefusal::kNone);
  EXPECT_EQ(refusal("https://" + std::string(kLabelBytesMax + 1, 'a') + ".example.com/"),
            UrlRefusal::kHost);
}

TEST(Url, RedirectsResolveAgainstTheirOrigin) {
  const FetchUrl from = *parse_url("https://cdn.example.com/a/b?x", kBoth).url;
  const auto resolved = [&](std::string_view location) {
    const ParsedUrl parsed = parse_redirect(from, location, kBoth);
    return parsed.url ? parsed.url->curl_text() : "refused";
  };

  EXPECT_EQ(resolved("c.jpg"), "https://cdn.example.com:443/a/c.jpg");
  EXPECT_EQ(resolved("/c.jpg?y"), "https://cdn.example.com:443/c.jpg?y");
  EXPECT_EQ(resolved("//other.example.com/c"), "https://other.example.com:443/c");
  EXPECT_EQ(resolved("https://other.example.com/c"), "https://other.example.com:443/c");
}

TEST(Url, RedirectsAreCheckedLikeAnyUrl) {
  const FetchUrl from = *parse_url("https://cdn.example.com/a", kBoth).url;
  const std::vector<RefusedCase> cases{
      {"file:///etc/passwd", UrlRefusal::kScheme},
      {"gopher://cdn.example.com/", UrlRefusal::kScheme},
      {"http://cdn.example.com/", UrlRefusal::kDowngrade},
      {"https://user@cdn.example.com/", UrlRefusal::kUserinfo},
      {"//user@cdn.example.com/", UrlRefusal::kUserinfo},
      {"https://cdn.example.com:22/", UrlRefusal::kPort},
      {"https://localhost/", UrlRefusal::kHost},
      {"\\\\127.0.0.1/", UrlRefusal::kForbiddenByte},
  };
  for (const RefusedCase& row : cases) {
    EXPECT_EQ(parse_redirect(from, row.text, kBoth).refusal, row.refusal) << row.text;
  }
}

TEST(Url, CanonicalFormOfAnyInputParsesToTheSameParts) {
  // Words that parsers disagree about, put together at random, and random bytes.
  constexpr std::array<std::string_view, 40> kWords{
      "http://", "https://", "HTTP:",   "//",        "/",    "\\",   "@",    ":",
      "#",       "?",        "%2e",     "%40",       "%00",  "..",   ".",    "[",
      "]",       "::1",      "::ffff:", "127.0.0.1", "0x7f", "0177", "1",    "a",
      "b.c",     "com",      "xn--a",   "-",         "_",    ":80",  ":443", ":0",
      "%25",     "&",        "=",       "user",      ";",    "\xC3", " ",    "e.example.com"};
  std::mt19937 random(20240611);
  int n_accepted = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = round % 2 == 0 ? "https://e.example.com" : "";
    const auto n_words = random() % 8;
    for (unsigned i = 0; i < n_words; ++i) text += kWords[random() % kWords.size()];
    if (round % 5 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());

    const ParsedUrl first = parse_url(text, kBoth);
    ASSERT_EQ(first.url.has_value(), first.refusal == UrlRefusal::kNone);
    if (!first.url) continue;
    ++n_accepted;
    const ParsedUrl second = parse_url(first.url->curl_text(), kBoth);
    ASSERT_TRUE(second.url) << text;
    ASSERT_TRUE(*second.url == *first.url) << text;
  }
  EXPECT_GT(n_accepted, 1000) << "the words must make good URLs too";
}

}  // namespace
}  // namespace tessera::fetch
