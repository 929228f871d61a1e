// Where a streaming reader stands inside a JSON text: open containers, their keys and indexes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::api {

/// No client nests deeper than a dozen; every later walk over the document may recurse this far.
inline constexpr std::size_t kJsonDepthMax = 64;

/// Longer keys are no field of ours; only their place is kept.
inline constexpr std::size_t kJsonKeyBytesMax = 32;

/// @thread one reader
class JsonPath {
 public:
  enum class Container { kObject, kArray };

  /// False when that would be deeper than kJsonDepthMax.
  [[nodiscard]] bool open(Container container);
  void close();
  /// A comma: the next member or element.
  /// @return  which one it is, counted from 0
  std::size_t next();
  void colon();

  /// The next string is a key.
  bool expects_key() const { return !frames_.empty() && frames_.back().expects_key; }
  void set_key(const std::string& key);
  /// The next value belongs to this key; empty in arrays and at the top.
  const std::string& key() const;

  /// "messages[0].content[1].image_url.url"; keys that are no plain words as "?".
  std::string text() const;

 private:
  struct Frame {
    bool is_object = false;
    bool expects_key = false;
    std::size_t index = 0;
    std::string key;
  };
  std::vector<Frame> frames_;  // ≤ kJsonDepthMax
};

}  // namespace tessera::api
