#include "cache/disk_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/unique_fd.h"

namespace tessera::cache {
namespace {

// What a random one needs; one that is written in letters is longer.
constexpr std::size_t kSecretBytesMin = 32;
// No secret is as long as that: the path names some other file.
constexpr std::size_t kSecretBytesMax = 4096;

Error unusable(std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, "cache_secret_unusable",
                    "the secret of cache_dir " + std::string(why), "cache_secret_file");
}

bool write_all(int file, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool sync_folder_of(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0;
}

/// Whole on the disk or not there: a short secret would refuse every later start. Of two processes
/// that make one at the same time, both get the first.
Result<void> make_secret(const std::string& path) {
  const std::string unfinished = path + ".new" + std::to_string(::getpid());
  (void)::unlink(unfinished.c_str());
  const UniqueFd file(::open(
      unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return unusable("cannot be made");
  const SecretKey secret = SecretKey::random();
  const bool is_linked = write_all(file.get(), secret.bytes()) && ::fsync(file.get()) == 0 &&
                         (::link(unfinished.c_str(), path.c_str()) == 0 || errno == EEXIST);
  (void)::unlink(unfinished.c_str());
  if (!is_linked || !sync_folder_of(path)) return unusable("cannot be written");
  return {};
}

Result<SecretKey> read_secret(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    return unusable("is no regular file");
  }
  if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return unusable("may be read or changed by others; it needs mode 0600");
  }
  std::vector<std::uint8_t> bytes(kSecretBytesMax + 1);
  ssize_t n = 0;
  do {
    n = ::read(file, bytes.data(), bytes.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) return unusable("cannot be read");
  const auto n_bytes = static_cast<std::size_t>(n);
  if (n_bytes < kSecretBytesMin || n_bytes > kSecretBytesMax) {
    return unusable("has " + std::to_string(n_bytes) + " bytes; it needs " +
                    std::to_string(kSecretBytesMin) + " to " + std::to_string(kSecretBytesMax));
  }
  SecretKey secret = SecretKey::extract(std::span(bytes).first(n_bytes));
  ::explicit_bzero(bytes.data(), bytes.size());
  return secret;
}

UniqueFd open_secret(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold up the start; a regular file does not know it.
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace

Result<SecretKey> load_secret(const std::string& path) {
  const UniqueFd file = open_secret(path);
  if (!file) return unusable("cannot be opened");
  return read_secret(file.get());
}

Result<SecretKey> load_or_make_secret(const std::string& path) {
  UniqueFd file = open_secret(path);
  if (!file && errno == ENOENT) {
    TSR_RETURN_IF_ERROR(make_secret(path));
    file = open_secret(path);
  }
  if (!file) return unusable("cannot be opened");
  return read_secret(file.get());
}

}  // namespace tessera::cache
