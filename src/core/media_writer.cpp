#include "core/media_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tessera {

bool MediaWriter::write(std::string_view bytes) {
  if (!media_.fd) {
    media_.fd = UniqueFd(::memfd_create("tessera-media", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!media_.fd) return false;
  }
  while (!bytes.empty()) {
    const ssize_t n = ::write(media_.fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
    media_.size_bytes += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<EncodedMedia> MediaWriter::finish() {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(media_.fd.get(), F_ADD_SEALS, kSeals) != 0 ||
      ::lseek(media_.fd.get(), 0, SEEK_SET) != 0) {
    return std::nullopt;
  }
  return std::move(media_);
}

}  // namespace tessera
