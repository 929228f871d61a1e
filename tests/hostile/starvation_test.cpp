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
using media::DecoderDeath;
using media::DecodeSession;
using media::testing::ByteVector;
using media::testing::gradient;
using sandbox::test_support::count_open_fds;
using sandbox::test_support::descendants;
using sandbox::test_support::shrinks_to;

constexpr ImageSize kSize{64, 48};

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
  return media::testing::encode_gif({kSize, ByteVector(64 * 48, 1)}, options);
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

// Far above what any of these files needs.
constexpr int kChildrenMax = 5000;

/// A starved worker under a link whose name says its class.
class Starved : public ::testing::TestWithParam<Case> {
 protected:
  Starved() : folder_(::testing::TempDir() + "starved-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    media_.push_back(media::testing::to_media(GetParam().make()));
    media_.back().n_frames = GetParam().n_frames;
  }
  ~Starved() override { std::filesystem::remove_all(folder_); }

  static media::DecoderOptions options_of(const std::string& image, const std::string& video,
                                          const std::string& heif) {
    media::DecoderOptions options;
    options.zygotes = {&media::testing::worker_zygote(image), &media::testing::worker_zygote(video),
                       &media::testing::worker_zygote(heif)};
    options.base_timeout = std::chrono::seconds(60);
    return options;
  }

  media::DecoderOptions starved() {
    const std::string name = std::string(to_string(GetParam().decoder_class)) + GetParam().name;
    std::filesystem::create_symlink(TESSERA_STARVED_WORKER, folder_ / name);
    const std::string path = std::filesystem::absolute(folder_ / name);
    return options_of(path, path, path);
  }

  /// One child: its pixels, or nothing when it ended as it should without memory.
  std::optional<std::vector<Image>> decode(const media::DecoderOptions& options) {
    auto session = DecodeSession::open(options, {}, media_, {});
    EXPECT_TRUE(session) << session.error().message;
    if (!session) return {};
    auto images = session->decode();
    if (images) return *std::move(images);
    EXPECT_EQ(images.error().reason, "media_decoder_failed") << images.error().message;
    EXPECT_EQ(session->death(), DecoderDeath::kExit);
    const auto what = images.error().message.substr(std::string_view("image 1: ").size());
    // Between two files, no reply is due: then it just ends.
    EXPECT_TRUE(what == "the decoder ran out of memory" || what == "the decoder stopped") << what;
    return {};
  }

  std::vector<EncodedMedia> media_;

 private:
  std::filesystem::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Of, Starved, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Starved, WithoutMemoryFromAnyAllocationOnItSaysSoAndTheServerKeepsNothing) {
  const auto fed =
      decode(options_of(TESSERA_MEDIA_WORKER, TESSERA_VIDEO_WORKER, TESSERA_HEIF_WORKER));
  ASSERT_TRUE(fed);
  const auto options = starved();
  EXPECT_FALSE(decode(options)) << "the first one has no memory at all";
  const auto n_open = count_open_fds();
  const auto before = descendants();
  const auto n_allocated = ::mallinfo2().uordblks;

  std::optional<std::vector<Image>> images;
  int n_starved = 1;
  for (; !images && n_starved < kChildrenMax && !HasFailure(); ++n_starved) {
    images = decode(options);
  }

  ASSERT_TRUE(images) << n_starved;
  EXPECT_GE(n_starved, 5);
  ASSERT_EQ(images->size(), fed->size());
  for (std::size_t i = 0; i < fed->size(); ++i) EXPECT_EQ((*images)[i].rgb, (*fed)[i].rgb) << i;
  images.reset();
  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(shrinks_to(before));
  EXPECT_LE(::mallinfo2().uordblks, n_allocated + std::size_t{64} * 1024);
}

}  // namespace
}  // namespace tessera::hostile
