#include "media/video/demuxer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "media/sniff.h"
#include "media/video/matroska_blocks.h"

namespace tessera::media::video {
namespace {

/// What libav reads ahead.
constexpr std::size_t kIoBytes = std::size_t{64} * 1024;

/// A phone's MP4 has seven: picture, sound, and five of metadata; editors add languages.
constexpr const char* kStreamsMax = "32";

struct Codec {
  AVCodecID id;
  const char* decoder;
};
// libavcodec's own AV1 decoder is a shell around graphics cards.
constexpr std::array kCodecs{Codec{AV_CODEC_ID_H264, "h264"}, Codec{AV_CODEC_ID_HEVC, "hevc"},
                             Codec{AV_CODEC_ID_VP8, "vp8"}, Codec{AV_CODEC_ID_VP9, "vp9"},
                             Codec{AV_CODEC_ID_AV1, "libdav1d"}};

int refuse_open(AVFormatContext* /*format*/, AVIOContext** io, const char* /*url*/, int /*flags*/,
                AVDictionary** /*options*/) {
  *io = nullptr;
  return -EPERM;
}

bool is_matroska(Bytes file) {
  constexpr std::array<std::uint8_t, 4> kEbml{0x1A, 0x45, 0xDF, 0xA3};
  return file.size() >= kEbml.size() && std::ranges::equal(kEbml, file.first(4));
}

const AVInputFormat* input_format(Bytes file) {
  const auto kind = sniff_format(std::as_bytes(file.first(std::min(file.size(), kSniffBytes))));
  if (kind != FileKind::kVideo) return nullptr;
  return ::av_find_input_format(is_matroska(file) ? "matroska" : "mov");
}

/// Freed by itself.
class Options {
 public:
  Options() = default;
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() { ::av_dict_free(&options_); }
  void set(const char* key, const char* value) { ::av_dict_set(&options_, key, value, 0); }
  AVDictionary** get() { return &options_; }

 private:
  AVDictionary* options_ = nullptr;
};

/// Says so where the keys could be had. Files need not.
bool is_encrypted(const AVStream& stream) {
  return ::av_stream_get_side_data(&stream, AV_PKT_DATA_ENCRYPTION_INIT_INFO, nullptr) != nullptr;
}

/// Says how, since nobody gave libav a key.
bool is_encrypted(const AVPacket& packet) {
  return ::av_packet_get_side_data(&packet, AV_PKT_DATA_ENCRYPTION_INFO, nullptr) != nullptr;
}

}  // namespace

const char* decoder_name(AVCodecID codec) {
  const auto* found = std::ranges::find(kCodecs, codec, &Codec::id);
  return found == kCodecs.end() ? nullptr : found->decoder;
}

Demuxer::Demuxer(Bytes file) : file_(file), packet_(owned(::av_packet_alloc())) {
  error_ = open();
  if (error_ == MediaError::kNone) error_ = choose_stream();
}

MediaError Demuxer::open() {
  const AVInputFormat* const input = input_format(file_);
  if (input == nullptr) return MediaError::kUnsupportedFormat;
  auto* const buffer = static_cast<std::uint8_t*>(::av_malloc(kIoBytes));
  if (buffer == nullptr) return MediaError::kOutOfMemory;
  io_.reset(::avio_alloc_context(buffer, kIoBytes, 0, this, read, nullptr, seek));
  AVFormatContext* format = ::avformat_alloc_context();
  if (!io_ || format == nullptr) return MediaError::kOutOfMemory;
  format->pb = io_.get();
  format->io_open = refuse_open;
  format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
  Options options;
  options.set("format_whitelist", "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm");
  options.set("protocol_whitelist", "");
  options.set("max_streams", kStreamsMax);
  options.set("enable_drefs", "0");
  options.set("use_absolute_path", "0");
  // Frees the context when it fails.
  const int code = ::avformat_open_input(&format, "", input, options.get());
  // Too many streams look like no memory; and who needs that much for headers is not sound.
  if (code < 0) return MediaError::kInvalid;
  format_.reset(format);
  return MediaError::kNone;
}

MediaError Demuxer::choose_stream() {
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    AVStream* const stream = format_->streams[i];
    const bool is_video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
                          (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
    if (is_video && stream_ == nullptr) {
      stream_ = stream;
    } else {
      stream->discard = AVDISCARD_ALL;
    }
  }
  const bool is_decodable =
      stream_ != nullptr && decoder_name(stream_->codecpar->codec_id) && !is_encrypted(*stream_);
  return is_decodable ? MediaError::kNone : MediaError::kUnsupportedVariant;
}

int Demuxer::n_listed(int n_max) const {
  if (is_matroska(file_)) return count_video_blocks(file_, n_max);
  return std::min(::avformat_index_get_entries_count(stream_), n_max);
}

const AVPacket* Demuxer::next() {
  for (;;) {  // bounded by the file's end
    ::av_packet_unref(packet_.get());
    if (::av_read_frame(format_.get(), packet_.get()) < 0) return nullptr;
    // A cut packet stands at the end of a cut file.
    const bool is_ours = packet_->stream_index == stream_->index && packet_->size > 0 &&
                         (packet_->flags & AV_PKT_FLAG_CORRUPT) == 0;
    if (!is_ours) continue;
    if (!is_encrypted(*packet_)) return packet_.get();
    error_ = MediaError::kUnsupportedVariant;
    return nullptr;
  }
}

int Demuxer::read(void* self, std::uint8_t* out, int n) noexcept {
  auto& demuxer = *static_cast<Demuxer*>(self);
  const std::size_t n_left = demuxer.file_.size() - demuxer.at_;
  const std::size_t n_read = std::min(n_left, static_cast<std::size_t>(std::max(n, 0)));
  if (n_read == 0) return kAvEof;
  std::memcpy(out, demuxer.file_.data() + demuxer.at_, n_read);
  demuxer.at_ += n_read;
  return static_cast<int>(n_read);
}

std::int64_t Demuxer::seek(void* self, std::int64_t offset, int whence) noexcept {
  auto& demuxer = *static_cast<Demuxer*>(self);
  const auto size = static_cast<std::int64_t>(demuxer.file_.size());
  if (whence == AVSEEK_SIZE) return size;
  if (whence != SEEK_SET || offset < 0 || offset > size) return -EINVAL;
  demuxer.at_ = static_cast<std::size_t>(offset);
  return offset;
}

}  // namespace tessera::media::video
