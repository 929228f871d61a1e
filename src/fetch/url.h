// What a client calls a URL → parts that were checked one by one, or the reason why not.
//
// libcurl's own parser (curl_url_*) is the only one: the text that libcurl is given to fetch is
// rebuilt from the parts it returned, so that no second parser can read the same bytes otherwise.
// Our checks around it only refuse, they never repair: what a lenient parser would guess (missing
// slashes, backslashes, user names, Unicode) is refused before and after.
//
// A URL is content of a request: neither RedactedUrl nor FetchUrl has an operator<< or a conversion
// to text; logs get host_for_operator() and only if the operator asks.
// @thread any; all functions are pure
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redacted_url.h"

namespace tessera::fetch {

/// Signed URLs of object stores reach about 2 KB.
inline constexpr std::size_t kUrlBytesMax = 4096;

/// A DNS name as text, without its final dot (RFC 1035 §2.3.4).
inline constexpr std::size_t kHostBytesMax = 253;

/// A label of a DNS name.
inline constexpr std::size_t kLabelBytesMax = 63;

enum class UrlScheme : std::uint8_t { kHttps, kHttp };

struct UrlPolicy {
  bool allow_http = false;
  std::vector<std::uint16_t> ports{80, 443};  // any other port is mostly no web server
};

/// A URL in canonical form.
class FetchUrl {
 public:
  UrlScheme scheme() const { return scheme_; }
  /// Lower-case name without a final dot, dotted IPv4, or IPv6 in brackets.
  const std::string& host() const { return host_; }
  std::uint16_t port() const { return port_; }
  /// Path and query as they are sent; starts with '/'.
  const std::string& target() const { return target_; }

  /// The whole text, for libcurl alone. Parsing it again gives the same parts.
  std::string curl_text() const;

  /// The host alone: without path, query and fragment, which may hold secrets.
  const std::string& host_for_operator() const { return host_; }

  friend bool operator==(const FetchUrl&, const FetchUrl&) = default;

 private:
  friend struct UrlBuilder;
  FetchUrl() = default;

  UrlScheme scheme_ = UrlScheme::kHttps;
  std::uint16_t port_ = 0;
  std::string host_;
  std::string target_;
};

enum class UrlRefusal {
  kNone,
  kTooLong,
  kForbiddenByte,  // not printable ASCII, or a backslash
  kScheme,         // not https (or http where allowed), or not followed by "//"
  kUserinfo,
  kHost,  // empty, not a public kind of name, a zone id, or a number that is no address
  kPort,
  kMalformed,  // libcurl says so
  kDowngrade,  // a redirect from https to http
};

struct ParsedUrl {
  UrlRefusal refusal = UrlRefusal::kMalformed;
  std::optional<FetchUrl> url;  // with kNone
};

ParsedUrl parse_url(std::string_view text, const UrlPolicy& policy);

/// @param location  of a redirect; may be relative to `from`
ParsedUrl parse_redirect(const FetchUrl& from, std::string_view location, const UrlPolicy& policy);

/// The canonical form of a host as libcurl's parser returns it; nothing when it is refused.
std::optional<std::string> canonical_host(std::string_view host);

}  // namespace tessera::fetch
