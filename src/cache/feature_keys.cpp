#include "cache/feature_keys.h"

#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tessera::cache {
namespace {

/// Of the encoding; a change of its fields or their order needs a new one.
constexpr std::uint64_t kEncodingVersion = 2;

/// Fields of eight bytes, least significant first.
class Encoding {
 public:
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void add(int value) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))); }
  void add(ImageSize size) {
    add(size.width);
    add(size.height);
  }
  void add(const Digest& digest) {
    bytes_.insert(bytes_.end(), digest.bytes.begin(), digest.bytes.end());
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

Digest digest_of(std::string_view text) {
  Digest digest;
  TSR_CHECK(EVP_Digest(text.data(), text.size(), digest.bytes.data(), nullptr, EVP_sha256(),
                       nullptr) == 1);
  return digest;
}

}  // namespace

Result<Digest> content_digest(int file, std::size_t n_bytes) {
  const Error unusable =
      make_error(ErrorCode::kInternal, "media_file_unusable", "a file could not be read");
  struct stat status{};
  // A read beyond the end would kill the process.
  if (::fstat(file, &status) != 0 || static_cast<std::size_t>(status.st_size) < n_bytes) {
    return unusable;
  }
  if (n_bytes == 0) return digest_of({});
  void* const mapped = ::mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return unusable;
  const Digest digest = digest_of({static_cast<const char*>(mapped), n_bytes});
  ::munmap(mapped, n_bytes);
  return digest;
}

FeatureKeys::FeatureKeys(const SecretKey& secret, const std::string& encoder, TenantNames tenants)
    : secret_(secret), encoder_(digest_of(encoder)), tenants_(std::move(tenants)) {}

FeatureKeys::FeatureKeys(const std::string& encoder) : FeatureKeys(SecretKey::random(), encoder) {}

Digest FeatureKeys::key(const FeatureOrigin& origin) const {
  Encoding encoding;
  encoding.add(kEncodingVersion);
  encoding.add(encoder_);
  encoding.add(digest_of(tenants_.name(origin.tenant)));
  encoding.add(std::uint64_t{origin.only_for ? 1U : 0U});
  encoding.add(origin.only_for ? origin.only_for->value : 0);
  encoding.add(std::uint64_t{origin.mention});
  encoding.add(origin.content);
  encoding.add(std::uint64_t{origin.frame});
  encoding.add(origin.decoded);
  encoding.add(origin.planned);
  encoding.add(origin.n_tiles);
  encoding.add(origin.tile);
  encoding.add(origin.n_tokens);
  return secret_.name("features", encoding.bytes());
}

}  // namespace tessera::cache
