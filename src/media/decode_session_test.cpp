#include "media/decode_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "core/log.h"
#include "media/testing/encode_images.h"
#include "media/testing/metadata.h"
#include "media/testing/worker_zygote.h"
#include "sandbox/memfd.h"
#include "sandbox/test_processes.h"

namespace tessera::media {
namespace {

using sandbox::test_support::count_open_fds;
using sandbox::test_support::descendants;
using sandbox::test_support::only_new;
using sandbox::test_support::shrinks_to;
using std::chrono::milliseconds;
using testing::encode_png;
using testing::gradient;
using testing::to_media;

// Longer than any test may take: no test waits for it unless it fails.
constexpr milliseconds kPatient{60'000};

DecoderOptions real_worker() {
  return {{&testing::worker_zygote(TESSERA_MEDIA_WORKER)}, kPatient, milliseconds(0)};
}

std::vector<EncodedMedia> media_of(std::initializer_list<testing::ByteVector> files) {
  std::vector<EncodedMedia> media;
  for (const auto& file : files) media.push_back(to_media(file));
  return media;
}

template <typename T>
std::string reason_of(const Result<T>& result) {
  return result ? "accepted" : result.error().reason;
}

/// Opens, probes and decodes.
Result<std::vector<Image>> decode_all(const DecoderOptions& options,
                                      std::span<const EncodedMedia> media,
                                      const Limits& limits = {}, std::stop_token stop = {}) {
  TSR_ASSIGN_OR_RETURN(DecodeSession session, DecodeSession::open(options, limits, media, stop));
  TSR_RETURN_IF_ERROR(session.probe());
  return session.decode();
}

TEST(DecodeSession, ProbesAndDecodesAllImagesOfARequestInOrder) {
  const auto first = gradient({40, 30});
  const auto second = gradient({7, 9});
  const auto media = media_of({encode_png(first), testing::encode_webp(second)});
  auto session = DecodeSession::open(real_worker(), {}, media, {});
  ASSERT_TRUE(session) << session.error().message;

  const auto probed = session->probe();
  const auto images = session->decode();

  ASSERT_TRUE(probed) << probed.error().message;
  ASSERT_TRUE(images) << images.error().message;
  EXPECT_EQ(probed.value()[0].format, MediaFormat::kPng);
  EXPECT_EQ(probed.value()[0].size, (ImageSize{40, 30}));
  EXPECT_EQ(probed.value()[1].format, MediaFormat::kWebp);
  ASSERT_EQ(images.value().size(), 2U);
  EXPECT_EQ(images.value()[0].size, (ImageSize{40, 30}));
  EXPECT_EQ(images.value()[0].rgb, first.bytes);
  EXPECT_EQ(images.value()[1].rgb, second.bytes);
}

/// A GIF whose frames are of one colour each: frame i has palette entry i.
testing::ByteVector numbered_gif(std::size_t n_frames) {
  testing::ByteVector palette;
  std::vector<testing::MovingFrame> frames(n_frames);
  for (std::size_t i = 0; i < n_frames; ++i) {
    palette.insert(palette.end(), 3, static_cast<std::uint8_t>(i));
    frames[i].raster = {{4, 2}, testing::ByteVector(8, static_cast<std::uint8_t>(i))};
  }
  return testing::encode_gif_frames({4, 2}, palette, frames);
}

TEST(DecodeSession, GivesAsManyFramesAsAreWantedAndTheFirstOtherwise) {
  auto media = media_of({numbered_gif(8), encode_png(gradient({7, 9})), numbered_gif(8)});
  media[0].n_frames = 3;
  media[1].n_frames = 3;

  const auto images = decode_all(real_worker(), media);

  ASSERT_TRUE(images) << images.error().message;
  ASSERT_EQ(images->size(), 5U);
  EXPECT_EQ((*images)[0].rgb.front(), 0);
  EXPECT_EQ((*images)[1].rgb.back(), 4);
  EXPECT_EQ((*images)[2].rgb.back(), 7);
  EXPECT_EQ((*images)[3].size, (ImageSize{7, 9})) << "a still has one";
  EXPECT_EQ((*images)[4].rgb.front(), 0);
}

TEST(DecodeSession, CountsThePixelsOfEveryFrameThatItGoesThrough) {
  auto media = media_of({numbered_gif(8)});
  media[0].n_frames = 2;
  Limits limits;
  limits.request_pixels_max = 8 * 8 - 1;

  EXPECT_EQ(reason_of(decode_all(real_worker(), media, limits)), "request_pixels_too_large");
  media[0].n_frames = 1;
  EXPECT_EQ(reason_of(decode_all(real_worker(), media, limits)), "accepted");
}

TEST(DecodeSession, RefusesMoreFramesThanAFileMayHave) {
  auto media = media_of({numbered_gif(8)});
  media[0].n_frames = 2;
  Limits limits;
  limits.file_frames_max = 7;

  const auto images = decode_all(real_worker(), media, limits);

  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().message, "image 1: more than 7 frames; ask for 1 to see the first");
}

TEST(DecodeSession, DecodeProbesWhenProbeWasNotCalled) {
  const auto media = media_of({encode_png(gradient({3, 3}))});
  auto session = DecodeSession::open(real_worker(), {}, media, {});
  ASSERT_TRUE(session);

  EXPECT_TRUE(session->decode());
}

TEST(DecodeSession, LimitsOfTheWorkerLeaveRoomForTheLargestAllowedImages) {
  Limits limits;
  limits.image_pixels_max = 1'000'000;
  const auto media = media_of({
      encode_png(gradient({1000, 1000}), {.interlaced = true,
                                          .palette_rgb = {},
                                          .palette_alpha = {},
                                          .transparent_color = {},
                                          .exif = {},
                                          .icc = {}}),
      testing::encode_jpeg(gradient({1000, 1000}), {.progressive = true, .exif = {}, .icc = {}}),
      testing::encode_webp(gradient({1000, 1000})),
  });

  const auto images = decode_all(real_worker(), media, limits);

  EXPECT_TRUE(images) << images.error().message;
}

TEST(DecodeSession, ASpentSessionLeavesNoProcessAndNoDescriptor) {
  const auto media = media_of({encode_png(gradient({5, 5}))});
  const auto worker = real_worker();
  const auto n_open = count_open_fds();
  const auto before = descendants();

  ASSERT_TRUE(decode_all(worker, media));

  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(shrinks_to(before));
}

TEST(DecodeSession, SealsTheFilesSoThatNobodyChangesThemLater) {
  const auto media = media_of({encode_png(gradient({5, 5}))});

  ASSERT_TRUE(DecodeSession::open(real_worker(), {}, media, {}));

  EXPECT_LT(::pwrite(media[0].fd.get(), "x", 1, 0), 0);
  EXPECT_TRUE(decode_all(real_worker(), media)) << "a sealed file can be decoded again";
}

TEST(DecodeSession, RefusesAnEmptyFile) {
  std::vector<EncodedMedia> media = media_of({encode_png(gradient({5, 5}))});
  media.push_back({std::move(sandbox::create_memfd("empty", 0)).value(), 0});

  const auto session = DecodeSession::open(real_worker(), {}, media, {});

  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().reason, "image_empty");
  EXPECT_EQ(session.error().message, "image 2: the file is empty");
}

TEST(DecodeSession, RefusesAnUnknownTypeAndNamesWhatItIs) {
  const std::string_view pdf = "%PDF-1.7 and so on";
  const auto media = media_of({testing::ByteVector(pdf.begin(), pdf.end())});

  const auto session = DecodeSession::open(real_worker(), {}, media, {});

  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupportedMedia);
  EXPECT_EQ(session.error().reason, "image_format_unsupported");
  EXPECT_EQ(session.error().message,
            "image 1: PDF is not supported; supported formats: " + std::string(kSupportedFormats));
}

