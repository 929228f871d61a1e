#include "fetch/media_root.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::fetch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytesMax = 100;

/// A folder with a root in it and a secret beside the root.
class MediaRootTest : public ::testing::Test {
 protected:
  MediaRootTest() {
    std::string name = ::testing::TempDir() + "tessera-media-root-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(folder_ / "root/cats");
    write("root/cats/1.png", "a cat");
    write("root/with space.png", "a space");
    write("secret.png", "a secret");
    root_ = std::make_unique<MediaRoot>(std::move(*MediaRoot::open(folder_ / "root")));
  }
  ~MediaRootTest() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& bytes) {
    std::ofstream(folder_ / path, std::ios::binary) << bytes;
  }

  /// The file's bytes, or the error's reason.
  std::string read(const std::string& url) const {
    const auto media = root_->read(RedactedUrl(url), 0, kBytesMax);
    if (!media) return media.error().reason;
    std::string bytes(media->size_bytes, '\0');
    EXPECT_EQ(::read(media->fd.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_LT(::pwrite(media->fd.get(), "x", 1, 0), 0);
    return bytes;
  }

  fs::path folder_;
  std::unique_ptr<MediaRoot> root_;
};

TEST_F(MediaRootTest, FilesBelowTheRootAreRead) {
  EXPECT_EQ(read("file:///cats/1.png"), "a cat");
  EXPECT_EQ(read("file:///cats/../cats/1.png"), "a cat");
  EXPECT_EQ(read("file:///with%20space.png"), "a space");
  EXPECT_EQ(read("file:////cats/1.png"), "a cat");
}

TEST_F(MediaRootTest, NoSpellingLeadsOutOfTheRoot) {
  const std::string absolute = (folder_ / "secret.png").string();
  for (const std::string& url : {
           std::string("file:///../secret.png"),
           std::string("file:///cats/../../secret.png"),
           std::string("file:///%2e%2e/secret.png"),
           std::string("file:///cats/..%2f..%2fsecret.png"),
           std::string("file:///..%5csecret.png"),
           "file://" + absolute,
           "file:///" + absolute,
           std::string("file:///etc/passwd"),
           std::string("file:///proc/self/environ"),
       }) {
    EXPECT_EQ(read(url), "media_url_unavailable") << url;
  }
}

TEST_F(MediaRootTest, SymbolicLinksAreNotFollowedEvenInside) {
  fs::create_symlink(folder_ / "secret.png", folder_ / "root/out.png");
  fs::create_symlink("cats/1.png", folder_ / "root/in.png");
  fs::create_directory_symlink(folder_, folder_ / "root/up");
  EXPECT_EQ(read("file:///out.png"), "media_url_unavailable");
  EXPECT_EQ(read("file:///in.png"), "media_url_unavailable");
  EXPECT_EQ(read("file:///up/secret.png"), "media_url_unavailable");
}

TEST_F(MediaRootTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((folder_ / "root/pipe.png").c_str(), 0600), 0);
  EXPECT_EQ(read("file:///pipe.png"), "media_url_unavailable");
  EXPECT_EQ(read("file:///cats"), "media_url_unavailable");
  EXPECT_EQ(read("file:///"), "media_url_unavailable");
}

TEST_F(MediaRootTest, OtherUrlsAreRefused) {
  for (const char* url :
       {"", "cats/1.png", "/cats/1.png", "file:cats/1.png", "file:/cats/1.png",
        "file://localhost/cats/1.png", "file://host/cats/1.png", "FILE:///cats/1.png",
        "https://a.example.com/cats/1.png", "file:///cats/1.png%00.jpg", "file:///cats\n/1.png",
        "file:///missing.png"}) {
    EXPECT_EQ(read(url), "media_url_unavailable") << url;
  }
  EXPECT_EQ(read("file:///" + std::string(kUrlBytesMax, 'a')), "media_url_unavailable");
}

TEST_F(MediaRootTest, SizeIsBounded) {
  write("root/empty.png", "");
  write("root/fits.png", std::string(kBytesMax, 'x'));
  write("root/large.png", std::string(kBytesMax + 1, 'x'));
  EXPECT_EQ(read("file:///empty.png"), "media_url_unavailable");
  EXPECT_EQ(read("file:///fits.png"), std::string(kBytesMax, 'x'));
  EXPECT_EQ(read("file:///large.png"), "media_url_too_large");
}

TEST_F(MediaRootTest, AMissingFolderIsSaidAtStart) {
  EXPECT_EQ(MediaRoot::open(folder_ / "missing").error().reason, "media_root_not_found");
  EXPECT_EQ(MediaRoot::open(folder_ / "secret.png").error().reason, "media_root_not_found");
}

}  // namespace
}  // namespace tessera::fetch
