#include "cache/disk_entry.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "cache/half_floats.h"
#include "core/check.h"

namespace tessera::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

enum class RowType : std::uint32_t { kHalves = 1, kFloats = 2 };

constexpr std::array<std::uint8_t, 8> kMagic{'T', 'S', 'R', 'F', 'E', 'A', 'T', '1'};
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

struct Header {
  std::array<std::uint8_t, 8> magic = kMagic;
  std::uint32_t type = 0;
  std::uint32_t n_tokens = 0;
  std::uint32_t row_width = 0;
  std::uint32_t zero = 0;
  std::int64_t expires = 0;
  std::int64_t cost_ns = 0;
  std::array<std::uint8_t, kNonceBytes> nonce{};
};

/// As on disk: what follows the nonce is padding in memory only.
constexpr std::size_t kHeaderBytes = offsetof(Header, nonce) + kNonceBytes;
static_assert(kHeaderBytes + kTagBytes == kEntryFrameBytes);

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

SecretKey entry_key(const SecretKey& tenant_key, const Digest& key) {
  return tenant_key.derive("entry 1", key.bytes);
}

std::size_t bytes_of(RowType type) {
  return type == RowType::kHalves ? sizeof(std::uint16_t) : sizeof(float);
}

/// A cipher that has its key and nonce and has seen what is authenticated besides the rows.
/// @param encrypts  1 or 0, as OpenSSL has it
Cipher start(const SecretKey& secret, const Digest& key, std::span<const std::uint8_t> header,
             int encrypts) {
  Cipher cipher(EVP_CIPHER_CTX_new());
  int n = 0;
  TSR_CHECK(cipher != nullptr);
  TSR_CHECK(EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, secret.bytes().data(),
                              header.data() + offsetof(Header, nonce), encrypts) == 1);
  for (const std::span<const std::uint8_t> part :
       {std::span<const std::uint8_t>(key.bytes), header}) {
    TSR_CHECK(EVP_CipherUpdate(cipher.get(), nullptr, &n, part.data(),
                               static_cast<int>(part.size())) == 1);
  }
  return cipher;
}

/// In place; GCM keeps the length.
void transform(const Cipher& cipher, std::span<std::uint8_t> rows) {
  int n = 0;
  TSR_CHECK(EVP_CipherUpdate(cipher.get(), rows.data(), &n, rows.data(),
                             static_cast<int>(rows.size())) == 1);
  TSR_CHECK(static_cast<std::size_t>(n) == rows.size());
}

/// Nothing when the header cannot be that of so many bytes.
std::optional<Header> read_header(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kEntryFrameBytes || bytes.size() > kEntryBytesMax) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes.data(), kHeaderBytes);
  const bool known = header.type == static_cast<std::uint32_t>(RowType::kHalves) ||
                     header.type == static_cast<std::uint32_t>(RowType::kFloats);
  if (header.magic != kMagic || header.zero != 0 || !known) return std::nullopt;
  // Each below the whole, so that the product stays far inside 64 bits.
  if (header.n_tokens > kEntryBytesMax || header.row_width > kEntryBytesMax) return std::nullopt;
  const std::size_t n_rows_bytes =
      std::size_t{header.n_tokens} * header.row_width * bytes_of(static_cast<RowType>(header.type));
  if (n_rows_bytes == 0 || n_rows_bytes != bytes.size() - kEntryFrameBytes) return std::nullopt;
  return header;
}

std::vector<float> rows_of(std::span<const std::uint8_t> bytes, RowType type) {
  std::vector<float> rows(bytes.size() / bytes_of(type));
  if (type == RowType::kFloats) {
    std::memcpy(rows.data(), bytes.data(), bytes.size());
    return rows;
  }
  std::vector<std::uint16_t> halves(rows.size());
  std::memcpy(halves.data(), bytes.data(), bytes.size());
  from_half(halves, rows);
  ::explicit_bzero(halves.data(), bytes.size());
  return rows;
}

void put_rows(const Embedding& embedding, RowType type, std::span<std::uint8_t> bytes) {
  if (type == RowType::kFloats) {
    std::memcpy(bytes.data(), embedding.rows.data(), bytes.size());
    return;
  }
  std::vector<std::uint16_t> halves(embedding.rows.size());
  to_half(embedding.rows, halves);
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  ::explicit_bzero(halves.data(), bytes.size());
}

}  // namespace

std::size_t sealed_bytes(const Embedding& embedding, bool as_halves) {
  return kEntryFrameBytes +
         embedding.rows.size() * bytes_of(as_halves ? RowType::kHalves : RowType::kFloats);
}

std::vector<std::uint8_t> seal_entry(const SecretKey& tenant_key, const Digest& key,
                                     const Embedding& embedding, bool as_halves, Duration cost,
                                     std::int64_t expires) {
  const RowType type = as_halves ? RowType::kHalves : RowType::kFloats;
  Header header;
  header.type = static_cast<std::uint32_t>(type);
  header.n_tokens = static_cast<std::uint32_t>(embedding.n_tokens);
  header.row_width = static_cast<std::uint32_t>(embedding.row_width);
  header.expires = expires;
  header.cost_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(cost).count();
  TSR_CHECK(RAND_bytes(header.nonce.data(), kNonceBytes) == 1);
  std::vector<std::uint8_t> bytes(sealed_bytes(embedding, as_halves));
  std::memcpy(bytes.data(), &header, kHeaderBytes);
  const std::span<std::uint8_t> all(bytes);
  const auto rows = all.subspan(kHeaderBytes, bytes.size() - kEntryFrameBytes);
  put_rows(embedding, type, rows);
  const Cipher cipher = start(entry_key(tenant_key, key), key, all.first(kHeaderBytes), 1);
  transform(cipher, rows);
  int n = 0;
  TSR_CHECK(EVP_CipherFinal_ex(cipher.get(), nullptr, &n) == 1);
  TSR_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                all.last(kTagBytes).data()) == 1);
  return bytes;
}

std::optional<DiskEntry> open_entry(const SecretKey& tenant_key, const Digest& key,
                                    std::span<std::uint8_t> bytes) {
  const std::optional<Header> header = read_header(bytes);
  if (!header) return std::nullopt;
  const auto rows = bytes.subspan(kHeaderBytes, bytes.size() - kEntryFrameBytes);
  const Cipher cipher = start(entry_key(tenant_key, key), key, bytes.first(kHeaderBytes), 0);
  transform(cipher, rows);
  TSR_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes,
                                bytes.last(kTagBytes).data()) == 1);
  int n = 0;
  std::optional<DiskEntry> entry;
  if (EVP_CipherFinal_ex(cipher.get(), nullptr, &n) == 1) {
    entry.emplace();
    entry->embedding.n_tokens = static_cast<int>(header->n_tokens);
    entry->embedding.row_width = static_cast<int>(header->row_width);
    entry->embedding.rows = rows_of(rows, static_cast<RowType>(header->type));
    entry->cost = std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(header->cost_ns));
    entry->expires = header->expires;
  }
  ::explicit_bzero(bytes.data(), bytes.size());
  return entry;
}

}  // namespace tessera::cache