TEST(DecodeSession, RefusesTooManyImagesAndTooManyBytes) {
  Limits limits;
  limits.images_max = 1;
  limits.image_bytes_max = 10;
  const auto two = media_of({encode_png(gradient({1, 1})), encode_png(gradient({1, 1}))});
  const auto one = media_of({encode_png(gradient({1, 1}))});

  EXPECT_EQ(reason_of(DecodeSession::open(real_worker(), limits, two, {})), "too_many_images");
  EXPECT_EQ(reason_of(DecodeSession::open(real_worker(), limits, one, {})),
            "image_bytes_too_large");
}

TEST(DecodeSession, RefusesMorePixelsInOneRequestThanAllowed) {
  Limits limits;
  limits.request_pixels_max = 199;
  const auto media = media_of({encode_png(gradient({10, 10})), encode_png(gradient({10, 10}))});

  const auto images = decode_all(real_worker(), media, limits);

  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(images.error().reason, "request_pixels_too_large");
}

TEST(DecodeSession, ReportsACorruptImageByItsPlace) {
  auto file = encode_png(gradient({50, 50}));
  file.resize(file.size() / 2);
  const auto media = media_of({encode_png(gradient({5, 5})), file});

  const auto images = decode_all(real_worker(), media);

  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(images.error().reason, "image_invalid");
  EXPECT_EQ(images.error().message, "image 2: the file is truncated or corrupt");
}

