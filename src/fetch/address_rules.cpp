#include "fetch/address_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace tessera::fetch {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

constexpr int kIpv4Bits = 32;
constexpr int kIpv6Bits = 128;

struct Rule {
  Bytes base;
  int prefix_bits;
  AddressVerdict verdict;
};

constexpr Rule v4(std::array<std::uint8_t, 4> base, int prefix_bits, AddressVerdict verdict) {
  return {{base[0], base[1], base[2], base[3]}, prefix_bits, verdict};
}

/// @param head  the first 64 bits; the rest is zero
constexpr Rule v6(std::array<std::uint16_t, 4> head, int prefix_bits, AddressVerdict verdict) {
  Rule rule{{}, prefix_bits, verdict};
  for (std::size_t i = 0; i < head.size(); ++i) {
    rule.base[2 * i] = static_cast<std::uint8_t>(head[i] >> 8U);
    rule.base[2 * i + 1] = static_cast<std::uint8_t>(head[i] & 0xFFU);
  }
  return rule;
}

constexpr Rule mapped_rule() {
  Rule rule{{}, 96, AddressVerdict::kEmbedsIpv4};
  rule.base[10] = rule.base[11] = 0xFF;
  return rule;
}

constexpr Rule loopback_rule() {
  Rule rule{{}, kIpv6Bits, AddressVerdict::kLoopback};
  rule.base[15] = 1;
  return rule;
}

using enum AddressVerdict;

// IANA's special-purpose registries (RFC 6890 and later).
constexpr std::array kIpv4Rules{
    v4({0, 0, 0, 0}, 8, kThisNetwork),
    v4({10, 0, 0, 0}, 8, kPrivate),
    v4({100, 64, 0, 0}, 10, kShared),
    v4({127, 0, 0, 0}, 8, kLoopback),
    v4({169, 254, 0, 0}, 16, kLinkLocal),
    v4({172, 16, 0, 0}, 12, kPrivate),
    v4({192, 0, 0, 0}, 24, kReserved),
    v4({192, 0, 2, 0}, 24, kDocumentation),
    v4({192, 88, 99, 0}, 24, kReserved),  // 6to4 relays, deprecated
    v4({192, 168, 0, 0}, 16, kPrivate),
    v4({198, 18, 0, 0}, 15, kBenchmark),
    v4({198, 51, 100, 0}, 24, kDocumentation),
    v4({203, 0, 113, 0}, 24, kDocumentation),
    v4({224, 0, 0, 0}, 4, kMulticast),
    v4({240, 0, 0, 0}, 4, kReserved),  // with the broadcast address
};

// The first match counts: :: and ::1 lie within ::/96.
constexpr std::array kIpv6Rules{
    Rule{{}, kIpv6Bits, kThisNetwork},
    loopback_rule(),
    mapped_rule(),                                // ::ffff:0:0/96
    Rule{{}, 96, kEmbedsIpv4},                    // IPv4-compatible
    v6({0x0064, 0xFF9B, 0, 0}, 96, kEmbedsIpv4),  // NAT64
    v6({0x0064, 0xFF9B, 1, 0}, 48, kEmbedsIpv4),  // NAT64 of a site
    v6({0x2002, 0, 0, 0}, 16, kEmbedsIpv4),       // 6to4
    v6({0x2001, 0, 0, 0}, 32, kEmbedsIpv4),       // Teredo
    v6({0x2001, 0, 0, 0}, 23, kReserved),         // protocols: benchmarks, ORCHID, …
    v6({0x2001, 0x0DB8, 0, 0}, 32, kDocumentation),
    v6({0x3FFF, 0, 0, 0}, 20, kDocumentation),
    v6({0xFC00, 0, 0, 0}, 7, kPrivate),
    v6({0xFEC0, 0, 0, 0}, 10, kPrivate),  // site-local, deprecated
    v6({0xFE80, 0, 0, 0}, 10, kLinkLocal),
    v6({0xFF00, 0, 0, 0}, 8, kMulticast),
};

bool is_within(const Bytes& address, const Bytes& base, int prefix_bits) {
  const auto n_whole = static_cast<std::size_t>(prefix_bits / 8);
  if (!std::equal(address.begin(), address.begin() + prefix_bits / 8, base.begin())) return false;
  const int n_rest = prefix_bits % 8;
  if (n_rest == 0) return true;
  const unsigned mask = (0xFFU << (8 - n_rest)) & 0xFFU;
  return (address[n_whole] & mask) == (base[n_whole] & mask);
}

