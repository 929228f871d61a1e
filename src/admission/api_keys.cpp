#include "admission/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

namespace tessera::admission {
namespace {

// Sixteen random characters are ≥ 64 bits in every usual alphabet.
constexpr std::size_t kKeyBytesMin = 16;
// Far above any generated token, far below the header limit.
constexpr std::size_t kKeyBytesMax = 256;
constexpr std::size_t kNameBytesMax = 64;
// authenticate() compares with each key: 4096 digests cost some 50 µs.
constexpr std::size_t kKeysMax = 4096;
// 4096 lines of a longest name and key.
constexpr std::size_t kFileBytesMax = std::size_t{2} << 20U;

/// Starts rules in place of a key, which has no blanks.
constexpr std::string_view kRulesWord = "cache ";

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Error file_error(std::string_view file, const std::string& what) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_key_file",
                    "the " + std::string(file) + what);
}

Error line_error(int line, const std::string& what) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_key_file",
                    ", line " + std::to_string(line) + ": " + what);
}

struct KeyLine {
  std::string_view name;  // empty = none
  std::string_view key;   // empty = a line of rules
  CacheRules rules;
};

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

/// Empty for a blank line or a comment.
Result<std::optional<KeyLine>> read_line(std::string_view text, int line) {
  text = trim(text);
  if (text.empty() || text.front() == '#') return std::optional<KeyLine>();
  KeyLine result{{}, text, {}};
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    result = {trim(text.substr(0, colon)), trim(text.substr(colon + 1)), {}};
    if (result.name.empty() || result.name.size() > kNameBytesMax || !is_printable(result.name)) {
      return line_error(line, "a name has 1 to " + std::to_string(kNameBytesMax) +
                                  " printable characters without blanks");
    }
  }
  if (!result.name.empty() && result.key.starts_with(kRulesWord)) {
    auto rules = parse_cache_rules(result.key.substr(kRulesWord.size()));
    if (!rules) return line_error(line, rules.error().message);
    return std::optional<KeyLine>(KeyLine{result.name, {}, *std::move(rules)});
  }
  if (result.key.size() < kKeyBytesMin || result.key.size() > kKeyBytesMax) {
    return line_error(line, "a key has " + std::to_string(kKeyBytesMin) + " to " +
                                std::to_string(kKeyBytesMax) + " characters, this one has " +
                                std::to_string(result.key.size()));
  }
  if (!is_printable(result.key) || result.key.find(':') != std::string_view::npos) {
    return line_error(line, "a key has only printable ASCII characters, no blanks and no colons");
  }
  return std::optional<KeyLine>(result);
}

Result<std::string> read_file(const std::string& path, std::string_view what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return make_error(ErrorCode::kNotFound, "key_file_not_readable",
                      "the " + std::string(what) + " cannot be read");
  }
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return file_error(what, " is larger than " + std::to_string(kFileBytesMax) + " bytes");
  }
  return text;
}

}  // namespace

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<ApiKeys> ApiKeys::parse(std::string_view text, std::string_view file) {
  ApiKeys keys;
  Tenants tenants;
  std::vector<int> lines;                   // of keys.entries_
  std::map<std::string, CacheRules> rules;  // by name
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    auto parsed = read_line(text.substr(0, end), line);
    if (!parsed) return file_error(file, parsed.error().message);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!*parsed) continue;
    const KeyLine& found = **parsed;
    if (found.key.empty()) {
      const auto [place, is_new] = rules.try_emplace(std::string(found.name));
      place->second = found.rules.or_else(place->second);
    } else if (auto added = keys.add(found.name, found.key, line, lines, tenants); !added) {
      return file_error(file, added.error().message);
    }
  }
  if (keys.open()) {
    // An empty file must not silently mean "no keys asked for".
    return file_error(file, " holds no key");
  }
  for (auto& [name, of_tenant] : rules) {
    const auto tenant = tenants.find(name);
    if (tenant == tenants.end()) return file_error(file, " has rules for a name without a key");
    keys.cache_rules_.emplace(tenant->second, of_tenant);
  }
  return keys;
}

/// @param lines  where each key stands
Result<void> ApiKeys::add(std::string_view name, std::string_view key, int line,
                          std::vector<int>& lines, Tenants& tenants) {
  if (size() == kKeysMax) {
    return line_error(line, "more than " + std::to_string(kKeysMax) + " keys");
  }
  Entry entry{digest_of(key), {}};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].digest == entry.digest) {
      return line_error(line, "the same key stands in line " + std::to_string(lines[i]));
    }
  }
  const auto next = static_cast<std::uint32_t>(stable_names_.size());  // the first is no tenant's
  if (name.empty()) {
    entry.tenant = TenantId{next};
    stable_names_.push_back("key:" + hexadecimal(entry.digest));
  } else {
    const auto [place, is_new] = tenants.try_emplace(std::string(name), TenantId{next});
    if (is_new) stable_names_.push_back("name:" + std::string(name));
    entry.tenant = place->second;
  }
  entries_.push_back(entry);
  lines.push_back(line);
  return {};
}

Result<ApiKeys> ApiKeys::load(const std::string& path, std::string_view file) {
  TSR_ASSIGN_OR_RETURN(const std::string text, read_file(path, file));
  return parse(text, file);
}

Result<std::string> ApiKeys::load_first_key(const std::string& path, std::string_view file) {
  TSR_ASSIGN_OR_RETURN(const std::string text, read_file(path, file));
  TSR_RETURN_IF_ERROR(parse(text, file));
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    TSR_ASSIGN_OR_RETURN(const std::optional<KeyLine> found, read_line(rest.substr(0, end), line));
    if (found && !found->key.empty()) return std::string(found->key);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return file_error(file, " holds no key");
}

bool ApiKeys::shares_key_with(const ApiKeys& others) const {
  return std::ranges::any_of(entries_, [&others](const Entry& entry) {
    return std::ranges::find(others.entries_, entry.digest, &Entry::digest) !=
           others.entries_.end();
  });
}

CacheRules ApiKeys::cache_rules(TenantId tenant, const CacheRules& server) const {
  const auto own = cache_rules_.find(tenant);
  return own == cache_rules_.end() ? server : own->second.or_else(server);
}

Result<TenantId> ApiKeys::authenticate(std::string_view key) const {
  if (open()) return TenantId{0};
  const Digest digest = digest_of(key);
  // Every entry is compared and every comparison takes the same time, so that the answer's delay
  // says nothing about which key was close.
  std::uint32_t found = 0;
  for (const Entry& entry : entries_) {
    const int differs = CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size());
    found |= static_cast<std::uint32_t>(differs == 0) * entry.tenant.value;
  }
  if (found != 0) return TenantId{found};
  if (key.empty()) {
    return make_error(ErrorCode::kUnauthenticated, "missing_api_key",
                      "no API key: send it as 'Authorization: Bearer KEY'");
  }
  return make_error(ErrorCode::kUnauthenticated, "invalid_api_key",
                    "the API key is not known to this server");
}

}  // namespace tessera::admission