TEST(DecodeSession, ReportsAFileThatIsShorterThanItsSize) {
  auto media = media_of({encode_png(gradient({5, 5}))});
  media[0].size_bytes += 1;

  const auto session = DecodeSession::open(real_worker(), {}, media, {});

  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kInternal);
}

TEST(DecodeSession, ReportsAFileThatSomebodyCanStillWrite) {
  const auto media = media_of({encode_png(gradient({5, 5}))});
  auto writer = sandbox::MappedRegion::map_writable(media[0].fd.get(), 1);
  ASSERT_TRUE(writer);

  EXPECT_EQ(reason_of(DecodeSession::open(real_worker(), {}, media, {})), "media_file_unusable");
}

TEST(DecodeSession, ReportsAMissingWorkerAsUnavailable) {
  const auto media = media_of({encode_png(gradient({5, 5}))});

  const auto session = DecodeSession::open({}, {}, media, {});

  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(session.error().reason, "media_worker_unavailable");
}

TEST(DecodeSession, ReportsADecoderThatIsKilledBetweenProbeAndDecode) {
  const auto worker = real_worker();
  const auto before = descendants();
  const auto media = media_of({encode_png(gradient({5, 5}))});
  auto session = DecodeSession::open(worker, {}, media, {});
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->probe());

  ::kill(only_new(before), SIGKILL);
  const auto images = session->decode();

  EXPECT_EQ(reason_of(images), "media_decoder_failed");
  EXPECT_EQ(session->death(), DecoderDeath::kSignal);
}

TEST(DecodeSession, EndsADecoderThatIsStopped) {
  const auto worker = real_worker();
  const auto before = descendants();
  const auto media = media_of({encode_png(gradient({5, 5}))});
  {
    auto session = DecodeSession::open(worker, {}, media, {});
    ASSERT_TRUE(session);
    ::kill(only_new(before), SIGSTOP);
  }

  EXPECT_TRUE(shrinks_to(before));
}

TEST(DecodeSession, GivesUpADecoderThatIsStoppedMidDecode) {
  auto worker = real_worker();
  const auto before = descendants();
  const auto media = media_of({encode_png(gradient({5, 5}))});
  {
    auto session = DecodeSession::open(worker, {}, media, {});
    ASSERT_TRUE(session);
    ASSERT_TRUE(session->probe());
    const auto running = descendants();
    auto other = DecodeSession::open(worker, {}, media, {});
    ::kill(only_new(running), SIGSTOP);

    auto third = DecodeSession::open(worker, {}, media, {});

    EXPECT_TRUE(session->decode()) << "others finish";
    EXPECT_TRUE(third->decode());
  }

  EXPECT_TRUE(shrinks_to(before));
}

TEST(DecodeSession, SurvivesTheDeathOfTheZygote) {
  const auto worker = real_worker();
  const auto before = descendants();
  const auto media = media_of({encode_png(gradient({5, 5}))});
  auto session = DecodeSession::open(worker, {}, media, {});
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->probe());

  ::kill(only_new(before), SIGSTOP);  // so that it cannot be quicker than its end
  ::kill(worker.zygotes.image->pid(), SIGKILL);

  EXPECT_EQ(reason_of(session->decode()), "media_worker_unavailable");
  EXPECT_EQ(session->death(), DecoderDeath::kLost);
  EXPECT_TRUE(decode_all(worker, media)) << "the next request starts it again, or is tried twice";
}

