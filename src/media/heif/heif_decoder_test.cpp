#include "media/heif/heif_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/decode_session.h"
#include "media/heif/testing/encode_heic.h"
#include "media/testing/metadata.h"
#include "media/testing/worker_zygote.h"
#include "media/validate.h"

namespace tessera::media::heif {
namespace {

using media::testing::gradient;
using media::testing::Raster;
using testing::ByteVector;
using testing::encode_heic;

const wire::ImageLimits kLimits = image_limits(Limits{}, DecoderClass::kHeif);
constexpr std::array<std::uint32_t, 1> kFirst{0};

/// At full size; empty when it is refused.
ByteVector decoded(const ByteVector& file) {
  const Probe found = probe_heif(file, 1, kLimits);
  EXPECT_EQ(found.header.error, MediaError::kNone);
  if (found.header.error != MediaError::kNone) return {};
  ByteVector out(rgb_bytes(found.header.stored));
  EXPECT_EQ(decode_heif(file, kLimits, found.header.stored, kFirst, out), MediaError::kNone);
  return out;
}

/// Largest difference of a byte.
int distance(const ByteVector& a, const ByteVector& b) {
  if (a.size() != b.size()) return 255;
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// x265 at this quality, in 4:4:4, stays that near to a gradient.
constexpr int kTolerance = 6;

TEST(HeifDecoder, GivesThePixelsThatWereEncoded) {
  const Raster picture = gradient({64, 48});

  EXPECT_LE(distance(decoded(encode_heic(picture)), picture.bytes), kTolerance);
}

TEST(HeifDecoder, TurnsAsTheFileSays) {
  const Raster picture = gradient({64, 48});
  for (int i = 1; i <= 8; ++i) {
    const auto orientation = static_cast<Orientation>(i);
    const ByteVector file = encode_heic(picture, {.orientation = orientation});
    const ImageSize size = oriented(picture.size, orientation);
    ByteVector expected(picture.bytes.size());
    for (int y = 0; y < picture.size.height; ++y) {
      const RowPath path = row_path(picture.size, orientation, y);
      for (int x = 0; x < picture.size.width; ++x) {
        const auto to = static_cast<std::size_t>(path.first + x * path.step) * 3;
        const auto from = static_cast<std::size_t>(y * picture.size.width + x) * 3;
        std::copy_n(picture.bytes.begin() + static_cast<std::ptrdiff_t>(from), 3,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }

    EXPECT_EQ(probe_heif(file, 1, kLimits).header.stored, size) << i;
    EXPECT_LE(distance(decoded(file), expected), kTolerance) << i;
  }
}

TEST(HeifDecoder, LaysAlphaOverWhite) {
  const Raster black{{32, 32}, ByteVector(std::size_t{32} * 32 * 3, 0)};

  const ByteVector rgb = decoded(encode_heic(black, {.has_alpha = true}));

  ASSERT_FALSE(rgb.empty());
  EXPECT_NEAR(rgb[rgb.size() / 2], 127, 4);
}

TEST(HeifDecoder, ConvertsFromWiderColour) {
  const Raster green{{32, 32}, [] {
                       ByteVector bytes;
                       for (int i = 0; i < 32 * 32; ++i) bytes.insert(bytes.end(), {60, 200, 60});
                       return bytes;
                     }()};

  const ByteVector rgb = decoded(encode_heic(green, {.color_primaries = 12}));

  ASSERT_FALSE(rgb.empty());
  EXPECT_LT(rgb[0], 45) << "the same green has less red in sRGB";
}

TEST(HeifDecoder, RefusesSizesBeforeItDecodes) {
  const ByteVector file = encode_heic(gradient({64, 16}));
  const auto with = [&](auto change) {
    wire::ImageLimits limits = kLimits;
    change(limits);
    const ImageHeader header = probe_heif(file, 1, limits).header;
    EXPECT_EQ(header.stored, (ImageSize{64, 16}));
    return header.error;
  };

  EXPECT_EQ(with([](auto& l) { l.side_max = 63; }), MediaError::kSideTooLarge);
  EXPECT_EQ(with([](auto& l) { l.pixels_max = 1023; }), MediaError::kPixelsTooMany);
  EXPECT_EQ(with([](auto& l) { l.aspect_max = 3; }), MediaError::kAspectTooLarge);
}

TEST(HeifDecoder, ASizeThatTheBoxesInventIsAnErrorAndNoMemory) {
  ByteVector file = encode_heic(gradient({64, 64}));
  const auto ispe = std::ranges::search(file, std::string_view("ispe")).begin();
  ASSERT_NE(ispe, file.end());
  *(ispe + 10) = 0x0F;  // the third byte of the width: 3904 and more
  const ImageHeader header = probe_heif(file, 1, kLimits).header;
  if (header.error != MediaError::kNone) return;
  ByteVector out(rgb_bytes({1, 1}));

  EXPECT_NE(decode_heif(file, kLimits, {1, 1}, kFirst, out), MediaError::kNone);
}

TEST(HeifDecoder, EveryTruncationIsAnError) {
  const ByteVector whole = encode_heic(gradient({64, 48}));
  for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 80) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const Probe found = probe_heif(cut, 1, kLimits);
    ASSERT_NE(found.header.error, MediaError::kWorkerFailed) << n;
    if (found.header.error != MediaError::kNone) continue;
    ByteVector out(rgb_bytes(found.header.stored));
    const MediaError error = decode_heif(cut, kLimits, found.header.stored, kFirst, out);
    EXPECT_NE(error, MediaError::kWorkerFailed) << n;
  }
}

TEST(HeifDecoder, RefusesWhatIsNoHeic) {
  EXPECT_EQ(probe_heif({}, 1, kLimits).header.error, MediaError::kUnsupportedFormat);
  EXPECT_EQ(probe_heif(media::testing::encode_png(gradient({4, 4})), 1, kLimits).header.error,
            MediaError::kUnsupportedFormat);
}

TEST(HeifWorker, DecodesUnderItsFilter) {
  const Raster picture = gradient({64, 48});
  DecoderOptions options;
  options.zygotes.heif = &media::testing::worker_zygote(TESSERA_HEIF_WORKER);
  options.base_timeout = std::chrono::milliseconds(60'000);
  ASSERT_NE(options.zygotes.heif->level(), sandbox::SandboxLevel::kC);
  std::vector<EncodedMedia> media;
  media.push_back(media::testing::to_media(encode_heic(picture)));
  media.push_back(media::testing::to_media(encode_heic(gradient({300, 200}))));
  media.back().n_frames = 4;  // it has one

  auto session = DecodeSession::open(options, {}, media, {});
  ASSERT_TRUE(session) << session.error().message;
  const auto images = session->decode();

  ASSERT_TRUE(images) << images.error().message;
  ASSERT_EQ(images->size(), 2U);
  EXPECT_LE(distance((*images)[0].rgb, picture.bytes), kTolerance);
}

}  // namespace
}  // namespace tessera::media::heif
