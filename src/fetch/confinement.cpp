#include "fetch/confinement.h"

#include <curl/curl.h>
#include <netdb.h>
#include <nss.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/limits.h"
#include "fetch/wire.h"
#include "sandbox/child_limits.h"
#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"

namespace tessera::fetch {
namespace {

// wire::kFetchesMax outputs of the default size are 640 MiB; a resolver thread's stack is 8 MiB.
constexpr std::uint64_t kAddressSpaceBytes = 4096 * kMiB;

// Per fetch: output while it is mapped, two sockets while libcurl races IPv6 against IPv4, and the
// resolver's own; then interface lists.
constexpr std::uint64_t kOpenFiles = 16 * wire::kFetchesMax;

constexpr std::uint16_t kDnsPort = 53;  // by TCP, for long answers

constexpr const char* kResolverFile = "/etc/resolv.conf";

// What glibc reads when it looks up a name.
constexpr std::array kNameFiles{kResolverFile, "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
                                "/etc/nsswitch.conf"};

/// Files are granted as they are now: one that is written anew in its place stays readable, one
/// that is replaced does not. A resolver's own service replaces, but then in a folder of its own,
/// with a link to it from /etc.
std::vector<std::string> name_files() {
  std::vector<std::string> files(kNameFiles.begin(), kNameFiles.end());
  std::error_code failed;
  const auto folder = std::filesystem::canonical(kResolverFile, failed).parent_path();
  if (!failed && folder != "/etc" && folder.has_relative_path()) files.push_back(folder);
  return files;
}

void warm_up() {
  ::__nss_configure_lookup("hosts", "files dns");
  ::tzset();  // dates of certificates
  addrinfo* found = nullptr;
  // Every system has it in /etc/hosts, so nobody is asked.
  if (::getaddrinfo("localhost", nullptr, nullptr, &found) == 0) ::freeaddrinfo(found);
}

}  // namespace

Result<Confinement> Confinement::begin() {
  // A connection that its far end has closed.
  std::signal(SIGPIPE, SIG_IGN);
  // Before the limits: building it writes to a memfd.
  TSR_ASSIGN_OR_RETURN(auto filter, sandbox::SeccompFilter::build(sandbox::CallList::kFetcher));
  sandbox::give_up_root();
  sandbox::drop_capabilities();
  TSR_RETURN_IF_ERROR(sandbox::restrict_self({
      .address_space_bytes = kAddressSpaceBytes,
      // It lives as long as the server; restrict_self adds one second.
      .cpu_seconds = std::numeric_limits<std::uint64_t>::max() - 1,
      .open_files = kOpenFiles,
      .may_start_threads = true,
  }));
  warm_up();
  return Confinement(std::move(filter));
}

Result<void> Confinement::lock_down(const FetchRules& rules) const {
  sandbox::LandlockGrants grants{name_files(), rules.urls.ports};
  grants.connect_ports.push_back(kDnsPort);
  sandbox::restrict_by_landlock(grants);  // where the kernel has it
  return filter_.install();
}

std::string trusted_certificates() {
  const char* path = curl_version_info(CURLVERSION_NOW)->cainfo;
  if (path == nullptr) return {};
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace tessera::fetch