TEST(DecodeSession, FullDescriptorTableCostsOneRequest) {
  const auto worker = real_worker();
  const auto media = media_of({encode_png(gradient({5, 5}))});
  ASSERT_TRUE(decode_all(worker, media));
  const auto before = descendants();
  const auto n_open = count_open_fds();
  rlimit original{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &original), 0);
  const rlimit low{64, original.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<UniqueFd> fillers;
  for (UniqueFd next(::dup(STDIN_FILENO)); next; next.reset(::dup(STDIN_FILENO))) {
    fillers.push_back(std::move(next));
  }

  // From no descriptor left to one less than is needed in all; each fails at another place.
  int n_refused = 0;
  for (;; fillers.pop_back(), ++n_refused) {
    const auto images = decode_all(worker, media);
    if (images) break;
    EXPECT_EQ(images.error().code, ErrorCode::kUnavailable) << images.error().message;
  }
  ::setrlimit(RLIMIT_NOFILE, &original);
  fillers.clear();

  EXPECT_GE(n_refused, 4);
  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(shrinks_to(before));
}

/// One file of every kind that the codecs take, and what is left of each when it is cut.
std::vector<testing::ByteVector> corpus() {
  const auto picture = gradient({48, 32});
  const auto profile = testing::icc_with_red_and_green_swapped();  // lcms2 has work to do
  std::vector<testing::ByteVector> files;
  for (const bool interlaced : {false, true}) {
    testing::PngOptions png;
    png.interlaced = interlaced;
    png.icc = interlaced ? profile : testing::ByteVector();
    files.push_back(encode_png(picture, png));
  }
  for (const bool progressive : {false, true}) {
    testing::JpegOptions jpeg;
    jpeg.progressive = progressive;
    jpeg.icc = progressive ? profile : testing::ByteVector();
    files.push_back(testing::encode_jpeg(picture, jpeg));
  }
  for (const bool lossless : {false, true}) {
    testing::WebpOptions webp;
    webp.lossless = lossless;
    files.push_back(testing::encode_webp(picture, webp));
  }
  testing::GifOptions gif;
  gif.palette_rgb = {0, 0, 0, 255, 255, 255};
  files.push_back(testing::encode_gif({{4, 2}, testing::ByteVector(8, 1)}, gif));
  const std::size_t n_whole = files.size();
  for (std::size_t i = 0; i < n_whole; ++i) {
    for (const std::size_t part : {1U, 2U, 3U}) {
      files.emplace_back(files[i].begin(), files[i].begin() + static_cast<std::ptrdiff_t>(
                                                                  files[i].size() * part / 4));
    }
  }
  return files;
}

TEST(DecodeSession, NoFileOfTheCorpusMakesADecoderCallWhatIsForbidden) {
  const auto worker = real_worker();
  int n_decoded = 0;
  for (const auto& file : corpus()) {
    const auto media = media_of({file});
    auto session = DecodeSession::open(worker, {}, media, {});
    if (!session) continue;  // too short for its signature
    n_decoded += session->decode() ? 1 : 0;
    EXPECT_EQ(session->death(), std::nullopt);
  }

  EXPECT_GE(n_decoded, 7) << "every whole file";
}

// --- a worker that misbehaves, under the real client ---

/// Links to the fake worker; the link's name chooses what it does wrong.
class HostileWorker : public ::testing::Test {
 protected:
  HostileWorker() : folder_(::testing::TempDir() + "worker-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~HostileWorker() override { std::filesystem::remove_all(folder_); }

  DecoderOptions worker(const std::string& mode, milliseconds timeout = kPatient) {
    const auto link = folder_ / mode;
    if (!std::filesystem::is_symlink(link)) {
      std::filesystem::create_symlink(TESSERA_MEDIA_FAKE_WORKER, link);
    }
    return {{&testing::worker_zygote(std::filesystem::absolute(link))}, timeout, milliseconds(0)};
  }

  std::vector<EncodedMedia> media_ =
      media_of({encode_png(gradient({4, 2})), encode_png(gradient({4, 2}))});

 private:
  std::filesystem::path folder_;
};

TEST_F(HostileWorker, BehavesWhenToldSo) {
  const auto images = decode_all(worker("honest"), media_);

  ASSERT_TRUE(images) << images.error().message;
  EXPECT_EQ(images.value()[1].rgb, std::vector<std::uint8_t>(4 * 2 * 3));
}

class MisbehavingWorker : public HostileWorker,
                          public ::testing::WithParamInterface<const char*> {};

TEST_P(MisbehavingWorker, FailsTheRequestAndLeavesNothingBehind) {
  const auto options = worker(GetParam());
  const auto before = descendants();
  const auto n_open = count_open_fds();

  const auto images = decode_all(options, media_);

  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, ErrorCode::kUnprocessableMedia);
  EXPECT_EQ(images.error().reason, "media_decoder_failed");
  EXPECT_TRUE(images.error().message.starts_with("image ")) << images.error().message;
  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(shrinks_to(before));
}

