#include "fetch/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "core/ascii.h"

namespace tessera::fetch {

struct UrlBuilder {
  static FetchUrl build(UrlScheme scheme, std::string host, std::uint16_t port,
                        std::string target) {
    FetchUrl url;
    url.scheme_ = scheme;
    url.host_ = std::move(host);
    url.port_ = port;
    url.target_ = std::move(target);
    return url;
  }
};

namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

constexpr std::string_view kHttpsPrefix = "https://";
constexpr std::string_view kHttpPrefix = "http://";

// CURLU_DISALLOW_USER is the only leniency of the parser that it lets us switch off.
constexpr unsigned kParseFlags = CURLU_DISALLOW_USER;

ParsedUrl refuse(UrlRefusal refusal) {
  return {refusal, std::nullopt};
}

/// A part of a parsed URL, or nothing when it has none.
std::optional<std::string> part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return std::nullopt;
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool is_clean(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_label(std::string_view label) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
  };
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, allowed);
}

/// @param name  lower case, no final dot
bool is_public_name(std::string_view name) {
  if (name.empty() || name.size() > kHostBytesMax) return false;
  std::size_t n_labels = 0;
  std::string_view label;
  for (std::string_view rest = name;; ++n_labels) {  // bounded by kHostBytesMax
    const std::size_t dot = rest.find('.');
    label = rest.substr(0, dot);
    if (!is_label(label)) return false;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  // One label is a name of the local network. No top-level domain begins with a digit, but every
  // way to write an IPv4 address that libcurl did not understand has a last part which does.
  return n_labels > 0 && !is_digit(label.front());
}

std::optional<std::uint16_t> port_of(CURLU* url) {
  const auto text = part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!text) return std::nullopt;
  std::uint16_t port = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, port);
  if (error != std::errc() || stopped != end || port == 0) return std::nullopt;
  return port;
}

/// What no lenient parser gets to see.
UrlRefusal check_text(std::string_view text, const UrlPolicy& policy) {
  if (text.size() > kUrlBytesMax) return UrlRefusal::kTooLong;
  if (!is_clean(text)) return UrlRefusal::kForbiddenByte;
  const bool is_https = starts_with_ignoring_case(text, kHttpsPrefix);
  const bool is_http = starts_with_ignoring_case(text, kHttpPrefix);
  if (!is_https && !(is_http && policy.allow_http)) return UrlRefusal::kScheme;
  text.remove_prefix(is_https ? kHttpsPrefix.size() : kHttpPrefix.size());
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  if (authority.empty()) return UrlRefusal::kHost;
  // libcurl refuses it as well (kParseFlags): the oldest way to disagree about the host.
  if (authority.find('@') != std::string_view::npos) return UrlRefusal::kUserinfo;
  return UrlRefusal::kNone;
}

UrlRefusal refusal_of(CURLUcode code) {
  switch (code) {
    case CURLUE_USER_NOT_ALLOWED:
    case CURLUE_BAD_LOGIN:
    case CURLUE_BAD_USER:
    case CURLUE_BAD_PASSWORD:
      return UrlRefusal::kUserinfo;
    case CURLUE_BAD_PORT_NUMBER:
      return UrlRefusal::kPort;
    case CURLUE_BAD_HOSTNAME:
    case CURLUE_BAD_IPV6:
    case CURLUE_NO_HOST:
      return UrlRefusal::kHost;
    default:  // libcurl's enum, which grows
      return UrlRefusal::kMalformed;
  }
}

}  // namespace

std::optional<std::string> canonical_host(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    in6_addr address{};
    const std::string inner(host.substr(1, host.size() - 2));
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::inet_pton(AF_INET6, inner.c_str(), &address) != 1) return std::nullopt;
    if (::inet_ntop(AF_INET6, &address, text.data(), text.size()) == nullptr) return std::nullopt;
    return "[" + std::string(text.data()) + "]";
  }
  std::string name = ascii_lower(host);
  in_addr address{};
  if (::inet_pton(AF_INET, name.c_str(), &address) == 1) return name;
  if (name.ends_with('.')) name.pop_back();
  if (!is_public_name(name)) return std::nullopt;
  return name;
}

