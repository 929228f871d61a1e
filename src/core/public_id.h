// The name that clients and logs know a request by: 128 random bits in hex, so that it tells nobody
// how many other requests there were.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

class PublicId {
 public:
  /// @thread any
  static PublicId make();

  std::string_view view() const { return {hex_.data(), hex_.size()}; }

 private:
  PublicId() = default;
  std::array<char, 32> hex_{};
};

}  // namespace tessera