INSTANTIATE_TEST_SUITE_P(
    EveryWay, MisbehavingWorker,
    ::testing::Values("open_exit", "probe_die", "probe_exit", "probe_short", "probe_descriptors",
                      "probe_twice", "probe_flood", "probe_wrong_index", "probe_wrong_version",
                      "probe_wrong_kind", "probe_unknown_error", "probe_unknown_format",
                      "probe_no_scans", "probe_no_frames", "probe_unwanted_frames",
                      "probe_no_passed_frames", "probe_other_class", "decode_wrong_frames",
                      "decode_die", "decode_exit", "decode_keeps_mapping", "decode_keeps_writing",
                      "probe_forbidden", "decode_twice", "decode_wrong_index", "decode_wrong_size",
                      "decode_wrong_stride", "decode_wrong_channels", "decode_unknown_error"),
    [](const auto& info) { return std::string(info.param); });

TEST_F(HostileWorker, ImpossibleSizesAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_EQ(reason_of(decode_all(worker("probe_huge_size"), media_)), "image_side_too_large");
  EXPECT_EQ(reason_of(decode_all(worker("probe_negative_size"), media_)), "image_invalid");
}

TEST_F(HostileWorker, CannotResizeTheOutput) {
  EXPECT_TRUE(decode_all(worker("decode_resizes"), media_));
}

TEST_F(HostileWorker, DeathIsNamedByItsCause) {
  const std::pair<const char*, DecoderDeath> causes[] = {
      {"probe_forbidden", DecoderDeath::kForbiddenCall},
      {"probe_die", DecoderDeath::kSignal},
      {"decode_die", DecoderDeath::kSignal},
      {"probe_exit", DecoderDeath::kExit},
      {"decode_exit", DecoderDeath::kExit},
      {"probe_no_memory", DecoderDeath::kExit},
      {"decode_no_memory", DecoderDeath::kExit},
      {"probe_short", DecoderDeath::kProtocol},
      {"probe_wrong_index", DecoderDeath::kProtocol},
      {"decode_keeps_mapping", DecoderDeath::kProtocol},
  };
  for (const auto& [mode, cause] : causes) {
    auto session = DecodeSession::open(worker(mode), {}, media_, {});
    ASSERT_TRUE(session) << session.error().message;

    EXPECT_FALSE(session->decode());

    EXPECT_EQ(session->death(), cause) << mode << ": " << to_string(*session->death());
  }
}

TEST_F(HostileWorker, IsKilledAtTheDeadline) {
  for (const char* mode : {"probe_hang", "decode_hang"}) {
    const auto options = worker(mode, milliseconds(100));
    const auto before = descendants();

    const auto images = decode_all(options, media_);

    ASSERT_FALSE(images);
    EXPECT_EQ(images.error().reason, "media_decoder_failed") << images.error().message;
    EXPECT_TRUE(shrinks_to(before));
  }
}

TEST_F(HostileWorker, IsKilledWhenTheRequestIsCancelled) {
  for (const char* mode : {"probe_hang", "decode_hang"}) {
    const auto options = worker(mode);
    const auto before = descendants();
    std::stop_source source;
    std::jthread canceller([&source] { source.request_stop(); });

    const auto images = decode_all(options, media_, {}, source.get_token());

    ASSERT_FALSE(images);
    EXPECT_EQ(images.error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(shrinks_to(before));
  }
}

}  // namespace
}  // namespace tessera::media
