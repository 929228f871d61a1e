#include "fuzz/text_targets.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "api/base64.h"
#include "api/body_reader.h"
#include "core/check.h"
#include "fetch/url.h"

namespace tessera::fuzz {
namespace {

using media::testing::ByteVector;

std::string_view text_of(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

std::vector<ByteVector> seeds_of(std::initializer_list<std::string_view> texts) {
  std::vector<ByteVector> seeds;
  for (const std::string_view text : texts) seeds.emplace_back(text.begin(), text.end());
  return seeds;
}

/// Pieces whose sizes the text itself chooses: up to seven bytes each, so that every state of a
/// parser is interrupted somewhere.
template <typename Feed>
void feed_in_pieces(std::string_view text, Feed feed) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t n = 1 + static_cast<unsigned char>(text[begin]) % 7U;
    feed(text.substr(begin, n));
    begin += n;
  }
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    unsigned value = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      value = value << 8U | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    }
    for (unsigned k = 0; k < 4; ++k) {
      text += k <= group.size() ? kAlphabet[value >> (18U - 6U * k) & 0x3FU] : '=';
    }
  }
  return text;
}

/// Small, so that a run is short and every limit is met.
Limits body_limits() {
  Limits limits;
  limits.image_bytes_max = 2048;
  limits.text_bytes_max = 8192;
  limits.images_max = 4;
  return limits;
}

// What a reader may hold beside its text: one piece on its way to a memfd, names of fields.
constexpr std::size_t kHeldBesideText = std::size_t{256} * 1024;

/// What a body comes to, comparable between two readings: the mark is random.
struct BodyOutcome {
  std::string json;
  std::vector<std::string> media;
  std::string error;
  friend bool operator==(const BodyOutcome&, const BodyOutcome&) = default;
};

BodyOutcome outcome_of(const Error& error) {
  return {{}, {}, error.reason + error.message + error.param};
}

BodyOutcome outcome_of(const api::ReadBody& body) {
  BodyOutcome outcome{body.json, {}, {}};
  for (std::size_t at = 0; (at = outcome.json.find(body.media_mark, at)) != std::string::npos;) {
    outcome.json.replace(at, body.media_mark.size(), "@");
  }
  for (const EncodedMedia& item : body.media) {
    std::string bytes(item.size_bytes, '\0');
    const ssize_t n_read = ::pread(item.fd.get(), bytes.data(), bytes.size(), 0);
    TSR_CHECK(n_read == static_cast<ssize_t>(bytes.size()));
    outcome.media.push_back(std::move(bytes));
  }
  return outcome;
}

BodyOutcome finish(api::BodyReader& reader) {
  const auto body = reader.finish();
  return body ? outcome_of(*body) : outcome_of(body.error());
}

BodyOutcome read_whole(std::string_view text, const Limits& limits) {
  api::BodyReader reader(limits);
  if (auto fed = reader.feed(text); !fed) return outcome_of(fed.error());
  return finish(reader);
}

BodyOutcome read_in_pieces(std::string_view text, const Limits& limits) {
  api::BodyReader reader(limits);
  std::optional<Error> error;
  feed_in_pieces(text, [&](std::string_view piece) {
    auto fed = reader.feed(piece);
    TSR_CHECK(!error || (!fed && fed.error().reason == error->reason));  // it stays refused
    if (!fed && !error) error = fed.error();
    TSR_CHECK(reader.held_bytes() <= limits.text_bytes_max + kHeldBesideText);
  });
  return error ? outcome_of(*error) : finish(reader);
}

/// What every URL that may be fetched is, however it was written.
void check_canonical(const fetch::FetchUrl& url, const fetch::UrlPolicy& policy) {
  const std::string text = url.curl_text();
  TSR_CHECK(text.size() <= fetch::kUrlBytesMax);
  TSR_CHECK(std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F' && c != '\\'; }));
  TSR_CHECK(std::ranges::find(policy.ports, url.port()) != policy.ports.end());
  TSR_CHECK(policy.allow_http || url.scheme() == fetch::UrlScheme::kHttps);
  TSR_CHECK(url.target().starts_with('/'));
  TSR_CHECK(url.host().find_first_of("/?#@%") == std::string::npos);
  TSR_CHECK(fetch::canonical_host(url.host()) == url.host());
  const fetch::ParsedUrl again = fetch::parse_url(text, policy);
  TSR_CHECK(again.url.has_value() && *again.url == url);
}

}  // namespace

