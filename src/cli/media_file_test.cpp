#include "cli/media_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

class MediaFile : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file_of(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  std::string message_of(const std::string& path) const {
    const auto media = load_media_file(path, limits_);
    return media ? "no error" : media.error().message;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("tessera_media_file_" + std::to_string(::getpid()));
  Limits limits_;
};

std::string bytes_of(const EncodedMedia& media) {
  std::string bytes(media.size_bytes + 1, '\0');
  const ssize_t n = ::read(media.fd.get(), bytes.data(), bytes.size());
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return bytes;
}

TEST_F(MediaFile, IsReadWholeIntoAMemfd) {
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(i * 7);

  const auto media = load_media_file(file_of("a.jpg", bytes), limits_);

  ASSERT_TRUE(media);
  EXPECT_EQ(media->size_bytes, bytes.size());
  EXPECT_EQ(bytes_of(*media), bytes);
}

TEST_F(MediaFile, CannotBeChangedAfterwards) {
  const auto media = load_media_file(file_of("a.jpg", "abc"), limits_);

  ASSERT_TRUE(media);
  EXPECT_EQ(::write(media->fd.get(), "x", 1), -1);
  EXPECT_EQ(::ftruncate(media->fd.get(), 1), -1);
}

TEST_F(MediaFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(message_of(folder_ / "none.jpg"), "no such file");
  EXPECT_EQ(message_of(file_of("a", "x") + "/b"), "no such file");
  EXPECT_EQ(message_of(folder_), "is a directory, not a file");
  EXPECT_EQ(message_of(file_of("empty.jpg", "")), "the file is empty");
}

TEST_F(MediaFile, MayHaveAsManyBytesAsTheLimitAndNoMore) {
  limits_.image_bytes_max = 1024;
  limits_.videos_max = 0;

  EXPECT_TRUE(load_media_file(file_of("a.jpg", std::string(1024, 'x')), limits_));
  EXPECT_EQ(message_of(file_of("b.jpg", std::string(1025, 'x'))),
            "more than 1KiB, the limit of limits.image_bytes_max and limits.video_bytes_max");
}

TEST_F(MediaFile, ThatNeverEndsIsCutOffAtTheLimit) {
  EXPECT_THAT(message_of("/dev/zero"), ::testing::StartsWith("more than 200MiB"));
}

TEST_F(MediaFile, ErrorsSayWhatToDoNext) {
  EXPECT_EQ(load_media_file(folder_ / "none.jpg", limits_).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(load_media_file(folder_, limits_).error().reason, "image_unreadable");
}

TEST_F(MediaFile, OfSeveralTheFirstBadOneIsNamed) {
  const std::vector<std::string> paths{file_of("a.jpg", "x"), folder_ / "none.jpg"};

  const auto media = load_media_files(paths, 1, limits_);

  ASSERT_FALSE(media);
  EXPECT_EQ(media.error().message, "image 2 (" + paths[1] + "): no such file");
}

TEST_F(MediaFile, OfSeveralTheOrderIsKept) {
  const std::vector<std::string> paths{file_of("b.jpg", "bb"), file_of("a.jpg", "a")};

  const auto media = load_media_files(paths, 3, limits_);

  ASSERT_TRUE(media);
  EXPECT_EQ((*media)[0].n_frames, 3);
  ASSERT_EQ(media->size(), 2U);
  EXPECT_EQ((*media)[0].size_bytes, 2U);
  EXPECT_EQ((*media)[1].size_bytes, 1U);
}

TEST_F(MediaFile, TooManyAreRefusedBeforeAnyIsOpened) {
  limits_.images_max = 1;
  const std::vector<std::string> paths{"none", "none"};

  const auto media = load_media_files(paths, 1, limits_);

  ASSERT_FALSE(media);
  EXPECT_EQ(media.error().message, "2 images exceed 1, the limit of limits.images_max");
}

}  // namespace
}  // namespace tessera::cli
