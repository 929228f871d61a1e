// Strict base64 (RFC 4648 §4: standard alphabet, padded, nothing else), decoded piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::api {

/// @thread one writer
class Base64Decoder {
 public:
  /// Appends what `text` decodes to. False when it cannot be base64; later calls are false, too.
  [[nodiscard]] bool feed(std::string_view text, std::string& out);

  /// The text may end here: whole groups of four, unused bits zero.
  bool complete() const { return ok_ && n_digits_ == 0; }

 private:
  bool feed_one(char c, std::string& out);

  std::uint32_t group_ = 0;  // digits of the unfinished group, six bits each
  int n_digits_ = 0;         // of the unfinished group, padding included
  int n_padding_ = 0;
  bool ended_ = false;  // a padded group was completed
  bool ok_ = true;
};

}  // namespace tessera::api
