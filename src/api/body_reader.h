// Reads the body of a chat request while it arrives: image data goes straight into memfds, the rest
// is kept as JSON text. So no base64 text is ever held.
//
// The string value of a key named "url" that starts with "data:" is taken out, base64-decoded on
// the fly, and replaced in the text by a random mark that no client can guess. Everything else is
// copied as it is, for a real parser to judge: this reader only has to know where strings begin and
// end. What it cannot make sense of, that parser refuses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/base64.h"
#include "api/json_path.h"
#include "api/media_sink.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::api {

/// Commas and brackets of one body. A parsed value takes some 50 bytes, so a body of nothing but
/// values stays below 10 MB.
inline constexpr std::size_t kJsonValuesMax = 200'000;

/// Members of one object: the parser keeps their order and looks keys up one by one.
inline constexpr std::size_t kJsonMembersMax = 512;

struct ReadBody {
  std::string json;        // the body without its media
  std::string media_mark;  // the string value media_mark + "3" stands for media[3]
  std::vector<EncodedMedia> media;
};

/// @thread one reader
class BodyReader {
 public:
  explicit BodyReader(const Limits& limits);

  /// The result does not depend on how the body is split into pieces.
  /// @errors  invalid_argument (too deep or too complex, wrong data URI); too_large (text, an
  ///          image, images); resource_exhausted. Later calls return the same error.
  Result<void> feed(std::string_view piece);

  /// @errors  as feed(); invalid_argument (the body ends inside an image)
  Result<ReadBody> finish();

  /// Memory that this reader holds, apart from the memfds.
  std::size_t held_bytes() const;

 private:
  /// What the string that is being read is for.
  enum class Mode {
    kPlain,   // copied
    kKey,     // copied, and its characters collected
    kScheme,  // the value of "url": copied, until it proves to be a data URI
    kHeader,  // of a data URI, up to its comma; not copied
    kData,    // base64; not copied
  };
  enum class State { kOutside, kString, kEscape, kUnicode };

  Result<void> read(std::string_view piece);
  Result<void> outside(char c);
  void begin_string();
  Result<void> end_string();
  /// Reads on inside a string, up to its next quote or backslash.
  Result<void> inside(std::string_view& piece);
  Result<void> escape(char c);
  Result<void> unicode_digit(char c);
  /// Characters of a string as they are meant.
  Result<void> characters(std::string_view text);
  Result<void> scheme_character(char c);
  Result<void> header_character(char c);
  Result<void> begin_media();
  Result<void> flush_media();
  Result<void> end_media();
  Error at_image(Error error) const;
  bool copies() const { return mode_ != Mode::kHeader && mode_ != Mode::kData; }

  const Limits limits_;
  ReadBody body_;
  std::optional<Error> failed_;

  JsonPath path_;
  std::size_t n_values_ = 0;
  State state_ = State::kOutside;
  Mode mode_ = Mode::kPlain;
  std::string word_;              // key, scheme or header so far
  std::size_t string_begin_ = 0;  // in body_.json, behind the opening quote
  int n_unicode_digits_ = 0;      // of a \uXXXX that is being read
  unsigned unicode_ = 0;

  Base64Decoder base64_;
  std::string decoded_;  // on its way to the sink, ≤ kDecodedBytesMax and one piece
  std::optional<MediaSink> sink_;
};

}  // namespace tessera::api
