#include "cache/disk_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace tessera::cache {
namespace {

constexpr mode_t kOwnersFolder = S_IRWXU;
constexpr mode_t kOwnersFile = S_IRUSR | S_IWUSR;

ErrorCode code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EISDIR:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kResourceExhausted;
    default:
      return ErrorCode::kUnavailable;
  }
}

/// From errno. The step is a word of ours; no path.
Error failed(std::string_view step) {
  const int number = errno;
  return make_error(
      code_of(number), "cache_dir_unusable",
      "the folder of cache_dir: " + std::string(step) + " failed, errno " + std::to_string(number),
      "cache_dir");
}

Error no_such_file() {
  errno = ENOENT;
  return failed("read");
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Result<std::unique_ptr<DiskFiles>> DiskFiles::open(const std::string& folder) {
  if (::mkdir(folder.c_str(), kOwnersFolder) != 0 && errno != EEXIST) return failed("mkdir");
  UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return failed("open");
  return std::unique_ptr<DiskFiles>(new DiskFiles(std::move(opened)));
}

Result<void> DiskFiles::make_folder(const std::string& path) {
  if (::mkdirat(folder_.get(), path.c_str(), kOwnersFolder) == 0 || errno == EEXIST) return {};
  return failed("mkdir");
}

Result<std::vector<ListedFile>> DiskFiles::list(const std::string& path) {
  const int descriptor =
      ::openat(folder_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return failed("open");
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(descriptor));  // which owns it
  if (folder == nullptr) {
    ::close(descriptor);
    return failed("open");
  }
  std::vector<ListedFile> files;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    struct stat status{};
    if (::fstatat(descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) continue;
    files.push_back({std::string(name), S_ISDIR(status.st_mode),
                     static_cast<std::size_t>(status.st_size), nanoseconds(status.st_mtim)});
  }
  if (errno != 0) return failed("readdir");
  return files;
}

Result<std::vector<std::uint8_t>> DiskFiles::read(const std::string& path,
                                                  std::size_t n_bytes_max) {
  // O_NONBLOCK: a FIFO must not hold up anybody; a regular file does not know it.
  const UniqueFd file(
      ::openat(folder_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return failed("open");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failed("stat");
  const auto n_bytes = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || n_bytes > n_bytes_max) return no_such_file();
  std::vector<std::uint8_t> bytes(n_bytes);
  std::size_t n_read = 0;
  while (n_read < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + n_read, bytes.size() - n_read);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read");
    if (n == 0) break;  // it became shorter
    n_read += static_cast<std::size_t>(n);
  }
  bytes.resize(n_read);
  return bytes;
}

Result<UniqueFd> DiskFiles::create(const std::string& path) {
  UniqueFd file(::openat(folder_.get(), path.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnersFile));
  if (!file) return failed("create");
  return file;
}

Result<void> DiskFiles::write(int file, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> DiskFiles::sync(int file) {
  if (::fsync(file) != 0) return failed("fsync");
  return {};
}

Result<void> DiskFiles::rename(const std::string& from, const std::string& to) {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0) {
    return failed("rename");
  }
  return {};
}

Result<void> DiskFiles::remove(const std::string& path) {
  if (::unlinkat(folder_.get(), path.c_str(), 0) != 0) return failed("unlink");
  return {};
}

Result<void> DiskFiles::sync_folder(const std::string& path) {
  const UniqueFd folder(
      ::openat(folder_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return failed("open");
  return DiskFiles::sync(folder.get());
}

Result<void> DiskFiles::put(const std::string& folder, const std::string& name,
                            std::span<const std::uint8_t> bytes, bool synced) {
  const std::string unfinished = folder + "/" + std::string(kUnfinishedName);
  (void)remove(unfinished).has_value();  // what a crash left
  TSR_ASSIGN_OR_RETURN(const UniqueFd file, create(unfinished));
  Result<void> done = write(file.get(), bytes);
  if (done && synced) done = sync(file.get());
  if (done) done = rename(unfinished, folder + "/" + name);
  if (!done) {
    (void)remove(unfinished).has_value();
    return done;
  }
  return synced ? sync_folder(folder) : done;
}

void DiskFiles::touch(const std::string& path) {
  (void)::utimensat(folder_.get(), path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Result<UniqueFd> DiskFiles::lock(const std::string& path) {
  UniqueFd file(::openat(folder_.get(), path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         kOwnersFile));
  if (!file) return failed("open");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return failed("flock");
  return make_error(ErrorCode::kUnavailable, "cache_dir_in_use",
                    "the folder of cache_dir is in use by another process", "cache_dir");
}

}  // namespace tessera::cache
