#include "cache/weights_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tessera::cache {
namespace {

/// Of one read: larger ones are no faster.
constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

struct FreeHash {
  void operator()(EVP_MD_CTX* hash) const { EVP_MD_CTX_free(hash); }
};

Error unreadable(ErrorCode code) {
  return make_error(code, "weights_unreadable", "the file of mmproj cannot be read", "mmproj");
}

/// The same file, and nobody wrote to it: the kernel sets the time of change, nobody else can.
bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

}  // namespace

Result<WeightsFile> WeightsFile::open(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return unreadable(ErrorCode::kNotFound);
  if (!S_ISREG(status.st_mode)) return unreadable(ErrorCode::kNotFound);
  return WeightsFile(path, std::move(file), status);
}

Result<Digest> WeightsFile::digest() const {
  const std::unique_ptr<EVP_MD_CTX, FreeHash> hash(EVP_MD_CTX_new());
  TSR_CHECK(hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1);
  std::vector<std::uint8_t> bytes(kReadBytes);
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file_.get(), bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(ErrorCode::kUnavailable);
    if (n == 0) break;
    TSR_CHECK(EVP_DigestUpdate(hash.get(), bytes.data(), static_cast<std::size_t>(n)) == 1);
    at += n;
  }
  struct stat now{};
  if (::stat(path_.c_str(), &now) != 0 || !is_same(now, status_)) {
    return make_error(ErrorCode::kUnavailable, "weights_changed",
                      "the file of mmproj was changed while it was loaded", "mmproj");
  }
  Digest digest;
  TSR_CHECK(EVP_DigestFinal_ex(hash.get(), digest.bytes.data(), nullptr) == 1);
  return digest;
}

}  // namespace tessera::cache
