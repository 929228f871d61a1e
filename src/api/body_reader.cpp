#include "api/body_reader.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/ascii.h"

namespace tessera::api {
namespace {

// One write() per this many decoded bytes.
constexpr std::size_t kDecodedBytesMax = std::size_t{48} * 1024;

// Base64 is decoded in runs of at most this size, so that decoded_ stays near its bound.
constexpr std::size_t kRunBytesMax = std::size_t{16} * 1024;

// "image/vnd.something-long;charset=…;base64" with room.
constexpr std::size_t kHeaderBytesMax = 256;

constexpr std::string_view kScheme = "data:";
constexpr std::string_view kBase64Suffix = ";base64";

// Stands for any character outside ASCII where only ASCII can match.
constexpr char kNotAscii = '\x80';

std::string random_mark() {
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (n > 0) filled += static_cast<std::size_t>(n);
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string mark = "media-";
  for (const unsigned char byte : bytes) {
    mark += kHex[byte >> 4U];
    mark += kHex[byte & 0xFU];
  }
  return mark + '-';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ends_with_base64(std::string_view header) {
  if (header.size() < kBase64Suffix.size()) return false;
  const std::string_view end = header.substr(header.size() - kBase64Suffix.size());
  for (std::size_t i = 0; i < end.size(); ++i) {
    if (ascii_lower(end[i]) != kBase64Suffix[i]) return false;
  }
  return true;
}

/// The character that the escape `\c` stands for.
char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return kNotAscii;
  }
}

}  // namespace

BodyReader::BodyReader(const Limits& limits) : limits_(limits) {
  body_.media_mark = random_mark();
}

std::size_t BodyReader::held_bytes() const {
  return body_.json.capacity() + word_.capacity() + decoded_.capacity() +
         body_.media.capacity() * sizeof(EncodedMedia) + kJsonDepthMax * 2 * kJsonKeyBytesMax;
}

Result<void> BodyReader::feed(std::string_view piece) {
  if (failed_) return *failed_;
  Result<void> done = read(piece);
  if (!done) failed_ = done.error();
  return done;
}

Result<void> BodyReader::read(std::string_view piece) {
  while (!piece.empty()) {
    if (copies() && body_.json.size() >= limits_.text_bytes_max) {
      return make_error(ErrorCode::kTooLarge, "text_too_large",
                        "the body without its images has more than " +
                            std::to_string(limits_.text_bytes_max) + " bytes");
    }
    if (state_ == State::kString) {
      TSR_RETURN_IF_ERROR(inside(piece));
      continue;
    }
    const char c = piece.front();
    if (state_ == State::kUnicode && hex_digit(c) < 0) {
      // No escape after all: the same character is read again as part of the string.
      state_ = State::kString;
      TSR_RETURN_IF_ERROR(characters({&kNotAscii, 1}));
      continue;
    }
    if (copies()) body_.json += c;
    piece.remove_prefix(1);
    switch (state_) {
      case State::kOutside:
        TSR_RETURN_IF_ERROR(outside(c));
        break;
      case State::kEscape:
        TSR_RETURN_IF_ERROR(escape(c));
        break;
      case State::kUnicode:
        TSR_RETURN_IF_ERROR(unicode_digit(c));
        break;
      case State::kString:
        break;
    }
  }
  return {};
}

Result<void> BodyReader::inside(std::string_view& piece) {
  const std::size_t room = copies() ? limits_.text_bytes_max - body_.json.size() : kRunBytesMax;
  const std::string_view rest = piece.substr(0, std::min(room, kRunBytesMax));
  const std::string_view run = rest.substr(0, rest.find_first_of("\"\\"));
  piece.remove_prefix(run.size());
  // Where the run turns out to begin a data URI, begin_media() cuts what was copied.
  if (copies()) body_.json += run;
  TSR_RETURN_IF_ERROR(characters(run));
  if (run.size() == rest.size()) return {};
  // The text limit is checked again before a quote or backslash is copied.
  if (copies() && body_.json.size() >= limits_.text_bytes_max) return {};
  const char c = piece.front();
  piece.remove_prefix(1);
  if (c == '"') return end_string();
  if (copies()) body_.json += c;
  state_ = State::kEscape;
  return {};
}

Result<void> BodyReader::escape(char c) {
  if (c == 'u') {
    state_ = State::kUnicode;
    n_unicode_digits_ = 0;
    unicode_ = 0;
    return {};
  }
  state_ = State::kString;
  const char character = simple_escape(c);
  return characters({&character, 1});
}

Result<void> BodyReader::unicode_digit(char c) {
  unicode_ = unicode_ << 4U | static_cast<unsigned>(hex_digit(c));
  if (++n_unicode_digits_ < 4) return {};
  state_ = State::kString;
  const char character = unicode_ < 0x80 ? static_cast<char>(unicode_) : kNotAscii;
  return characters({&character, 1});
}

