// Which socket addresses the fetcher may connect to: those of the public internet, and nothing
// else.
//
// The address is looked at, not the name or the text of a URL: it is what the kernel connects to,
// after every parser and every resolver. Forms of IPv6 that carry an IPv4 address inside are
// refused altogether instead of being unwrapped: no public web server is reached only by them, and
// an unwrapping that is wrong once is a hole.
// @thread any; pure functions
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/result.h"

namespace tessera::fetch {

enum class AddressVerdict {
  kPublic,
  kThisNetwork,     // 0/8, ::
  kLoopback,        // 127/8, ::1
  kPrivate,         // 10/8, 172.16/12, 192.168/16, fc00::/7, fec0::/10
  kShared,          // 100.64/10: carriers' NAT
  kLinkLocal,       // 169.254/16 with the clouds' metadata services, fe80::/10
  kReserved,        // for protocols, or not handed out yet
  kDocumentation,   // examples
  kBenchmark,       // 198.18/15
  kMulticast,       // 224/4, ff00::/8
  kEmbedsIpv4,      // mapped, compatible, NAT64, 6to4, Teredo, ISATAP
  kOperatorDenied,  // a range that the operator gave
  kNotGlobal,       // IPv6 outside 2000::/3, the only global unicast there is
  kUnknownFamily,   // neither IPv4 nor IPv6
};

/// A CIDR range.
struct AddressRange {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> base{};  // 4 bytes with IPv4
  int prefix_bits = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// @param text  "10.0.0.0/8", "fd00::/8" or one address
/// @errors      invalid_argument `address_range_invalid`
Result<AddressRange> parse_range(std::string_view text);

/// The socket address of "9.9.9.9" or "2620:fe::fe", without a port.
std::optional<sockaddr_storage> parse_address(std::string_view text);

/// @param address  as large as its family needs (sockaddr_storage is)
/// @param denied   the operator's own ranges, e.g. public addresses of internal services
AddressVerdict judge_address(const sockaddr& address, std::span<const AddressRange> denied);

}  // namespace tessera::fetch
