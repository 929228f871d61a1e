#include "cli/cache_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/table_text.h"

namespace tessera::cli {
namespace {

using pipeline::CacheReport;
using pipeline::TenantUse;
using pipeline::TierReport;

constexpr std::size_t kNameWidthMin = 18;
constexpr std::size_t kColumnWidth = 14;

std::string cell(const std::string& text) {
  return right_aligned(text, kColumnWidth);
}

std::string size_of(std::size_t n_bytes) {
  return n_bytes == 0 ? "0 B" : bytes_text(static_cast<double>(n_bytes));
}

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

using Cell = std::string (*)(const TierReport& tier);

struct StatsRow {
  std::string_view name;
  bool is_of_server;  // a folder knows nothing of it
  Cell text;
};

constexpr std::array kRows = std::to_array<StatsRow>({
    {"entries", false, [](const TierReport& t) { return number(t.n_entries); }},
    {"size", false, [](const TierReport& t) { return size_of(t.n_bytes); }},
    {"room", true, [](const TierReport& t) { return size_of(t.bytes_max); }},
    {"oldest use", false,
     [](const TierReport& t) { return t.oldest_use ? age_text(*t.oldest_use) : "-"; }},
    {"hits", true, [](const TierReport& t) { return number(t.n_hits); }},
    {"misses", true, [](const TierReport& t) { return number(t.n_misses); }},
    {"encoding saved", true,
     [](const TierReport& t) { return decimal(to_seconds(t.saved), 1) + " s"; }},
    {"gone: for room", true, [](const TierReport& t) { return number(t.n_evicted); }},
    {"gone: expired", true, [](const TierReport& t) { return number(t.n_expired); }},
    {"gone: purged", true, [](const TierReport& t) { return number(t.n_forgotten); }},
    {"gone: unreadable", true, [](const TierReport& t) { return number(t.n_unreadable); }},
    {"never written", true, [](const TierReport& t) { return number(t.n_dropped); }},
    {"disk errors", true, [](const TierReport& t) { return number(t.n_errors); }},
});

}  // namespace

std::string age_text(Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  const auto minutes = seconds / 60;
  const auto hours = minutes / 60;
  const auto days = hours / 24;
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  if (hours < 24) return std::to_string(hours) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(days) + " d " + std::to_string(hours % 24) + " h";
}

CacheReport of_tenant(CacheReport report, const std::optional<std::string>& tenant) {
  if (!tenant) return report;
  for (TierReport& tier : report.tiers) {
    std::erase_if(tier.tenants, [&](const TenantUse& use) { return use.tenant != *tenant; });
  }
  return report;
}

std::string cache_stats_text(const CacheReport& report, bool is_folder) {
  std::ostringstream out;
  out << "  " << left_aligned("", 18);
  for (const TierReport& tier : report.tiers) out << cell(tier.tier);
  out << "\n  " << rule(18 + kColumnWidth * report.tiers.size()) << '\n';
  for (const StatsRow& row : kRows) {
    if (is_folder && row.is_of_server) continue;
    out << "  " << left_aligned(std::string(row.name), 18);
    for (const TierReport& tier : report.tiers) out << cell(row.text(tier));
    out << '\n';
  }
  for (const TierReport& tier : report.tiers) {
    if (!tier.on) {
      out << "\n  the " << tier.tier << " tier is off until the next start, after an error\n";
    }
  }
  return out.str();
}

std::string cache_list_text(const CacheReport& report, bool is_folder) {
  std::size_t name_width = kNameWidthMin;
  bool is_empty = true;
  for (const TierReport& tier : report.tiers) {
    for (const TenantUse& use : tier.tenants) {
      name_width = std::max(name_width, use.tenant.size());
      is_empty = false;
    }
  }
  if (is_empty) return "  nothing is in the cache\n";
  std::ostringstream out;
  out << "  " << left_aligned("tenant", name_width) << "  tier  " << right_aligned("entries", 9)
      << right_aligned("size", 10) << right_aligned("hits", 7) << right_aligned("last use", 12)
      << "\n  " << rule(name_width + 46) << '\n';
  for (const TierReport& tier : report.tiers) {
    for (const TenantUse& use : tier.tenants) {
      out << "  " << left_aligned(use.tenant, name_width) << "  " << left_aligned(tier.tier, 6)
          << right_aligned(number(use.n_entries), 9) << right_aligned(size_of(use.n_bytes), 10)
          << right_aligned(is_folder ? "-" : number(use.n_hits), 7)
          << right_aligned(age_text(use.last_use), 12) << '\n';
    }
  }
  return out.str();
}

std::string purge_text(const pipeline::ForgottenEntries& forgotten,
                       const std::optional<std::string>& tenant) {
  return tenant.value_or("everybody") + ": purged " + number(forgotten.n_memory) +
         " in memory and " + number(forgotten.n_disk) + " on disk\n";
}

}  // namespace tessera::cli