/// Verdict of the first rule that holds the address.
AddressVerdict look_up(const Bytes& address, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (is_within(address, rule.base, rule.prefix_bits)) return rule.verdict;
  }
  return kPublic;
}

bool is_denied(const Bytes& address, bool is_v6, std::span<const AddressRange> denied) {
  return std::ranges::any_of(denied, [&](const AddressRange& range) {
    return range.is_v6 == is_v6 && is_within(address, range.base, range.prefix_bits);
  });
}

/// An interface id that ISATAP derives from an IPv4 address (RFC 5214 §6.1), under any prefix.
bool is_isatap(const Bytes& address) {
  return (address[8] & 0xFDU) == 0 && address[9] == 0 && address[10] == 0x5E && address[11] == 0xFE;
}

AddressVerdict judge_v6(const Bytes& address) {
  const AddressVerdict verdict = look_up(address, kIpv6Rules);
  if (verdict != kPublic) return verdict;
  if (is_isatap(address)) return kEmbedsIpv4;
  return (address[0] & 0xE0U) == 0x20U ? kPublic : kNotGlobal;
}

Error bad_range() {
  return make_error(ErrorCode::kInvalidArgument, "address_range_invalid",
                    "not an IP address range like 10.0.0.0/8 or fd00::/8");
}

}  // namespace

Result<AddressRange> parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  AddressRange range;
  range.is_v6 = address.find(':') != std::string::npos;
  if (::inet_pton(range.is_v6 ? AF_INET6 : AF_INET, address.c_str(), range.base.data()) != 1) {
    return bad_range();
  }
  const int bits_max = range.is_v6 ? kIpv6Bits : kIpv4Bits;
  range.prefix_bits = bits_max;
  if (slash == std::string_view::npos) return range;
  const std::string_view bits = text.substr(slash + 1);
  const char* const begin = bits.data();
  const char* const end = begin + bits.size();
  const auto [stopped, error] = std::from_chars(begin, end, range.prefix_bits);
  const bool sound = error == std::errc() && stopped == end && range.prefix_bits >= 0 &&
                     range.prefix_bits <= bits_max;
  if (!sound) return bad_range();
  return range;
}

std::optional<sockaddr_storage> parse_address(std::string_view text) {
  const std::string copy(text);
  sockaddr_storage storage{};
  sockaddr_in v4_address{};
  sockaddr_in6 v6_address{};
  if (::inet_pton(AF_INET, copy.c_str(), &v4_address.sin_addr) == 1) {
    v4_address.sin_family = AF_INET;
    std::memcpy(&storage, &v4_address, sizeof v4_address);
    return storage;
  }
  if (::inet_pton(AF_INET6, copy.c_str(), &v6_address.sin6_addr) == 1) {
    v6_address.sin6_family = AF_INET6;
    std::memcpy(&storage, &v6_address, sizeof v6_address);
    return storage;
  }
  return std::nullopt;
}

AddressVerdict judge_address(const sockaddr& address, std::span<const AddressRange> denied) {
  Bytes bytes{};
  if (address.sa_family == AF_INET) {
    sockaddr_in v4_address{};
    std::memcpy(&v4_address, &address, sizeof v4_address);
    std::memcpy(bytes.data(), &v4_address.sin_addr, sizeof v4_address.sin_addr);
    const AddressVerdict verdict = look_up(bytes, kIpv4Rules);
    if (verdict != kPublic) return verdict;
    return is_denied(bytes, false, denied) ? kOperatorDenied : kPublic;
  }
  if (address.sa_family != AF_INET6) return kUnknownFamily;
  sockaddr_in6 v6_address{};
  std::memcpy(&v6_address, &address, sizeof v6_address);
  std::memcpy(bytes.data(), &v6_address.sin6_addr, sizeof v6_address.sin6_addr);
  const AddressVerdict verdict = judge_v6(bytes);
  if (verdict != kPublic) return verdict;
  return is_denied(bytes, true, denied) ? kOperatorDenied : kPublic;
}

}  // namespace tessera::fetch
