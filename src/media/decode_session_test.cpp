#include "media/decode_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "media/testing/encode_images.h"
#include "sandbox/memfd.h"

namespace tessera::media {
namespace {

using std::chrono::milliseconds;
using testing::encode_png;
using testing::gradient;
using testing::to_media;

// Longer than any test may take: no test waits for it unless it fails.
constexpr milliseconds kPatient{60'000};

DecoderOptions real_worker() {
  return {TESSERA_MEDIA_WORKER, kPatient, milliseconds(0)};
}

std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

bool has_no_child() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
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
  const auto n_open = count_open_fds();

  ASSERT_TRUE(decode_all(real_worker(), media));

  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(has_no_child());
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
            "image 1: PDF is not supported; supported formats: JPEG, PNG, WebP, GIF");
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

  const auto session = DecodeSession::open({.worker_path = "/nonexistent/worker"}, {}, media, {});

  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(session.error().reason, "media_worker_unavailable");
}

TEST(DecodeSession, ReportsAWorkerThatIsKilledBetweenProbeAndDecode) {
  const auto media = media_of({encode_png(gradient({5, 5}))});
  auto session = DecodeSession::open(real_worker(), {}, media, {});
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->probe());

  ::kill(session->worker_pid(), SIGKILL);
  const auto images = session->decode();

  EXPECT_EQ(reason_of(images), "media_decoder_failed");
}

TEST(DecodeSession, EndsAWorkerThatIsStopped) {
  const auto media = media_of({encode_png(gradient({5, 5}))});
  {
    auto session = DecodeSession::open(real_worker(), {}, media, {});
    ASSERT_TRUE(session);
    ::kill(session->worker_pid(), SIGSTOP);
  }

  EXPECT_TRUE(has_no_child());
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
    return {std::filesystem::absolute(link), timeout, milliseconds(0)};
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
  const auto n_open = count_open_fds();

  const auto images = decode_all(options, media_);

  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, ErrorCode::kUnprocessableMedia);
  EXPECT_EQ(images.error().reason, "media_decoder_failed");
  EXPECT_TRUE(images.error().message.starts_with("image ")) << images.error().message;
  EXPECT_EQ(count_open_fds(), n_open);
  EXPECT_TRUE(has_no_child());
}

INSTANTIATE_TEST_SUITE_P(
    EveryWay, MisbehavingWorker,
    ::testing::Values("open_exit", "probe_die", "probe_exit", "probe_short", "probe_descriptors",
                      "probe_twice", "probe_flood", "probe_wrong_index", "probe_wrong_version",
                      "probe_wrong_kind", "probe_unknown_error", "probe_unknown_format",
                      "probe_no_scans", "decode_die", "decode_exit", "decode_keeps_mapping",
                      "decode_twice", "decode_wrong_index", "decode_wrong_size",
                      "decode_wrong_stride", "decode_wrong_channels", "decode_unknown_error"),
    [](const auto& info) { return std::string(info.param); });

TEST_F(HostileWorker, ImpossibleSizesAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_EQ(reason_of(decode_all(worker("probe_huge_size"), media_)), "image_side_too_large");
  EXPECT_EQ(reason_of(decode_all(worker("probe_negative_size"), media_)), "image_invalid");
}

TEST_F(HostileWorker, CannotResizeTheOutput) {
  EXPECT_TRUE(decode_all(worker("decode_resizes"), media_));
}

TEST_F(HostileWorker, IsKilledAtTheDeadline) {
  for (const char* mode : {"probe_hang", "decode_hang"}) {
    const auto images = decode_all(worker(mode, milliseconds(100)), media_);

    ASSERT_FALSE(images);
    EXPECT_EQ(images.error().reason, "media_decoder_failed") << images.error().message;
    EXPECT_TRUE(has_no_child());
  }
}

TEST_F(HostileWorker, IsKilledWhenTheRequestIsCancelled) {
  for (const char* mode : {"probe_hang", "decode_hang"}) {
    std::stop_source source;
    std::jthread canceller([&source] { source.request_stop(); });

    const auto images = decode_all(worker(mode), media_, {}, source.get_token());

    ASSERT_FALSE(images);
    EXPECT_EQ(images.error().code, ErrorCode::kCancelled);
    EXPECT_TRUE(has_no_child());
  }
}

}  // namespace
}  // namespace tessera::media