bool run_base64(Bytes input) {
  const std::string_view text = text_of(input);
  api::Base64Decoder whole;
  std::string bytes;
  const bool whole_ok = whole.feed(text, bytes);
  api::Base64Decoder in_pieces;
  std::string pieces;
  bool pieces_ok = true;
  feed_in_pieces(text, [&](std::string_view piece) {
    const bool fed = in_pieces.feed(piece, pieces);
    TSR_CHECK(pieces_ok || !fed);  // it stays refused
    pieces_ok = fed;
  });
  TSR_CHECK(whole_ok == pieces_ok && whole.complete() == in_pieces.complete());
  TSR_CHECK(bytes.size() <= text.size() / 4 * 3 + 3);
  if (!whole_ok) return true;
  TSR_CHECK(bytes == pieces);
  // There is one text for each file, and no other is taken.
  if (whole.complete()) TSR_CHECK(encode_base64(bytes) == text);
  return true;
}

bool run_json_body(Bytes input) {
  const std::string_view text = text_of(input);
  const Limits limits = body_limits();
  const BodyOutcome whole = read_whole(text, limits);
  TSR_CHECK(whole == read_in_pieces(text, limits));
  TSR_CHECK(whole.media.size() <= static_cast<std::size_t>(limits.images_max));
  for (const std::string& item : whole.media) {
    TSR_CHECK(!item.empty() && item.size() <= limits.image_bytes_max);
  }
  return true;
}

bool run_url(Bytes input) {
  const std::string_view text = text_of(input);
  const std::size_t line_feed = std::min(text.find('\n'), text.size());
  for (const bool allow_http : {false, true}) {
    const fetch::UrlPolicy policy{.allow_http = allow_http, .ports = {80, 443, 8080}};
    const fetch::ParsedUrl first = fetch::parse_url(text.substr(0, line_feed), policy);
    TSR_CHECK(first.url.has_value() == (first.refusal == fetch::UrlRefusal::kNone));
    if (!first.url) continue;
    check_canonical(*first.url, policy);
    if (line_feed == text.size()) continue;
    const auto next = fetch::parse_redirect(*first.url, text.substr(line_feed + 1), policy);
    TSR_CHECK(next.url.has_value() == (next.refusal == fetch::UrlRefusal::kNone));
    if (!next.url) continue;
    check_canonical(*next.url, policy);
    TSR_CHECK(first.url->scheme() == fetch::UrlScheme::kHttp ||
              next.url->scheme() == fetch::UrlScheme::kHttps);
  }
  return true;
}

std::vector<ByteVector> base64_seeds() {
  return seeds_of({"aGVsbG8gd29ybGQ=", "TQ==", "TWE=", "TWFu", "+/+/", "TQ==TQ==", "T===", "TWF1",
                   "TW Fu", "TR==", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"});
}

std::vector<ByteVector> json_body_seeds() {
  return seeds_of({
      R"({"messages":[{"role":"user","content":"hi"}]})",
      R"({"url":"data:image/png;base64,iVBORw0KGgo="})",
      R"({"a":[{"image_url":{"url":"data:image/jpeg;base64,\/9j\/4AAQ","detail":"low"}},1.5e3]})",
      R"({"url":"data:,x","url":"https:\/\/a.example.com\/","text":"data:image\/png;base64,AA"})",
      R"({"\u0075rl":"d\u0061ta:image/png;base64,iVBORw0KGgo\u003d","x":"\ud83d\ude00\"\\\n"})",
      R"([{"url":"data:image/png;base64,AAAA"},{"url":"data:image/png;base64,AAAA"},)"
      R"({"url":"data:image/png;base64,AAAA"},{"url":"data:image/png;base64,AAAA"},)"
      R"({"url":"data:image/png;base64,AAAA"}])",
      R"([[[[[[[[[[[[{"a":{"b":{"c":[null,true,false,-0.1]}}}]]]]]]]]]]]])",
      R"({"url":"data:image/png;base64,AAA)",
  });
}

std::vector<ByteVector> url_seeds() {
  return seeds_of({
      "https://cdn.example.com/a/b.png?x=1&y=%20#f",
      "HTTPS://CDN.Example.COM:443/../a/./b",
      "http://a.example.com:8080",
      "http://a.example.com./",
      "https://9.9.9.9/",
      "https://0x7f.1/",
      "https://2130706433/",
      "https://[2620:fe::fe]:443/x",
      "https://[fe80::1%25eth0]/",
      "https://user:pass@a.example.com/",
      "https://a.example.com\\@b.example.com/",
      "https:///a.example.com/",
      "https://a_b.xn--bcher-kva.example/?",
      "https://a.example.com/x\n/y?z",
      "https://a.example.com/x/y\n../../z",
      "https://a.example.com/\n//b.example.com/c",
      "https://a.example.com/\nhttp://b.example.com/",
      "http://a.example.com/\nhttps://b.example.com:8080/?q#f",
      "https://a.example.com/?a\n?b",
      "https://a.example.com/\nfile:///etc/passwd",
  });
}

}  // namespace tessera::fuzz
