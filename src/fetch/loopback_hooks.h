// For tests: address rules under which 127.0.0.1 stands for the public internet, and nothing else
// of this machine does (127.0.0.2 is as internal as ever).
#pragma once

#include <netinet/in.h>

#include <cstring>

#include "fetch/transfer.h"

namespace tessera::fetch {

inline AddressVerdict judge_loopback(const sockaddr& address,
                                     std::span<const AddressRange> denied) {
  sockaddr_in v4{};
  if (address.sa_family == AF_INET) std::memcpy(&v4, &address, sizeof v4);
  const bool is_home = v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  return is_home ? AddressVerdict::kPublic : judge_address(address, denied);
}

inline FetchHooks loopback_hooks() {
  return {.judge = judge_loopback,
          .resolve = [](std::string_view) { return std::vector<std::string>{"127.0.0.1"}; },
          .trusted_certificates = {}};
}

}  // namespace tessera::fetch
