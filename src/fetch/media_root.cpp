#include "fetch/media_root.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "fetch/url_error.h"
#include "sandbox/memfd.h"
#include "sandbox/system_error.h"

namespace tessera::fetch {
namespace {

constexpr std::string_view kPrefix = "file:///";
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

/// The path below the root that a URL names, percent signs decoded. libcurl refuses those that
/// stand for control characters. Dots are left to the kernel, which knows where they lead.
std::optional<std::string> relative_path(std::string_view url) {
  const auto is_clean = [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; };
  if (url.size() > kUrlBytesMax || !url.starts_with(kPrefix) ||
      !std::ranges::all_of(url, is_clean)) {
    return std::nullopt;
  }
  const std::unique_ptr<CURLU, void (*)(CURLU*)> handle(curl_url(), &curl_url_cleanup);
  const std::string text(url);
  char* decoded = nullptr;
  const bool parsed =
      handle != nullptr &&
      curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK &&
      curl_url_get(handle.get(), CURLUPART_PATH, &decoded, CURLU_URLDECODE) == CURLUE_OK;
  if (!parsed || decoded == nullptr) return std::nullopt;
  std::string path(decoded);
  curl_free(decoded);
  path.erase(0, path.find_first_not_of('/'));
  if (path.empty()) return std::nullopt;
  return path;
}

UniqueFd open_beneath(int folder, const std::string& path) {
  open_how how{};
  // Non-blocking, so that a FIFO cannot hold up the thread before it is recognised.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // glibc has no wrapper.
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

/// Copies up to n_bytes. @return  as many as there were
Result<std::size_t> copy(int from, int to, std::size_t n_bytes) {
  std::size_t n_copied = 0;
  while (n_copied < n_bytes) {
    const ssize_t n = ::sendfile(to, from, nullptr, n_bytes - n_copied);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return sandbox::system_error("sendfile", errno);
    if (n == 0) break;
    n_copied += static_cast<std::size_t>(n);
  }
  return n_copied;
}

}  // namespace

Result<MediaRoot> MediaRoot::open(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    return make_error(ErrorCode::kNotFound, "media_root_not_found",
                      "the folder for file: URLs does not exist or cannot be opened");
  }
  return MediaRoot(std::move(folder));
}

Result<EncodedMedia> MediaRoot::read(const RedactedUrl& url, std::size_t index,
                                     std::size_t bytes_max) const {
  const auto path = relative_path(url.unredacted());
  if (!path) return media_url_unavailable(index);
  const UniqueFd file = open_beneath(folder_.get(), *path);
  struct stat info{};
  const bool is_file = file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file) return media_url_unavailable(index);
  const auto size_bytes = static_cast<std::size_t>(info.st_size);
  if (size_bytes == 0) return media_url_unavailable(index);
  if (size_bytes > bytes_max) return media_url_too_large(index, bytes_max);

  TSR_ASSIGN_OR_RETURN(UniqueFd memfd, sandbox::create_memfd("media-root", 0));
  // The size at the time of opening: one that grows meanwhile is cut, one that shrinks is shorter.
  TSR_ASSIGN_OR_RETURN(const std::size_t n_copied, copy(file.get(), memfd.get(), size_bytes));
  if (n_copied == 0) return media_url_unavailable(index);
  TSR_RETURN_IF_ERROR(sandbox::add_seals(memfd.get(), kSeals));
  if (::lseek(memfd.get(), 0, SEEK_SET) != 0) return sandbox::system_error("lseek", errno);
  return EncodedMedia{std::move(memfd), n_copied};
}

}  // namespace tessera::fetch
