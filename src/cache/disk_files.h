// What the disk tier asks of a file system: one folder, and small steps inside it. Each step can
// fail or be the last one before a crash; disk_faults_test.cpp tries every one.
//
// Paths are relative to the folder and made by us. No symbolic link is followed at their end.
//
// Errors: not_found; resource_exhausted (disk or quota full); unavailable (everything else).
// @thread all methods are thread-safe
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::cache {

struct ListedFile {
  std::string name;
  bool is_folder = false;
  std::size_t n_bytes = 0;
  std::int64_t used_ns = 0;  // since 1970; of the last write or touch()
};

/// What put() writes to. A crash may leave one.
inline constexpr std::string_view kUnfinishedName = "new";

class DiskFiles {
 public:
  /// Makes the folder with mode 0700 when it is missing; its parent must be there.
  static Result<std::unique_ptr<DiskFiles>> open(const std::string& folder);

  virtual ~DiskFiles() = default;
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  /// One that is there already is fine.
  virtual Result<void> make_folder(const std::string& path);

  /// Regular files and folders, in no order. "." is the folder itself.
  virtual Result<std::vector<ListedFile>> list(const std::string& path);

  /// The whole file.
  /// @errors  also not_found: no regular file, or longer than n_bytes_max
  virtual Result<std::vector<std::uint8_t>> read(const std::string& path, std::size_t n_bytes_max);

  /// A new file with mode 0600, to write to.
  virtual Result<UniqueFd> create(const std::string& path);
  virtual Result<void> write(int file, std::span<const std::uint8_t> bytes);
  virtual Result<void> sync(int file);
  virtual Result<void> rename(const std::string& from, const std::string& to);
  virtual Result<void> remove(const std::string& path);
  virtual Result<void> sync_folder(const std::string& path);

  /// Writes a file beside its place, then renames it into it. By one thread at a time in a folder.
  /// @param synced  it is on the disk when this returns; otherwise a crash of the machine may leave
  ///                anything of it, but not a crash of the process
  Result<void> put(const std::string& folder, const std::string& name,
                   std::span<const std::uint8_t> bytes, bool synced);

  /// Notes the use of a file. Failing to is no error.
  virtual void touch(const std::string& path);

  /// Makes the file if needed, and locks it until the descriptor is closed or the process ends.
  /// @errors  also cancelled: another process has the lock
  virtual Result<UniqueFd> lock(const std::string& path);

 protected:
  explicit DiskFiles(UniqueFd folder) : folder_(std::move(folder)) {}

 private:
  const UniqueFd folder_;
};

}  // namespace tessera::cache
