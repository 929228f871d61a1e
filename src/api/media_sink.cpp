#include "api/media_sink.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace tessera::api {
namespace {

Error no_room() {
  Error error = make_error(ErrorCode::kResourceExhausted, "server_busy",
                           "the server has no room for another image now; try again later");
  error.retry_after = std::chrono::seconds(1);  // running requests give their memory back
  return error;
}

}  // namespace

Result<void> MediaSink::write(std::string& bytes) {
  if (bytes.size() > bytes_max_ - media_.size_bytes) {
    return make_error(ErrorCode::kTooLarge, "image_too_large",
                      "the image has more than " + std::to_string(bytes_max_) + " bytes");
  }
  if (!media_.fd) {
    media_.fd = UniqueFd(::memfd_create("tessera-media", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!media_.fd) return no_room();
  }
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t n = ::write(media_.fd.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return no_room();
    rest.remove_prefix(static_cast<std::size_t>(n));
    media_.size_bytes += static_cast<std::size_t>(n);
  }
  bytes.clear();
  return {};
}

Result<EncodedMedia> MediaSink::finish() {
  if (media_.size_bytes == 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_empty", "the image has no bytes");
  }
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(media_.fd.get(), F_ADD_SEALS, kSeals) != 0 ||
      ::lseek(media_.fd.get(), 0, SEEK_SET) != 0) {
    return no_room();
  }
  return std::move(media_);
}

}  // namespace tessera::api
