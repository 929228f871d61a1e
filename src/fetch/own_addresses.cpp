#include "fetch/own_addresses.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

namespace tessera::fetch {
namespace {

template <typename T>
T copy_of(const sockaddr& address) {
  T copy{};
  std::memcpy(&copy, &address, sizeof copy);
  return copy;
}

/// The same IP address; ports do not matter.
bool is_same(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET) {
    return copy_of<sockaddr_in>(a).sin_addr.s_addr == copy_of<sockaddr_in>(b).sin_addr.s_addr;
  }
  if (a.sa_family != AF_INET6) return false;
  const auto first = copy_of<sockaddr_in6>(a);
  const auto second = copy_of<sockaddr_in6>(b);
  return std::memcmp(&first.sin6_addr, &second.sin6_addr, sizeof first.sin6_addr) == 0;
}

}  // namespace

bool is_own_address(const sockaddr& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr && is_same(*entry->ifa_addr, address)) return true;
  }
  return false;
}

}  // namespace tessera::fetch
