// Anonymous files in memory that two processes share, seals that bind the other side, and mappings.
// @thread any; a MappedRegion is owned by one thread at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::sandbox {

/// A sealable memfd of size_bytes zero bytes, close-on-exec.
/// @param name  a literal, shown in /proc only
/// @errors      unavailable
Result<UniqueFd> create_memfd(const char* name, std::size_t size_bytes);

/// Adds F_SEAL_… bits; bits that are already set are no error, even after F_SEAL_SEAL.
/// @errors  unavailable: not sealable, or F_SEAL_WRITE while somebody holds a writable mapping
Result<void> add_seals(int fd, int seals);

/// @errors  unavailable
Result<std::size_t> file_size(int fd);

/// A shared mapping of the first size_bytes of a file; unmapped by the destructor.
class MappedRegion {
 public:
  MappedRegion() = default;
  MappedRegion(MappedRegion&& other) noexcept;
  MappedRegion& operator=(MappedRegion&& other) noexcept;
  ~MappedRegion() { reset(); }

  /// The caller makes sure that the file cannot shrink (F_SEAL_SHRINK): a shrink is a SIGBUS.
  /// @param size_bytes  > 0 and ≤ the file's size
  /// @errors            unavailable; invalid_argument (size is 0 or beyond the file's end)
  static Result<MappedRegion> map_readonly(int fd, std::size_t size_bytes);
  static Result<MappedRegion> map_writable(int fd, std::size_t size_bytes);

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

  /// Empty for a read-only mapping.
  std::span<std::uint8_t> writable_bytes() { return {data_, writable_ ? size_ : 0}; }

  void reset();

 private:
  static Result<MappedRegion> map(int fd, std::size_t size_bytes, bool writable);

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  bool writable_ = false;
};

}  // namespace tessera::sandbox