std::string FetchUrl::curl_text() const {
  const std::string_view prefix = scheme_ == UrlScheme::kHttps ? kHttpsPrefix : kHttpPrefix;
  return std::string(prefix) + host_ + ":" + std::to_string(port_) + target_;
}

ParsedUrl parse_url(std::string_view text, const UrlPolicy& policy) {
  if (const UrlRefusal refusal = check_text(text, policy); refusal != UrlRefusal::kNone) {
    return refuse(refusal);
  }
  const UrlHandle handle(curl_url());
  if (handle == nullptr) return refuse(UrlRefusal::kMalformed);
  const CURLUcode code =
      curl_url_set(handle.get(), CURLUPART_URL, std::string(text).c_str(), kParseFlags);
  if (code != CURLUE_OK) return refuse(refusal_of(code));
  if (part_of(handle.get(), CURLUPART_USER) || part_of(handle.get(), CURLUPART_PASSWORD)) {
    return refuse(UrlRefusal::kUserinfo);
  }
  const auto scheme = part_of(handle.get(), CURLUPART_SCHEME);
  const bool is_http = scheme == "http";
  if (scheme != "https" && !(is_http && policy.allow_http)) return refuse(UrlRefusal::kScheme);
  if (part_of(handle.get(), CURLUPART_ZONEID)) return refuse(UrlRefusal::kHost);
  auto host = canonical_host(part_of(handle.get(), CURLUPART_HOST).value_or(""));
  if (!host) return refuse(UrlRefusal::kHost);
  const auto port = port_of(handle.get());
  if (!port || std::ranges::find(policy.ports, *port) == policy.ports.end()) {
    return refuse(UrlRefusal::kPort);
  }
  std::string target = part_of(handle.get(), CURLUPART_PATH).value_or("");
  if (!target.starts_with('/')) return refuse(UrlRefusal::kMalformed);
  const std::string query = part_of(handle.get(), CURLUPART_QUERY).value_or("");
  if (!query.empty()) target += "?" + query;
  FetchUrl url = UrlBuilder::build(is_http ? UrlScheme::kHttp : UrlScheme::kHttps, std::move(*host),
                                   *port, std::move(target));
  // The rebuilt text is longer than what came when it names its port, and it is parsed again on the
  // other side of a process border.
  const std::string rebuilt = url.curl_text();
  if (rebuilt.size() > kUrlBytesMax) return refuse(UrlRefusal::kTooLong);
  if (!is_clean(rebuilt)) return refuse(UrlRefusal::kForbiddenByte);
  return {UrlRefusal::kNone, std::move(url)};
}

ParsedUrl parse_redirect(const FetchUrl& from, std::string_view location, const UrlPolicy& policy) {
  if (location.size() > kUrlBytesMax) return refuse(UrlRefusal::kTooLong);
  if (!is_clean(location)) return refuse(UrlRefusal::kForbiddenByte);
  const UrlHandle handle(curl_url());
  if (handle == nullptr) return refuse(UrlRefusal::kMalformed);
  // The base first: a second set of the whole URL resolves against it.
  for (const std::string& text : {from.curl_text(), std::string(location)}) {
    const CURLUcode code = curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), kParseFlags);
    if (code != CURLUE_OK) return refuse(refusal_of(code));
  }
  const auto resolved = part_of(handle.get(), CURLUPART_URL);
  if (!resolved) return refuse(UrlRefusal::kMalformed);
  ParsedUrl parsed = parse_url(*resolved, policy);
  if (parsed.url && from.scheme() == UrlScheme::kHttps &&
      parsed.url->scheme() == UrlScheme::kHttp) {
    return refuse(UrlRefusal::kDowngrade);
  }
  return parsed;
}

}  // namespace tessera::fetch