Result<void> BodyReader::outside(char c) {
  switch (c) {
    case '"':
      begin_string();
      return {};
    case '{':
    case '[':
      if (!path_.open(c == '{' ? JsonPath::Container::kObject : JsonPath::Container::kArray)) {
        return make_error(
            ErrorCode::kInvalidArgument, "json_too_deep",
            "the body nests deeper than " + std::to_string(kJsonDepthMax) + " levels");
      }
      break;
    case '}':
    case ']':
      path_.close();
      return {};
    case ':':
      path_.colon();
      return {};
    case ',':
      if (path_.next() >= kJsonMembersMax && path_.expects_key()) {
        return make_error(
            ErrorCode::kInvalidArgument, "json_too_complex",
            "an object of the body has more than " + std::to_string(kJsonMembersMax) + " members");
      }
      break;
    default:
      return {};
  }
  if (++n_values_ > kJsonValuesMax) {
    return make_error(ErrorCode::kInvalidArgument, "json_too_complex",
                      "the body has more than " + std::to_string(kJsonValuesMax) + " values");
  }
  return {};
}

void BodyReader::begin_string() {
  state_ = State::kString;
  mode_ = path_.expects_key() ? Mode::kKey : path_.key() == "url" ? Mode::kScheme : Mode::kPlain;
  word_.clear();
  string_begin_ = body_.json.size();
}

Result<void> BodyReader::end_string() {
  if (mode_ == Mode::kHeader) {
    return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_data_uri",
                               "the data URI has no comma before its data"));
  }
  if (mode_ == Mode::kData) TSR_RETURN_IF_ERROR(end_media());
  if (mode_ == Mode::kKey) path_.set_key(word_);
  body_.json += '"';
  mode_ = Mode::kPlain;
  state_ = State::kOutside;
  return {};
}

Result<void> BodyReader::characters(std::string_view text) {
  while (!text.empty()) {
    switch (mode_) {
      case Mode::kPlain:
        return {};
      case Mode::kKey:
        word_ +=
            text.substr(0, kJsonKeyBytesMax + 1 - std::min(word_.size(), kJsonKeyBytesMax + 1));
        return {};
      case Mode::kScheme:
        TSR_RETURN_IF_ERROR(scheme_character(text.front()));
        text.remove_prefix(1);
        break;
      case Mode::kHeader:
        TSR_RETURN_IF_ERROR(header_character(text.front()));
        text.remove_prefix(1);
        break;
      case Mode::kData:
        if (!base64_.feed(text, decoded_)) {
          return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_base64",
                                     "the data is not valid base64 (standard alphabet, padded)"));
        }
        if (decoded_.size() >= kDecodedBytesMax) return flush_media();
        return {};
    }
  }
  return {};
}

Result<void> BodyReader::scheme_character(char c) {
  if (ascii_lower(c) != kScheme[word_.size()]) {
    mode_ = Mode::kPlain;  // some other URL: an ordinary string
    return {};
  }
  word_ += c;
  if (word_.size() < kScheme.size()) return {};
  return begin_media();
}

Result<void> BodyReader::begin_media() {
  body_.json.resize(string_begin_);
  word_.clear();
  mode_ = Mode::kHeader;
  const auto images_max = static_cast<std::size_t>(limits_.images_max);
  if (body_.media.size() >= images_max) {
    return make_error(
        ErrorCode::kTooLarge, "too_many_images",
        "a request may have " + std::to_string(images_max) + " images, this one has more",
        path_.text());
  }
  return {};
}

Result<void> BodyReader::header_character(char c) {
  if (c != ',') {
    word_ += c;
    if (word_.size() <= kHeaderBytesMax) return {};
    return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_data_uri",
                               "no comma within the first " + std::to_string(kHeaderBytesMax) +
                                   " characters of the data URI"));
  }
  if (!ends_with_base64(word_)) {
    return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_data_uri",
                               "a data URI must say ';base64' before its comma"));
  }
  mode_ = Mode::kData;
  base64_ = Base64Decoder();
  // What it says it is bounds it here; what it is, is seen when its bytes are.
  const bool is_video = starts_with_ignoring_case(word_, "video/");
  sink_.emplace(is_video ? media_bytes_max(limits_) : limits_.image_bytes_max);
  return {};
}

Result<void> BodyReader::flush_media() {
  if (Result<void> written = sink_->write(decoded_); !written) return at_image(written.error());
  return {};
}

Result<void> BodyReader::end_media() {
  if (!base64_.complete()) {
    return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_base64",
                               "the base64 data ends inside a group of four"));
  }
  if (!decoded_.empty()) TSR_RETURN_IF_ERROR(flush_media());
  Result<EncodedMedia> media = sink_->finish();
  if (!media) return at_image(media.error());
  body_.json += body_.media_mark + std::to_string(body_.media.size());
  body_.media.push_back(std::move(media).value());
  sink_.reset();
  return {};
}

Error BodyReader::at_image(Error error) const {
  error.message = "image " + std::to_string(body_.media.size() + 1) + ": " + error.message;
  error.param = path_.text();
  return error;
}

Result<ReadBody> BodyReader::finish() {
  if (failed_) return *failed_;
  if (state_ != State::kOutside && !copies()) {
    return at_image(make_error(ErrorCode::kInvalidArgument, "invalid_json",
                               "the body ends inside the image's data"));
  }
  return std::move(body_);
}

}  // namespace tessera::api
