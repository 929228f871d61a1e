#include "sandbox/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "sandbox/system_error.h"

namespace tessera::sandbox {

Result<UniqueFd> create_memfd(const char* name, std::size_t size_bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error("memfd_create", errno);
  if (size_bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    return system_error("ftruncate", EFBIG);
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return system_error("ftruncate", errno);
  }
  return fd;
}

Result<void> add_seals(int fd, int seals) {
  const int present = ::fcntl(fd, F_GET_SEALS);
  if (present < 0) return system_error("fcntl(F_GET_SEALS)", errno);
  if ((present & seals) == seals) return {};
  if (::fcntl(fd, F_ADD_SEALS, seals) != 0) return system_error("fcntl(F_ADD_SEALS)", errno);
  return {};
}

Result<std::size_t> file_size(int fd) {
  struct stat info{};
  // Not fstat() of the library, which asks by a call that also takes paths: a decoder may not make
  // it (seccomp_filter.cpp).
  if (::syscall(SYS_fstat, fd, &info) != 0) return system_error("fstat", errno);
  return static_cast<std::size_t>(info.st_size);
}

MappedRegion::MappedRegion(MappedRegion&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      writable_(other.writable_) {}

MappedRegion& MappedRegion::operator=(MappedRegion&& other) noexcept {
  if (this != &other) {
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    writable_ = other.writable_;
  }
  return *this;
}

void MappedRegion::reset() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

Result<MappedRegion> MappedRegion::map_readonly(int fd, std::size_t size_bytes) {
  return map(fd, size_bytes, false);
}

Result<MappedRegion> MappedRegion::map_writable(int fd, std::size_t size_bytes) {
  return map(fd, size_bytes, true);
}

Result<MappedRegion> MappedRegion::map(int fd, std::size_t size_bytes, bool writable) {
  TSR_ASSIGN_OR_RETURN(const std::size_t available, file_size(fd));
  if (size_bytes == 0 || size_bytes > available) {
    return make_error(ErrorCode::kInvalidArgument, "mapping_out_of_range",
                      "a mapping of " + std::to_string(size_bytes) + " bytes exceeds a file of " +
                          std::to_string(available));
  }
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return system_error("mmap", errno);
  MappedRegion region;
  region.data_ = static_cast<std::uint8_t*>(data);
  region.size_ = size_bytes;
  region.writable_ = writable;
  return region;
}

}  // namespace tessera::sandbox
