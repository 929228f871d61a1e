#include "core/public_id.h"

#include <sys/random.h>

#include <cstddef>
#include <cstdint>

#include "core/check.h"

namespace tessera {

PublicId PublicId::make() {
  constexpr std::string_view kHex = "0123456789abcdef";
  PublicId id;
  std::array<std::uint8_t, std::tuple_size_v<decltype(hex_)> / 2> bytes{};
  // Cannot fail for so few bytes once the system has started (getrandom(2)).
  TSR_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    id.hex_[2 * i] = kHex[bytes[i] >> 4U];
    id.hex_[2 * i + 1] = kHex[bytes[i] & 0xFU];
  }
  return id;
}

}  // namespace tessera
