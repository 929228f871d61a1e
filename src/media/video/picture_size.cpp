#include "media/video/picture_size.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::media::video {
namespace {

/// Bits from the highest of each byte on; zeros behind the end.
class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}

  unsigned bits(int n) {
    unsigned value = 0;
    for (int i = 0; i < n; ++i, ++at_) value = value << 1U | bit();
    return value;
  }

  bool is_past_end() const { return at_ > bytes_.size() * 8; }

 private:
  unsigned bit() const {
    const std::size_t byte = at_ / 8;
    return byte < bytes_.size() ? unsigned{bytes_[byte]} >> (7 - at_ % 8) & 1U : 0;
  }

  Bytes bytes_;
  std::size_t at_ = 0;
};

/// H.264 is coded in squares of 16. Where a stream does not say what to cut away of the last ones,
/// libavcodec asks the container.
ImageSize cropped_by_container(ImageSize coded, ImageSize claimed) {
  const auto same_squares = [](int a, int b) { return (a + 15) / 16 == (b + 15) / 16; };
  const bool is_cropped = claimed.width > 0 && claimed.height > 0 && claimed.width <= coded.width &&
                          claimed.height <= coded.height &&
                          same_squares(claimed.width, coded.width) &&
                          same_squares(claimed.height, coded.height);
  return is_cropped ? claimed : coded;
}

}  // namespace

std::optional<ImageSize> vp9_size(Bytes packet) {
  // VP9 bitstream specification §6.2: uncompressed_header().
  BitReader reader(packet);
  constexpr unsigned kMarker = 2;
  if (reader.bits(2) != kMarker) return {};
  const unsigned low = reader.bits(1);
  const unsigned profile = reader.bits(1) << 1U | low;
  const bool is_reserved = profile == 3 && reader.bits(1) != 0;
  const bool shows_another = reader.bits(1) != 0;
  const bool needs_others = reader.bits(1) != 0;
  if (is_reserved || shows_another || needs_others) return {};
  reader.bits(2);  // whether it is shown, and how errors are met
  constexpr unsigned kSync = 0x498342;
  if (reader.bits(24) != kSync) return {};
  if (profile >= 2) reader.bits(1);  // ten bits or twelve
  constexpr unsigned kSrgb = 7;
  const bool is_srgb = reader.bits(3) == kSrgb;
  const bool tells_chroma = profile % 2 == 1;
  if (!is_srgb) reader.bits(1);  // range
  if (tells_chroma) reader.bits(is_srgb ? 1 : 3);
  const auto width = static_cast<int>(reader.bits(16)) + 1;
  const auto height = static_cast<int>(reader.bits(16)) + 1;
  if (reader.is_past_end()) return {};
  return ImageSize{width, height};
}

SizeReader::SizeReader(const AVStream& stream)
    : stream_(stream),
      context_(owned(::avcodec_alloc_context3(nullptr))),
      parser_(::av_parser_init(stream.codecpar->codec_id)) {
  if (::avcodec_parameters_to_context(context_.get(), stream.codecpar) < 0) parser_.reset();
  // Demuxers give whole packets.
  if (parser_) parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
}

std::optional<ImageSize> SizeReader::read(const AVPacket& packet) {
  const AVCodecID codec = stream_.codecpar->codec_id;
  const Bytes bytes(packet.data, static_cast<std::size_t>(packet.size));
  if (codec == AV_CODEC_ID_VP9) return vp9_size(bytes);
  if (!parser_) return {};
  parser_->width = parser_->height = 0;
  std::uint8_t* out = nullptr;
  int n_out = 0;
  ::av_parser_parse2(parser_.get(), context_.get(), &out, &n_out, packet.data, packet.size,
                     kNoTimestamp, kNoTimestamp, 0);
  const ImageSize size{parser_->width, parser_->height};
  if (size.width <= 0 || size.height <= 0) return {};
  const ImageSize claimed{stream_.codecpar->width, stream_.codecpar->height};
  return codec == AV_CODEC_ID_H264 ? cropped_by_container(size, claimed) : size;
}

}  // namespace tessera::media::video
