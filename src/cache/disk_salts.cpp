#include "cache/disk_salts.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <span>
#include <vector>

namespace tessera::cache {
namespace {

constexpr std::size_t kSaltBytes = 32;
constexpr std::size_t kFileBytes = 2 * kSaltBytes;

std::vector<std::uint8_t> joined(std::span<const std::uint8_t> salt,
                                 std::span<const std::uint8_t> more) {
  std::vector<std::uint8_t> bytes(salt.begin(), salt.end());
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

TenantFolder DiskSalts::folder(const std::string& name) const {
  const Digest digest = secret_.name("folder 1", bytes_of(name));
  TenantFolder folder{};
  std::copy_n(digest.bytes.begin(), folder.size(), folder.begin());
  return folder;
}

Result<bool> DiskSalts::load(const TenantFolder& folder) {
  auto bytes = files_.read(folder_path(folder) + "/" + std::string(kSaltName), kFileBytes);
  if (!bytes) {
    if (bytes.error().code == ErrorCode::kNotFound) return false;
    return std::move(bytes).error();
  }
  if (bytes->size() != kFileBytes) return false;
  SecretKey::Bytes salt_bytes{};
  std::copy_n(bytes->begin(), kSaltBytes, salt_bytes.begin());
  const SecretKey salt(salt_bytes);
  const Digest proof = proof_of(salt, folder);
  const bool genuine =
      CRYPTO_memcmp(proof.bytes.data(), bytes->data() + kSaltBytes, kSaltBytes) == 0;
  ::explicit_bzero(bytes->data(), bytes->size());
  ::explicit_bzero(salt_bytes.data(), salt_bytes.size());
  if (!genuine) return false;
  MutexLock lock(mutex_);
  tenants_[folder].salt.emplace(salt);
  return true;
}

std::optional<SecretKey> DiskSalts::key(const TenantFolder& folder, const std::string& name) {
  MutexLock lock(mutex_);
  const auto tenant = tenants_.find(folder);
  if (tenant == tenants_.end() || !tenant->second.salt) return std::nullopt;
  return key_of(*tenant->second.salt, name);
}

Result<std::optional<SecretKey>> DiskSalts::make(const TenantFolder& folder,
                                                 const std::string& name, Age age) {
  MutexLock files_lock(files_mutex_);
  {
    MutexLock lock(mutex_);
    const Tenant& tenant = tenants_[folder];
    if (tenant.age != age) return std::optional<SecretKey>();
    if (tenant.salt) return std::optional(key_of(*tenant.salt, name));
  }
  const SecretKey salt = SecretKey::random();
  std::vector<std::uint8_t> bytes = joined(salt.bytes(), proof_of(salt, folder).bytes);
  TSR_RETURN_IF_ERROR(files_.make_folder(folder_path(folder)));
  TSR_RETURN_IF_ERROR(files_.sync_folder("."));
  TSR_RETURN_IF_ERROR(files_.put(folder_path(folder), std::string(kSaltName), bytes, true));
  ::explicit_bzero(bytes.data(), bytes.size());
  MutexLock lock(mutex_);
  Tenant& tenant = tenants_[folder];
  // forget() raises the age before it waits for us.
  if (tenant.age != age) return std::optional<SecretKey>();
  tenant.salt.emplace(salt);
  return std::optional(key_of(salt, name));
}

Result<void> DiskSalts::forget(const TenantFolder& folder) {
  {
    MutexLock lock(mutex_);
    Tenant& tenant = tenants_[folder];
    tenant.salt.reset();
    ++tenant.age;
  }
  MutexLock files_lock(files_mutex_);
  const auto removed = files_.remove(folder_path(folder) + "/" + std::string(kSaltName));
  if (!removed) {
    if (removed.error().code == ErrorCode::kNotFound) return {};
    return removed.error();
  }
  return files_.sync_folder(folder_path(folder));
}

DiskSalts::Age DiskSalts::age(const TenantFolder& folder) {
  MutexLock lock(mutex_);
  return tenants_[folder].age;
}

bool DiskSalts::has(const TenantFolder& folder) {
  MutexLock lock(mutex_);
  const auto tenant = tenants_.find(folder);
  return tenant != tenants_.end() && tenant->second.salt.has_value();
}

std::vector<TenantFolder> DiskSalts::folders() {
  MutexLock lock(mutex_);
  std::vector<TenantFolder> all;
  for (const auto& [folder, tenant] : tenants_) {
    if (tenant.salt) all.push_back(folder);
  }
  return all;
}

SecretKey DiskSalts::key_of(const SecretKey& salt, const std::string& name) const {
  return secret_.derive("tenant 1", joined(salt.bytes(), bytes_of(name)));
}

Digest DiskSalts::proof_of(const SecretKey& salt, const TenantFolder& folder) const {
  return secret_.name("salt 1", joined(salt.bytes(), folder));
}

}  // namespace tessera::cache
