// For tests of the disk tier: a folder that goes away, entries of known content, and a file system
// that fails or stops where a test says.
// @thread one
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/disk_tier.h"

namespace tessera::cache {

class TestFolder {
 public:
  TestFolder() {
    // In memory where that is: the tests take thousands of small steps.
    const std::filesystem::path memory = "/dev/shm";
    const auto parent =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "tessera-disk-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Regular files below it, without those of the tier's own.
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(path_)) {
      const std::string name = file.path().filename().string();
      if (file.is_regular_file() && name.size() > 64) found.push_back(file.path());
    }
    return found;
  }

  /// As if each entry had been used then, a whole second since 1970: files bear the system's time,
  /// which goes on while a test holds its own still.
  void set_used(std::int64_t time) const {
    const auto used = std::chrono::sys_seconds(std::chrono::seconds(time));
    for (const auto& entry : entries()) {
      std::filesystem::last_write_time(entry, std::chrono::file_clock::from_sys(used));
    }
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline Digest test_key(int i) {
  Digest key;
  key.bytes[0] = static_cast<std::uint8_t>(i);
  key.bytes[1] = static_cast<std::uint8_t>(i >> 8);
  key.bytes[31] = 0xEE;
  return key;
}

/// Rows that say which they are: a wrong feature is seen in each value. All of them are halves.
inline Embedding test_rows(int i, int n_tokens = 8) {
  Embedding embedding;
  embedding.n_tokens = n_tokens;
  embedding.row_width = 32;
  for (int k = 0; k < n_tokens * 32; ++k) {
    embedding.rows.push_back(static_cast<float>(i) + static_cast<float>(k % 16) / 16.F);
  }
  return embedding;
}

/// Counts the steps that change something, and lets the n-th and all after it go wrong.
class FaultyFiles final : public DiskFiles {
 public:
  enum class Fault {
    kNone,
    kError,     // the step does nothing and fails, and all later ones
    kDiskFull,  // the same, and a write leaves its first half; removing still works
    kCrash,     // as kError, but a write leaves its first half; unsynced files may be cut
  };

  static std::unique_ptr<FaultyFiles> open(const std::filesystem::path& folder) {
    auto files = std::make_unique<FaultyFiles>(
        UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    files->path_ = folder;
    return files;
  }
  explicit FaultyFiles(UniqueFd folder) : DiskFiles(std::move(folder)) {}

  void fail_at(int step, Fault fault) {
    step_ = step;
    fault_ = fault;
  }
  void fail_reads(bool fail) { fail_reads_ = fail; }
  bool has_failed() const { return failed_; }
  int n_steps() const { return n_steps_; }

  Result<std::vector<std::uint8_t>> read(const std::string& path, std::size_t n_max) override {
    if (fail_reads_) return error();
    return DiskFiles::read(path, n_max);
  }
  Result<void> make_folder(const std::string& path) override {
    return goes_wrong() ? Result<void>(error()) : DiskFiles::make_folder(path);
  }
  Result<UniqueFd> create(const std::string& path) override {
    if (goes_wrong()) return error();
    unsynced_.insert_or_assign(path, true);
    return DiskFiles::create(path);
  }
  Result<void> write(int file, std::span<const std::uint8_t> bytes) override {
    if (!goes_wrong()) return DiskFiles::write(file, bytes);
    if (fault_ != Fault::kError) (void)DiskFiles::write(file, bytes.first(bytes.size() / 2));
    return error();
  }
  Result<void> sync(int /*file*/) override {
    if (goes_wrong()) return error();
    last_synced_ = true;
    return {};  // lose_unsynced() knows; the disk need not
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (goes_wrong()) return error();
    unsynced_.erase(from);
    unsynced_.insert_or_assign(to, !std::exchange(last_synced_, false));
    return DiskFiles::rename(from, to);
  }
  Result<void> remove(const std::string& path) override {
    if (fault_ != Fault::kDiskFull && goes_wrong()) return error();
    unsynced_.erase(path);
    return DiskFiles::remove(path);
  }
  Result<void> sync_folder(const std::string& /*path*/) override {
    return goes_wrong() ? Result<void>(error()) : Result<void>();
  }

  /// What a machine without power forgets: files that were never synced keep `part` of their bytes.
  void lose_unsynced(double part) const {
    for (const auto& [name, is_unsynced] : unsynced_) {
      std::error_code error;
      const auto file = path_ / name;
      const auto n_bytes = std::filesystem::file_size(file, error);
      if (error || !is_unsynced) continue;
      std::filesystem::resize_file(
          file, static_cast<std::uintmax_t>(static_cast<double>(n_bytes) * part), error);
    }
  }

 private:
  bool goes_wrong() {
    ++n_steps_;
    if (fault_ == Fault::kNone || n_steps_ < step_) return false;
    failed_ = true;
    return true;
  }
  Error error() const {
    return make_error(
        fault_ == Fault::kDiskFull ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
        "cache_dir_unusable", "as the test wants it");
  }

  std::filesystem::path path_;
  int step_ = 0;
  Fault fault_ = Fault::kNone;
  int n_steps_ = 0;
  bool failed_ = false;
  bool fail_reads_ = false;
  bool last_synced_ = false;
  std::map<std::string, bool> unsynced_;
};

}  // namespace tessera::cache
