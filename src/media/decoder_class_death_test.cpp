// How a request, and whoever counts, learns of decoders of each class that die, hang, lie or make a
// forbidden call: by the class and by the cause.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/token_stream.h"
#include "media/decode_session.h"
#include "media/media_stage.h"
#include "media/testing/encode_images.h"
#include "media/testing/worker_zygote.h"
#include "sandbox/test_processes.h"

namespace tessera::media {
namespace {

using sandbox::test_support::count_open_fds;
using sandbox::test_support::descendants;
using sandbox::test_support::only_new;
using sandbox::test_support::shrinks_to;
using std::chrono::milliseconds;

// Longer than any test may take: no test waits for it unless it fails.
constexpr milliseconds kPatient{60'000};

// Of decoders that hang: enough to start one on a busy machine.
constexpr milliseconds kShort{250};

/// The least that the server takes for a file of the class; nobody decodes it.
testing::ByteVector file_of(DecoderClass decoder_class) {
  if (decoder_class == DecoderClass::kImage) return testing::encode_png(testing::gradient({4, 2}));
  const std::string_view brand = decoder_class == DecoderClass::kVideo ? "isom" : "heic";
  testing::ByteVector file{0, 0, 0, 16, 'f', 't', 'y', 'p'};
  file.insert(file.end(), brand.begin(), brand.end());
  file.resize(64);
  return file;
}

std::vector<EncodedMedia> media_of(std::initializer_list<DecoderClass> classes) {
  std::vector<EncodedMedia> media;
  for (const DecoderClass each : classes) media.push_back(testing::to_media(file_of(each)));
  return media;
}

/// Workers of any class that misbehave; the link's name chooses how (fake_worker_main.cpp).
class DecoderDeaths : public ::testing::TestWithParam<DecoderClass> {
 protected:
  DecoderDeaths() : folder_(::testing::TempDir() + "deaths-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~DecoderDeaths() override { std::filesystem::remove_all(folder_); }

  sandbox::Zygote& worker(const std::string& mode) {
    const auto link = folder_ / mode;
    if (!std::filesystem::is_symlink(link)) {
      std::filesystem::create_symlink(TESSERA_MEDIA_FAKE_WORKER, link);
    }
    return testing::worker_zygote(std::filesystem::absolute(link));
  }

  /// Only the class of the parameter has a worker.
  DecoderOptions options(const std::string& mode, milliseconds timeout = kPatient) {
    DecoderOptions options;
    use(options, GetParam(), mode);
    options.base_timeout = timeout;
    options.timeout_per_megapixel = milliseconds(0);
    return options;
  }

  void use(DecoderOptions& options, DecoderClass decoder_class, const std::string& mode) {
    sandbox::Zygote*& zygote = decoder_class == DecoderClass::kImage   ? options.zygotes.image
                               : decoder_class == DecoderClass::kVideo ? options.zygotes.video
                                                                       : options.zygotes.heif;
    zygote = &worker(mode);
  }

 private:
  std::filesystem::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Of, DecoderDeaths, ::testing::ValuesIn(kDecoderClasses),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(DecoderDeaths, AnHonestDecoderOfTheClassDiesNoDeath) {
  const auto media = media_of({GetParam(), GetParam()});
  auto session = DecodeSession::open(options("honest"), {}, media, {});
  ASSERT_TRUE(session) << session.error().message;

  const auto images = session->decode();

  ASSERT_TRUE(images) << images.error().message;
  EXPECT_EQ(images->size(), 2U);
  EXPECT_EQ(session->death(), std::nullopt);
}

TEST_P(DecoderDeaths, EachIsNamedByItsCauseAndLeavesNothing) {
  const std::pair<const char*, DecoderDeath> causes[] = {
      {"open_exit", DecoderDeath::kExit},
      {"probe_exit", DecoderDeath::kExit},
      {"decode_exit", DecoderDeath::kExit},
      {"probe_die", DecoderDeath::kSignal},
      {"decode_die", DecoderDeath::kSignal},
      {"probe_forbidden", DecoderDeath::kForbiddenCall},
      {"decode_forbidden", DecoderDeath::kForbiddenCall},
      {"opens_socket", DecoderDeath::kForbiddenCall},
      {"threaded_opens_socket", DecoderDeath::kForbiddenCall},
      {"probe_short", DecoderDeath::kProtocol},
      {"probe_descriptors", DecoderDeath::kProtocol},
      {"probe_wrong_index", DecoderDeath::kProtocol},
      {"probe_unknown_format", DecoderDeath::kProtocol},
      {"probe_other_class", DecoderDeath::kProtocol},
      {"decode_wrong_size", DecoderDeath::kProtocol},
      {"decode_wrong_stride", DecoderDeath::kProtocol},
      {"decode_wrong_frames", DecoderDeath::kProtocol},
      {"decode_keeps_mapping", DecoderDeath::kProtocol},
  };
  const auto media = media_of({GetParam(), GetParam()});
  for (const auto& [mode, cause] : causes) {
    SCOPED_TRACE(mode);
    const DecoderOptions deadly = options(mode);
    const auto before = descendants();
    const auto n_open = count_open_fds();
    {
      auto session = DecodeSession::open(deadly, {}, media, {});
      ASSERT_TRUE(session) << session.error().message;

      const auto images = session->decode();

      ASSERT_FALSE(images);
      EXPECT_EQ(images.error().code, ErrorCode::kUnprocessableMedia);
      EXPECT_EQ(images.error().reason, "media_decoder_failed");
      EXPECT_EQ(session->death(), cause);
      EXPECT_EQ(session->failed_item().decoder_class, GetParam());
    }
    EXPECT_EQ(count_open_fds(), n_open);
    EXPECT_TRUE(shrinks_to(before));
  }
}

TEST_P(DecoderDeaths, OneThatHangsIsKilledAtItsDeadline) {
  const auto media = media_of({GetParam()});
  for (const char* mode : {"probe_hang", "decode_hang"}) {
    const DecoderOptions hanging = options(mode, kShort);
    const auto before = descendants();
    {
      auto session = DecodeSession::open(hanging, {}, media, {});
      ASSERT_TRUE(session) << session.error().message;

      EXPECT_FALSE(session->decode());

      EXPECT_EQ(session->death(), DecoderDeath::kTimeout) << mode;
    }
    EXPECT_TRUE(shrinks_to(before));
  }
}

TEST_P(DecoderDeaths, OneThatDiesWithItsZygoteIsLost) {
  const auto media = media_of({GetParam()});
  // A worker of its own, since it is not started again at once.
  const DecoderOptions honest =
      options("honest_until_killed_" + std::string(to_string(GetParam())));
  const auto before = descendants();
  auto session = DecodeSession::open(honest, {}, media, {});
  ASSERT_TRUE(session && session->probe());

  ::kill(only_new(before), SIGSTOP);  // so that it cannot be quicker than its end
  ::kill(honest.zygotes.of(GetParam())->pid(), SIGKILL);

  EXPECT_FALSE(session->decode());
  EXPECT_EQ(session->death(), DecoderDeath::kLost);
}

TEST_P(DecoderDeaths, TheFileAndTheClassAreThoseOfTheDecoderThatDied) {
  const auto media = media_of({DecoderClass::kImage, DecoderClass::kVideo, DecoderClass::kHeif});
  DecoderOptions mixed = options("decode_die");
  for (const DecoderClass other : kDecoderClasses) {
    if (other != GetParam()) use(mixed, other, "honest");
  }
  auto session = DecodeSession::open(mixed, {}, media, {});
  ASSERT_TRUE(session) << session.error().message;

  const auto images = session->decode();

  ASSERT_FALSE(images);
  EXPECT_EQ(session->death(), DecoderDeath::kSignal);
  EXPECT_EQ(session->failed_item().decoder_class, GetParam());
  EXPECT_EQ(session->failed_item().index, static_cast<std::size_t>(GetParam()));
  EXPECT_TRUE(images.error().message.starts_with(item_name(session->failed_item())))
      << images.error().message;
}

TEST_P(DecoderDeaths, TheStageReportsClassAndCauseOnceForEach) {
  const std::pair<const char*, DecoderDeath> causes[] = {
      {"decode_die", DecoderDeath::kSignal},
      {"probe_exit", DecoderDeath::kExit},
      {"opens_socket", DecoderDeath::kForbiddenCall},
      {"decode_wrong_size", DecoderDeath::kProtocol},
  };
  for (const auto& [mode, cause] : causes) {
    const SteadyClock clock;
    std::vector<std::pair<DecoderClass, DecoderDeath>> deaths;
    MediaHooks hooks;
    hooks.plan = [](InFlight&, std::span<const ImageSize> sizes) {
      return Result<std::vector<ImageSize>>({sizes.begin(), sizes.end()});
    };
    hooks.prepare = [](InFlight&, std::size_t, const Image&) -> Result<void> { return {}; };
    hooks.next = [](std::unique_ptr<InFlight>) { ADD_FAILURE() << "it has no pixels"; };
    hooks.on_death = [&deaths](DecoderClass decoder_class, DecoderDeath death) {
      deaths.emplace_back(decoder_class, death);
    };
    std::stop_source stop;
    const auto stream = std::make_shared<TokenStream>(stop);
    Request request;
    request.media = media_of({GetParam()});
    auto in_flight = std::make_unique<InFlight>(
        RequestId{1}, TenantId{0}, std::move(request), Limits{}, Trace(clock.now()),
        clock.now() + std::chrono::hours(1), stop.get_token(), stream);
    MediaStage stage({options(mode), Limits{}, 1, 1}, clock, hooks);

    ASSERT_TRUE(stage.try_submit(std::move(in_flight)));
    const auto end = std::get<StreamEnd>(*stream->pop({}));
    stage.shutdown();

    ASSERT_TRUE(end.error);
    EXPECT_EQ(end.error->reason, "media_decoder_failed");
    EXPECT_EQ(deaths, (std::vector{std::pair(GetParam(), cause)})) << mode;
  }
}

}  // namespace
}  // namespace tessera::media
