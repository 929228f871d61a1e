// Decoders that run out of memory at any one allocation: each session ends in a clear error or in
// the right pixels, no decoder dies, and the server keeps nothing.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "media/decode_session.h"
#include "media/heif/testing/encode_heic.h"
#include "media/testing/encode_avif.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"
#include "media/testing/worker_zygote.h"
#include "media/video/testing/encode_clip.h"
#include "sandbox/test_processes.h"

namespace tessera::hostile {
namespace {

using media::DecoderClass;
using media::DecodeSession;
using media::testing::ByteVector;
using media::testing::gradient;
using sandbox::test_support::count_open_fds;
using sandbox::test_support::descendants;
using sandbox::test_support::shrinks_to;

constexpr ImageSize kSize{48, 32};

struct Case {
  const char* name;
  DecoderClass decoder_class;
  std::function<ByteVector()> make;
  int n_frames = 1;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

ByteVector gif() {
  media::testing::GifOptions options;
  options.palette_rgb = {0, 0, 0, 255, 255, 255};
  options.n_frames = 5;
  return media::testing::encode_gif({kSize, ByteVector(48 * 32, 1)}, options);
}

ByteVector png(bool interlaced) {
  media::testing::PngOptions options;
  options.interlaced = interlaced;
  options.icc = media::testing::icc_with_red_and_green_swapped();
  return media::testing::encode_png(gradient(kSize), options);
}

ByteVector jpeg(bool progressive) {
  media::testing::JpegOptions options;
  options.progressive = progressive;
  options.icc = media::testing::icc_with_red_and_green_swapped();
  return media::testing::encode_jpeg(gradient(kSize), options);
}

ByteVector webp(bool lossless) {
  media::testing::WebpOptions options;
  options.lossless = lossless;
  return media::testing::encode_webp(gradient(kSize), options);
}

ByteVector clip(const char* encoder, const char* container) {
  return media::video::testing::encode_clip(
      {.encoder = encoder, .container = container, .size = kSize, .n_frames = 6});
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {"png", DecoderClass::kImage, [] { return png(false); }},
      {"interlaced_png", DecoderClass::kImage, [] { return png(true); }},
      {"jpeg", DecoderClass::kImage, [] { return jpeg(false); }},
      {"progressive_jpeg", DecoderClass::kImage, [] { return jpeg(true); }},
      {"webp", DecoderClass::kImage, [] { return webp(true); }},
      {"lossy_webp", DecoderClass::kImage, [] { return webp(false); }},
      {"moving_webp", DecoderClass::kImage,
       [] {
         return media::testing::encode_webp_animation({{2, 2}, ByteVector(16, 200)}, {4, 4}, 0, 0,
                                                      5);
       },
       3},
      {"gif", DecoderClass::kImage, gif},
      {"moving_gif", DecoderClass::kImage, gif, 3},
      {"avif", DecoderClass::kImage, [] { return media::testing::encode_avif(gradient(kSize)); }},
      {"h264", DecoderClass::kVideo, [] { return clip("libx264", "mp4"); }, 3},
      {"hevc", DecoderClass::kVideo, [] { return clip("libx265", "matroska"); }, 3},
      {"vp8", DecoderClass::kVideo, [] { return clip("libvpx", "webm"); }, 3},
      {"vp9", DecoderClass::kVideo, [] { return clip("libvpx-vp9", "webm"); }, 3},
      {"av1", DecoderClass::kVideo, [] { return clip("libaom-av1", "mp4"); }, 3},
      {"heic", DecoderClass::kHeif,
       [] { return media::heif::testing::encode_heic(gradient(kSize)); }},
  };
  return kCases;
}

/// A starved worker under a link whose name says class and kind of hunger.
class Starved : public ::testing::TestWithParam<Case> {
 protected:
  Starved() : folder_(::testing::TempDir() + "starved-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    media_.push_back(media::testing::to_media(GetParam().make()));
    media_.back().n_frames = GetParam().n_frames;
  }
  ~Starved() override { std::filesystem::remove_all(folder_); }

  media::DecoderOptions worker(const std::string& program, const std::string& kind) {
    const auto link =
        folder_ / (std::string(to_string(GetParam().decoder_class)) + "-" + GetParam().name + kind);
    std::filesystem::create_symlink(program, link);
    media::DecoderOptions options;
    auto& zygotes = options.zygotes;
    zygotes.image = zygotes.video = zygotes.heif =
        &media::testing::worker_zygote(std::filesystem::absolute(link));
    options.base_timeout = std::chrono::seconds(60);
    return options;
  }

  /// One child: the pixels, or nothing when it ended as it should without memory.
  std::optional<std::vector<Image>> decode(const media::DecoderOptions& options) {
    auto session = DecodeSession::open(options, {}, media_, {});
    EXPECT_TRUE(session) << session.error().message;
    if (!session) return {};
    auto images = session->decode();
    EXPECT_EQ(session->death(), std::nullopt) << to_string(*session->death());
    if (images) return *std::move(images);
    EXPECT_EQ(images.error().reason, "media_decoder_failed") << images.error().message;
    EXPECT_EQ(images.error().message.substr(9), "the decoder ran out of memory");
    return {};
  }

  std::vector<EncodedMedia> media_;

 private:
  std::filesystem::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Of, Starved, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// Far above what any of these files needs.
constexpr int kChildrenMax = 5000;

TEST_P(Starved, ADecoderWithoutMemoryFromAnyAllocationOnSaysSo) {
  const auto options = worker(TESSERA_STARVED_WORKER, "-after");
  (void)decode(options);
  const auto n_open = count_open_fds();
  const auto before = descendants();
  const auto n_allocated = ::mallinfo2().uordblks;

  int n_failed = 0;
  std::optional<std::vector<Image>> images;
  for (; n_failed < kChildrenMax && !HasFailure(); ++n_failed) {
    images = decode(options);
    if (images) break;  // it had all that it needs
  }

  ASSERT_TRUE(images) << n_failed;
  EXPECT_GE(n_failed, 5);
  EXPECT_EQ(images->size(), static_cast<std::size_t>(GetParam().n_frames));
  images.reset();
  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(shrinks_to(before));
  EXPECT_LE(::mallinfo2().uordblks, n_allocated + std::size_t{64} * 1024);
}

}  // namespace
}  // namespace tessera::hostile
