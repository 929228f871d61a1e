// What the server and its fetcher say to each other: fixed-size messages without padding, strings
// or pointers. Both come from one build; the version guards against a mix-up on disk.
//
//   server                                  fetcher
//   Configure                           ─▶  once; before it nothing is fetched
//   Order(kFetch, id) + output fd       ─▶  ≤ kFetchesMax at once
//   Order(kCancel, id)                  ─▶  no reply; one that is on its way is ignored
//                                       ◀─  Reply(id); the output's mapping is gone by then
//   closes its end                      ─▶  exits
//
// The output is a memfd of bytes_max bytes which cannot grow. The server trusts nothing in a reply.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fetch/domain_rules.h"
#include "fetch/url.h"

namespace tessera::fetch::wire {

inline constexpr std::uint32_t kVersion = 1;

/// Fetches of one fetcher at once: four tenants at their limit. Bounds its memory and descriptors.
inline constexpr std::size_t kFetchesMax = 32;

/// A web server's ports, and a few of the operator's.
inline constexpr std::size_t kPortsMax = 8;

/// The operator's own address ranges.
inline constexpr std::size_t kRangesMax = 64;

/// "*." and a host, with a final zero.
inline constexpr std::size_t kDomainBytes = 256;
static_assert(kDomainBytes > kHostBytesMax + 2);

enum class Kind : std::uint32_t { kConfigure = 0x46455431, kFetch, kCancel, kReply };

struct Header {
  Kind kind{};
  std::uint32_t version = kVersion;
  std::uint64_t id = 0;  // of the fetch; 0 in Configure
};

struct Range {
  std::array<std::uint8_t, 16> base{};
  std::uint16_t prefix_bits = 0;
  std::uint16_t is_v6 = 0;
};

struct Configure {
  Header header{Kind::kConfigure};
  std::uint32_t allow_http = 0;
  std::uint32_t public_internet = 0;
  std::uint32_t n_ports = 0;
  std::uint32_t n_ranges = 0;
  std::uint32_t n_domains = 0;
  std::uint32_t reserved = 0;
  std::array<std::uint16_t, kPortsMax> ports{};
  std::array<Range, kRangesMax> ranges{};
  std::array<std::array<char, kDomainBytes>, kDomainsMax> domains{};
};

/// kFetch with one descriptor, or kCancel with none and all but the header zero.
struct Order {
  Header header{Kind::kFetch};
  std::uint64_t bytes_max = 0;  // ≤ the output's size
  std::uint32_t header_bytes_max = 0;
  std::uint32_t redirects_max = 0;
  std::uint32_t connect_timeout_ms = 0;
  std::uint32_t total_timeout_ms = 0;
  std::uint32_t low_speed_bytes_per_second = 0;
  std::uint32_t low_speed_seconds = 0;
  std::uint32_t n_url_bytes = 0;
  std::uint32_t reserved = 0;
  std::array<char, kUrlBytesMax> url{};  // FetchUrl::curl_text()
};

/// How a fetch ended. Closed: a value outside is a broken fetcher. The client learns less
/// (Fetcher::fetch); these are for the operator's counters.
enum class Outcome : std::uint32_t {
  kFetched = 0,
  kUrlRefused,      // the URL or a redirect's target, see UrlRefusal
  kDomainRefused,   // not on the operator's list
  kAddressRefused,  // every address of the host is refused
  kNotResolved,     // no such host
  kRedirectsTooMany,
  kStatusRefused,  // any HTTP status but 200 and redirects
  kHeadersTooLarge,
  kTooLarge,       // the body of a 200 of an allowed host
  kTimeout,        // after a connection to an allowed host
  kNetworkFailed,  // connection refused, TLS, broken HTTP, a timeout before the connection
  kBusy,           // more fetches than kFetchesMax; a bug of the server
  kFailed,         // no memory, or a message that does not fit; a bug on one side
  kNotMedia,       // fetched, but no file that media decodes; the server's own finding
};
inline constexpr std::uint32_t kOutcomeCount = 14;

struct Reply {
  Header header{Kind::kReply};
  Outcome outcome = Outcome::kFailed;
  std::uint32_t reserved = 0;
  std::uint64_t size_bytes = 0;  // with kFetched; at offset 0 of the output
};

}  // namespace tessera::fetch::wire
