#include "media/video/video_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "media/frames.h"
#include "media/validate.h"
#include "media/video/testing/encode_clip.h"

namespace tessera::media::video {
namespace {

using testing::ByteVector;
using testing::ClipOptions;
using testing::encode_clip;
using testing::frame_of;

const wire::ImageLimits kLimits = image_limits(Limits{}, DecoderClass::kVideo);

/// The wanted frames at full size; empty when the file is refused.
std::vector<ByteVector> frames_at(const ByteVector& file, std::vector<std::uint32_t> wanted,
                                  MediaError expected = MediaError::kNone) {
  const Probe found = probe_video(file, static_cast<int>(wanted.size()), kLimits);
  EXPECT_EQ(found.header.error, MediaError::kNone);
  if (found.header.error != MediaError::kNone) return {};
  const ImageSize size = found.header.oriented();
  ByteVector out(wanted.size() * rgb_bytes(size));
  const MediaError error = decode_video(file, kLimits, size, wanted, out);
  EXPECT_EQ(error, expected);
  if (error != MediaError::kNone) return {};
  std::vector<ByteVector> frames;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(i * rgb_bytes(size));
    frames.emplace_back(first, first + static_cast<std::ptrdiff_t>(rgb_bytes(size)));
  }
  return frames;
}

/// What frame each of the wanted pictures shows, by its level.
std::vector<int> shown(const ByteVector& file, const std::vector<std::uint32_t>& wanted) {
  std::vector<int> frames;
  for (const ByteVector& rgb : frames_at(file, wanted)) {
    frames.push_back(frame_of(rgb[rgb.size() / 2]));
  }
  return frames;
}

MediaError error_of(const ByteVector& file, const wire::ImageLimits& limits = kLimits) {
  return probe_video(file, 8, limits).header.error;
}

struct Kind {
  const char* name;
  const char* encoder;
  const char* container;
};
class EveryKind : public ::testing::TestWithParam<Kind> {
 protected:
  static ClipOptions options() {
    return {.encoder = GetParam().encoder, .container = GetParam().container};
  }
};

TEST_P(EveryKind, GivesEachFrameThatIsAskedForInTheOrderOfShowing) {
  const ByteVector file = encode_clip(options());

  const Probe found = probe_video(file, 8, kLimits);

  ASSERT_EQ(found.header.error, MediaError::kNone);
  EXPECT_EQ(found.header.format, MediaFormat::kVideo);
  EXPECT_EQ(found.header.stored, (ImageSize{64, 48}));
  EXPECT_EQ(found.n_frames, 24);
  EXPECT_NEAR(static_cast<double>(found.duration_ms), 24 * 40, 41);
  EXPECT_EQ(shown(file, {0, 3, 7, 8, 9, 13, 20, 23}), (std::vector{0, 3, 7, 8, 9, 13, 20, 23}));
  EXPECT_EQ(shown(file, {23}), (std::vector{23}));
  EXPECT_EQ(shown(file, {0}), (std::vector{0}));
}

INSTANTIATE_TEST_SUITE_P(Of, EveryKind,
                         ::testing::Values(Kind{"H264InMp4", "libx264", "mp4"},
                                           Kind{"H264InQuickTime", "libx264", "mov"},
                                           Kind{"H264InMatroska", "libx264", "matroska"},
                                           Kind{"HevcInMp4", "libx265", "mp4"},
                                           Kind{"HevcInMatroska", "libx265", "matroska"},
                                           Kind{"Vp8InWebm", "libvpx", "webm"},
                                           Kind{"Vp9InWebm", "libvpx-vp9", "webm"},
                                           Kind{"Vp9InMp4", "libvpx-vp9", "mp4"},
                                           Kind{"Av1InWebm", "libaom-av1", "webm"},
                                           Kind{"Av1InMp4", "libaom-av1", "mp4"}),
                         [](const auto& info) { return info.param.name; });

TEST(VideoDecoder, GoesThroughTheGroupsOfTheWantedFramesOnly) {
  const ByteVector file = encode_clip({.n_frames = 96, .group = 8, .n_b_frames = 0});

  EXPECT_EQ(probe_video(file, 96, kLimits).n_passed, 96);
  EXPECT_EQ(probe_video(file, 1, kLimits).n_passed, 1);
  // The first and the last: one picture, and the eight of the last group.
  EXPECT_EQ(probe_video(file, 2, kLimits).n_passed, 9);
}

TEST(VideoDecoder, ReadsFragments) {
  const ByteVector file = encode_clip({.muxer_options = "movflags=frag_keyframe+empty_moov"});

  EXPECT_EQ(shown(file, {0, 11, 23}), (std::vector{0, 11, 23}));
}

TEST(VideoDecoder, TurnsPicturesAsTheTrackSays) {
  // White in the upper left quarter, black elsewhere.
  const auto paint = [](int, int x, int y) {
    return x < 32 && y < 24 ? testing::Rgb{255, 255, 255} : testing::Rgb{0, 0, 0};
  };
  struct Turn {
    double clockwise;
    ImageSize size;
    int x;  // a point of the white quarter
    int y;
  };
  for (const Turn& turn : {Turn{0, {64, 48}, 4, 4}, Turn{90, {48, 64}, 44, 4},
                           Turn{180, {64, 48}, 60, 44}, Turn{-90, {48, 64}, 4, 60}}) {
    const ByteVector file =
        encode_clip({.n_frames = 2, .rotation = turn.clockwise, .paint = paint});
    const Probe found = probe_video(file, 1, kLimits);
    EXPECT_EQ(found.header.oriented(), turn.size) << turn.clockwise;
    const auto frames = frames_at(file, {0});
    ASSERT_EQ(frames.size(), 1U);
    const auto level = [&](int x, int y) {
      return frames[0][static_cast<std::size_t>(y * turn.size.width + x) * 3];
    };
    EXPECT_GT(level(turn.x, turn.y), 240) << turn.clockwise;
    EXPECT_LT(level(turn.size.width - 1 - turn.x, turn.size.height - 1 - turn.y), 16);
  }
}

TEST(VideoDecoder, KeepsColours) {
  constexpr std::array<testing::Rgb, 4> kColours{
      {{200, 30, 30}, {30, 200, 30}, {30, 30, 200}, {200, 200, 30}}};
  const ByteVector file = encode_clip({.n_frames = 4, .paint = [&](int frame, int, int) {
                                         return kColours[static_cast<std::size_t>(frame)];
                                       }});

  const auto frames = frames_at(file, {0, 1, 2, 3});

  ASSERT_EQ(frames.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(frames[i][rgb_bytes({64, 48}) / 2 + channel], kColours[i][channel], 6)
          << i << " " << channel;
    }
  }
}

