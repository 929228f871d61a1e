// multipart/form-data (RFC 7578) → one file in a memfd and its purpose, piece by piece as the body
// arrives. Boost.Beast has no such parser.
//
//   --BOUNDARY CRLF headers CRLF CRLF body CRLF --BOUNDARY … CRLF --BOUNDARY--
//
// What it keeps of the body is the unfinished end of it: no more than one delimiter, or one part's
// headers. Everything is bounded while it arrives. It is strict where leniency would let two
// readers see two things: no text before the first boundary, no second file, no nesting, no
// transfer encoding; what follows the last boundary is ignored.
// @thread one
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/media_writer.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::uploads {

inline constexpr std::size_t kBoundaryBytesMax = 70;      // RFC 2046 §5.1.1
inline constexpr std::size_t kPartHeaderBytesMax = 4096;  // a long file name in UTF-8
inline constexpr std::size_t kPartsMax = 8;               // the SDK sends two or three
inline constexpr std::size_t kFieldBytesMax = 256;        // "vision"

/// What an upload says.
struct UploadForm {
  EncodedMedia file;    // sealed, not empty
  std::string purpose;  // may be empty
};

/// The boundary in a Content-Type header.
/// @errors  invalid_argument `invalid_multipart`: no multipart/form-data, or no usable boundary
Result<std::string> multipart_boundary(std::string_view content_type);

class MultipartParser {
 public:
  /// @param file_bytes_max  of the part "file"
  MultipartParser(const std::string& boundary, std::size_t file_bytes_max);

  /// Takes the next piece of the body, of any length. After an error the parser is of no use.
  /// @errors  invalid_argument `invalid_multipart`; too_large `upload_too_large`;
  ///          resource_exhausted `server_busy` (no descriptor or no memory)
  Result<void> feed(std::string_view piece);

  /// The body is over.
  /// @errors  invalid_argument `invalid_multipart` (it ended early), `missing_field` (no file),
  ///          `upload_empty`
  Result<UploadForm> finish();

 private:
  enum class State { kDelimiter, kAfterDelimiter, kHeaders, kBody, kEnd };
  enum class Part { kFile, kPurpose, kIgnored };

  Result<bool> advance();
  Result<bool> read_delimiter();
  Result<bool> read_after_delimiter();
  Result<bool> read_headers();
  Result<bool> read_body();
  Result<void> start_part(std::string_view headers);
  Result<void> take(std::string_view bytes);
  Result<void> write_file(std::string_view bytes);

  const std::string delimiter_;  // CRLF "--" boundary
  const std::size_t file_bytes_max_;
  State state_ = State::kDelimiter;
  Part part_ = Part::kIgnored;
  std::string buffer_;  // not yet understood
  std::size_t n_parts_ = 0;
  std::size_t n_field_bytes_ = 0;
  bool has_file_ = false;
  bool has_purpose_ = false;
  MediaWriter file_;
  std::string purpose_;
};

}  // namespace tessera::uploads
