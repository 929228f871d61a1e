#include "uploads/multipart.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "uploads/header_params.h"

namespace tessera::uploads {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

Error invalid(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_multipart", std::move(message));
}

Error no_room() {
  Error error = make_error(ErrorCode::kResourceExhausted, "server_busy",
                           "the server has no room for another file now; try again later");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

/// RFC 2046 §5.1.1, without the space, which no client uses and which may not end it.
bool is_boundary(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("'()+_,-./:=?").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kBoundaryBytesMax && std::ranges::all_of(text, allowed);
}

}  // namespace

Result<std::string> multipart_boundary(std::string_view content_type) {
  const auto value = parse_header_value(content_type);
  if (!value || value->token != "multipart/form-data") {
    return invalid("the body is no multipart/form-data");
  }
  const auto boundary = value->param("boundary");
  if (!boundary || !is_boundary(*boundary)) {
    return invalid("Content-Type has no boundary of 1 to " + std::to_string(kBoundaryBytesMax) +
                   " allowed characters");
  }
  return *boundary;
}

// The body begins as if a line had ended just before it, so that the first delimiter is like all
// others.
MultipartParser::MultipartParser(const std::string& boundary, std::size_t file_bytes_max)
    : delimiter_("\r\n--" + boundary), file_bytes_max_(file_bytes_max), buffer_(kLineEnd) {}

Result<void> MultipartParser::feed(std::string_view piece) {
  if (state_ == State::kEnd) return {};
  buffer_.append(piece);
  for (;;) {  // each turn uses up a part of the buffer
    TSR_ASSIGN_OR_RETURN(const bool advanced, advance());
    if (!advanced) return {};
  }
}

/// @return  whether there may be more to understand in the buffer
Result<bool> MultipartParser::advance() {
  switch (state_) {
    case State::kDelimiter:
      return read_delimiter();
    case State::kAfterDelimiter:
      return read_after_delimiter();
    case State::kHeaders:
      return read_headers();
    case State::kBody:
      return read_body();
    case State::kEnd:
      buffer_.clear();
      return false;
  }
  return false;
}

Result<bool> MultipartParser::read_delimiter() {
  const std::size_t n = std::min(buffer_.size(), delimiter_.size());
  if (std::string_view(buffer_).substr(0, n) != std::string_view(delimiter_).substr(0, n)) {
    return invalid("the body does not begin with its boundary");
  }
  if (n < delimiter_.size()) return false;
  buffer_.erase(0, n);
  state_ = State::kAfterDelimiter;
  return true;
}

Result<bool> MultipartParser::read_after_delimiter() {
  if (buffer_.size() < 2) return false;
  if (buffer_.starts_with("--")) {
    state_ = State::kEnd;
    return true;
  }
  if (!buffer_.starts_with(kLineEnd)) return invalid("a boundary does not end its line");
  if (++n_parts_ > kPartsMax) {
    return invalid("more than " + std::to_string(kPartsMax) + " parts");
  }
  state_ = State::kHeaders;  // the line's end stays: a part without headers is CRLF CRLF
  return true;
}

Result<bool> MultipartParser::read_headers() {
  const std::size_t end = buffer_.find(kHeaderEnd);
  if (std::min(end, buffer_.size()) > kPartHeaderBytesMax) {
    return invalid("the headers of a part exceed " + std::to_string(kPartHeaderBytesMax) +
                   " bytes");
  }
  if (end == std::string::npos) return false;
  const std::string headers = buffer_.substr(0, end);
  buffer_.erase(0, end + kHeaderEnd.size());
  TSR_RETURN_IF_ERROR(start_part(headers));
  state_ = State::kBody;
  return true;
}

Result<bool> MultipartParser::read_body() {
  const std::size_t at = buffer_.find(delimiter_);
  const bool is_whole = at != std::string::npos;
  // What may be the beginning of a delimiter waits for the rest.
  const std::size_t n_kept = std::min(buffer_.size(), delimiter_.size() - 1);
  const std::size_t n_taken = is_whole ? at : buffer_.size() - n_kept;
  TSR_RETURN_IF_ERROR(take(std::string_view(buffer_).substr(0, n_taken)));
  buffer_.erase(0, is_whole ? at + delimiter_.size() : n_taken);
  if (is_whole) state_ = State::kAfterDelimiter;
  return is_whole;
}

Result<void> MultipartParser::start_part(std::string_view headers) {
  TSR_ASSIGN_OR_RETURN(const std::string name, form_field_name(headers));
  n_field_bytes_ = 0;
  part_ = name == "file" ? Part::kFile : name == "purpose" ? Part::kPurpose : Part::kIgnored;
  const bool is_second =
      (part_ == Part::kFile && has_file_) || (part_ == Part::kPurpose && has_purpose_);
  if (is_second) return invalid("a field comes twice");
  has_file_ = has_file_ || part_ == Part::kFile;
  has_purpose_ = has_purpose_ || part_ == Part::kPurpose;
  return {};
}

Result<void> MultipartParser::take(std::string_view bytes) {
  if (part_ == Part::kFile) return write_file(bytes);
  n_field_bytes_ += bytes.size();
  if (n_field_bytes_ > kFieldBytesMax) {
    return invalid("a field exceeds " + std::to_string(kFieldBytesMax) + " bytes");
  }
  if (part_ == Part::kPurpose) purpose_ += bytes;
  return {};
}

Result<void> MultipartParser::write_file(std::string_view bytes) {
  if (bytes.size() > file_bytes_max_ - file_.size_bytes()) {
    return make_error(ErrorCode::kTooLarge, "upload_too_large",
                      "the file has more than " + std::to_string(file_bytes_max_) + " bytes");
  }
  if (!file_.write(bytes)) return no_room();
  return {};
}

Result<UploadForm> MultipartParser::finish() {
  if (state_ != State::kEnd) return invalid("the body ends before its last boundary");
  if (!has_file_) {
    return make_error(ErrorCode::kInvalidArgument, "missing_field", "file is missing", "file");
  }
  if (file_.size_bytes() == 0) {
    return make_error(ErrorCode::kInvalidArgument, "upload_empty", "the file is empty", "file");
  }
  auto file = file_.finish();
  if (!file) return no_room();
  return UploadForm{*std::move(file), std::move(purpose_)};
}

}  // namespace tessera::uploads
