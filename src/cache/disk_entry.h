// One entry of the disk tier as bytes: a header in the clear, rows under AES-256-GCM.
//
//   0  magic "TSRFEAT1"      24  expires, seconds since 1970; 0 = never
//   8  type, 1 = halves      32  cost of encoding, nanoseconds
//      and 2 = floats        40  nonce, 12 random bytes
//  12  tokens                52  rows, sealed
//  16  floats a row           n  tag, 16 bytes
//  20  zero
//
// Numbers are little-endian. The header and the entry's key are authenticated with the rows, so
// that an entry that was changed, cut, or put in another's place does not open. Each entry has a
// key of its own, derived from its tenant's and its name: a nonce would have to come twice among
// writings of one and the same entry, of which 2^32 are safe (NIST SP 800-38D, 8.3).
// @thread any; pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/secret_key.h"
#include "core/clock.h"
#include "core/digest.h"
#include "core/embedding.h"

namespace tessera::cache {

/// Above any tile of any model: 4096 tokens of 4096 floats.
inline constexpr std::size_t kEntryBytesMax = (std::size_t{64} << 20U) + 4096;

/// Bytes of an entry besides its rows.
inline constexpr std::size_t kEntryFrameBytes = 68;

struct DiskEntry {
  Embedding embedding;
  Duration cost{};
  std::int64_t expires = 0;  // seconds since 1970; 0 = never
};

/// How many bytes seal_entry() will give.
std::size_t sealed_bytes(const Embedding& embedding, bool as_halves);

/// @param tenant_key  secret of who may open it
/// @param as_halves   the values are halves already: nothing is lost
/// @pre               embedding.rows has n_tokens × row_width floats, and at least one;
///                    sealed_bytes() ≤ kEntryBytesMax
std::vector<std::uint8_t> seal_entry(const SecretKey& tenant_key, const Digest& key,
                                     const Embedding& embedding, bool as_halves, Duration cost,
                                     std::int64_t expires);

/// Nothing when the bytes are not exactly what seal_entry() gave with the same keys.
/// @param bytes  decrypted in place, and overwritten before the function returns
std::optional<DiskEntry> open_entry(const SecretKey& tenant_key, const Digest& key,
                                    std::span<std::uint8_t> bytes);

}  // namespace tessera::cache
