// What a client calls a URL. It is content of a request: its path and query often hold a signature.
// So there is no operator<< here and no conversion to text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tessera {

class RedactedUrl {
 public:
  explicit RedactedUrl(std::string text) : text_(std::move(text)) {}

  /// For parsers only: must not be stored, logged or put into an error.
  std::string_view unredacted() const { return text_; }

 private:
  std::string text_;
};

}  // namespace tessera