TEST(VideoDecoder, ResizesToThePlannedSize) {
  const ByteVector file = encode_clip({.n_frames = 3});
  ByteVector out(std::size_t{2} * 20 * 10 * 3);

  ASSERT_EQ(decode_video(file, kLimits, {20, 10}, std::array{0U, 2U}, out), MediaError::kNone);

  EXPECT_EQ(frame_of(out.front()), 0);
  EXPECT_EQ(frame_of(out.back()), 2);
}

TEST(VideoDecoder, TakesTheDurationFromTimestampsAndNotFromTheHeader) {
  const ByteVector even = encode_clip({.n_frames = 10, .frames_per_second = 10});
  const ByteVector uneven =
      encode_clip({.n_frames = 5, .timestamps_ms = {0, 10, 20, 5000, 61'000}});
  ByteVector lying = even;
  for (const std::string_view box : {"mvhd", "mdhd", "tkhd"}) {
    const auto at = std::ranges::search(lying, box).begin();
    ASSERT_NE(at, lying.end());
    // Version 0: type, flags, two dates, then (tkhd: a number and a gap) scale and duration.
    const std::ptrdiff_t offset = 4 + 4 + 8 + (box == "tkhd" ? 8 : 4);
    std::fill_n(at + offset, 4, std::uint8_t{0});
  }
  wire::ImageLimits limits = kLimits;
  limits.duration_ms_max = 60'000;

  EXPECT_NEAR(static_cast<double>(probe_video(even, 8, kLimits).duration_ms), 1000, 101);
  EXPECT_NEAR(static_cast<double>(probe_video(lying, 8, kLimits).duration_ms), 1000, 101);
  EXPECT_EQ(shown(uneven, {0, 2, 3, 4}), (std::vector{0, 2, 3, 4}));
  EXPECT_EQ(error_of(uneven), MediaError::kNone);
  EXPECT_EQ(error_of(uneven, limits), MediaError::kTooLong);
  EXPECT_GE(probe_video(uneven, 8, limits).duration_ms, 61'000);
}

std::uint32_t read_u32(std::span<const std::uint8_t> bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
         std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
}

TEST(VideoDecoder, DoesNotShowWhatAnEditListCutsAway) {
  ByteVector file = encode_clip({.n_b_frames = 0});
  const auto after = [&file](std::string_view box, std::size_t n) {
    const auto at = std::ranges::search(file, box).begin();
    EXPECT_NE(at, file.end());
    return std::span(file).subspan(static_cast<std::size_t>(at - file.begin()) + n, 4);
  };
  ASSERT_EQ(probe_video(file, 1, kLimits).n_frames, 24);
  // Ten of 25 frames a second; the scale stands behind type, flags and two dates.
  const std::uint32_t start = read_u32(after("mdhd", 16)) * 10 / 25;
  const auto media_time = after("elst", 16);  // behind type, flags, count and a duration
  for (unsigned i = 0; i < 4; ++i) {
    media_time[i] = static_cast<std::uint8_t>(start >> (24U - 8U * i));
  }

  EXPECT_EQ(probe_video(file, 1, kLimits).n_frames, 14);
  EXPECT_EQ(shown(file, {0, 13}), (std::vector{10, 23}));
}

TEST(VideoDecoder, CountsPacketsAndStopsAtTheLimit) {
  const ByteVector file =
      encode_clip({.size = {16, 16}, .n_frames = 10'000, .frames_per_second = 100, .group = 250});
  wire::ImageLimits limits = kLimits;
  limits.frames_max = 9'999;

  EXPECT_EQ(probe_video(file, 8, kLimits).n_frames, 10'000);
  EXPECT_EQ(error_of(file, limits), MediaError::kFramesTooMany);
}

TEST(VideoDecoder, ChecksTheSizeBeforeItDecodes) {
  const ByteVector file = encode_clip({.size = {640, 32}, .n_frames = 2});
  const auto with = [&](auto change) {
    wire::ImageLimits limits = kLimits;
    change(limits);
    return error_of(file, limits);
  };

  EXPECT_EQ(with([](auto& l) { l.side_max = 639; }), MediaError::kSideTooLarge);
  EXPECT_EQ(with([](auto& l) { l.pixels_max = 20'479; }), MediaError::kPixelsTooMany);
  EXPECT_EQ(with([](auto& l) { l.aspect_max = 19; }), MediaError::kAspectTooLarge);
  EXPECT_EQ(with([](auto&) {}), MediaError::kNone);
}

TEST(VideoDecoder, ASizeThatTheContainerInventsIsRefusedOrOverruledByThePicture) {
  const ByteVector file = encode_clip({.n_frames = 2});
  const auto with_size = [&file](std::uint16_t width, std::uint16_t height) {
    ByteVector changed = file;
    constexpr std::string_view kBox = "avc1";
    auto at = std::ranges::search(changed, kBox).begin();
    at = std::search(at + 4, changed.end(), kBox.begin(), kBox.end());  // not the brand
    at += 28;  // reserved, index, and sixteen bytes that are zero
    *at++ = static_cast<std::uint8_t>(width >> 8U);
    *at++ = static_cast<std::uint8_t>(width & 0xFFU);
    *at++ = static_cast<std::uint8_t>(height >> 8U);
    *at++ = static_cast<std::uint8_t>(height & 0xFFU);
    return changed;
  };

  EXPECT_EQ(error_of(with_size(65'535, 65'535)), MediaError::kSideTooLarge);
  EXPECT_EQ(probe_video(with_size(0, 0), 1, kLimits).header.stored, (ImageSize{64, 48}));
  EXPECT_EQ(probe_video(with_size(8, 8), 1, kLimits).header.stored, (ImageSize{64, 48}));
}

TEST(VideoDecoder, EveryTruncationIsRefusedOrShowsWhatIsThere) {
  for (const char* container : {"mp4", "matroska"}) {
    const ByteVector whole = encode_clip({.container = container,
                                          .n_frames = 12,
                                          .muxer_options = std::string_view(container) == "mp4"
                                                               ? "movflags=frag_keyframe+empty_moov"
                                                               : ""});
    int n_shown = 0;
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 60) {
      const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      const Probe found = probe_video(cut, 2, kLimits);
      ASSERT_NE(found.header.error, MediaError::kWorkerFailed) << n;
      if (found.header.error != MediaError::kNone) continue;
      ++n_shown;
      EXPECT_EQ(shown(cut, {0}), (std::vector{0})) << n;
    }
    EXPECT_GT(n_shown, 0) << container;
  }
}

TEST(VideoDecoder, RefusesWhatIsNoVideoOfItsKinds) {
  const auto text = [](std::string_view words) { return ByteVector(words.begin(), words.end()); };

  EXPECT_EQ(error_of(text("#EXTM3U\n#EXT-X-VERSION:3\nhttp://127.0.0.1/a.ts\n")),
            MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of(text("ffconcat version 1.0\nfile '/etc/passwd'\n")),
            MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of(text("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\n")),
            MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of(text("RIFF....AVI LIST")), MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of({}), MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of(media::testing::encode_png(media::testing::gradient({8, 8}))),
            MediaError::kUnsupportedFormat);
  EXPECT_EQ(error_of(testing::encode_sound()), MediaError::kUnsupportedVariant);
  EXPECT_EQ(error_of(encode_clip({.encoder = "mpeg4"})), MediaError::kUnsupportedVariant);
  EXPECT_EQ(error_of(encode_clip({.encoder = "mjpeg", .container = "matroska"})),
            MediaError::kUnsupportedVariant);
}

/// The file with its pictures said to lie in another one, by a Macintosh alias.
ByteVector with_alias(const ByteVector& file, std::string_view path) {
  ByteVector entry{0, 0, 0, 0, 'a', 'l', 'i', 's', 0, 0, 0, 0};
  entry.resize(entry.size() + 150);                                              // what libav skips
  entry.insert(entry.end(), {0, 2, 0, static_cast<std::uint8_t>(path.size())});  // absolute path
  entry.insert(entry.end(), path.begin(), path.end());
  entry.insert(entry.end(), {0xFF, 0xFF, 0, 0});
  entry[3] = static_cast<std::uint8_t>(entry.size());

  constexpr std::string_view kOld{"\0\0\0\x0Curl ", 8};
  ByteVector changed = file;
  const auto old = std::ranges::search(changed, kOld).begin() - changed.begin();
  const std::size_t n_more = entry.size() - 12;
  for (const std::string_view box : {"moov", "trak", "mdia", "minf", "dinf", "dref"}) {
    const auto size_at = std::ranges::search(changed, box).begin() - 4;
    const std::size_t size = std::size_t{size_at[2]} * 256 + size_at[3] + n_more;
    size_at[2] = static_cast<std::uint8_t>(size >> 8U);
    size_at[3] = static_cast<std::uint8_t>(size & 0xFFU);
  }
  changed.erase(changed.begin() + old, changed.begin() + old + 12);
  changed.insert(changed.begin() + old, entry.begin(), entry.end());
  return changed;
}

TEST(VideoDecoder, FollowsNoReferenceToAnotherFile) {
  const ByteVector file = encode_clip({.n_frames = 4});

  // No word of the path reaches an open(): the stream has no picture.
  EXPECT_EQ(error_of(with_alias(file, "/etc/passwd.")), MediaError::kInvalid);
  EXPECT_EQ(error_of(file), MediaError::kNone);
}

TEST(VideoDecoder, ANoisyFileNeverFailsTheWorker) {
  const ByteVector whole =
      encode_clip({.n_frames = 12, .muxer_options = "movflags=frag_keyframe+empty_moov"});
  std::uint32_t state = 7;
  for (int round = 0; round < 200; ++round) {
    ByteVector noisy = whole;
    for (int i = 0; i < 5; ++i) {
      state = state * 1'664'525U + 1'013'904'223U;
      noisy[(state >> 8U) % noisy.size()] = static_cast<std::uint8_t>(state >> 3U);
    }
    const Probe found = probe_video(noisy, 4, kLimits);
    ASSERT_NE(found.header.error, MediaError::kWorkerFailed) << round;
    if (found.header.error != MediaError::kNone) continue;
    const auto wanted = sample_frames(found.n_frames, 4);
    const ImageSize target{1, 1};
    ByteVector out(wanted.size() * rgb_bytes(target));
    ASSERT_NE(decode_video(noisy, kLimits, target, wanted, out), MediaError::kWorkerFailed)
        << round;
  }
}

TEST(VideoDecoder, RefusesAPlanThatDoesNotFit) {
  const ByteVector file = encode_clip({.n_frames = 3});
  ByteVector out(rgb_bytes({64, 48}));

  EXPECT_EQ(decode_video(file, kLimits, {64, 48}, std::array{3U}, out), MediaError::kWorkerFailed);
  EXPECT_EQ(decode_video(file, kLimits, {65, 48}, std::array{0U}, out), MediaError::kWorkerFailed);
  EXPECT_EQ(decode_video(file, kLimits, {64, 48}, {}, out), MediaError::kWorkerFailed);
}

}  // namespace
}  // namespace tessera::media::video
