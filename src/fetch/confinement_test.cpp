// What a confined fetcher can still do, and what not, in forked processes. The forbidden system
// calls are in sandbox/fetcher_calls_test.cpp.
#include "fetch/confinement.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "core/unique_fd.h"

namespace tessera::fetch {
namespace {

constexpr std::uint16_t kAllowedPort = 8443;

/// 0 = this kernel has no Landlock.
int landlock_version() {
  const auto version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  return version < 0 ? 0 : static_cast<int>(version);
}

/// A name server on loopback: every name is 127.0.0.1, and has no IPv6 address.
class NameServer {
 public:
  NameServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address_);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
  }

  const sockaddr_in& address() const { return address_; }

  /// Answers until the process ends; its wait status.
  int serve(pid_t client) const {
    const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, client, 0)));
    std::array<pollfd, 2> entries{pollfd{socket_.get(), POLLIN, 0}, pollfd{ended.get(), POLLIN, 0}};
    while (::poll(entries.data(), entries.size(), -1) > 0 && entries[1].revents == 0) answer();
    int status = 0;
    EXPECT_EQ(::waitpid(client, &status, 0), client);
    return status;
  }

 private:
  void answer() const {
    constexpr std::size_t kHeaderBytes = 12;
    constexpr std::array<std::uint8_t, 16> kHome{0xC0, 12, 0, 1, 0,   1, 0, 0,
                                                 0,    60, 0, 4, 127, 0, 0, 1};
    std::array<std::uint8_t, 512> query{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    auto* generic = reinterpret_cast<sockaddr*>(&from);
    const ssize_t n = ::recvfrom(socket_.get(), query.data(), query.size(), 0, generic, &size);
    if (n < static_cast<ssize_t>(kHeaderBytes)) return;
    std::size_t end = kHeaderBytes;
    while (end < static_cast<std::size_t>(n) && query[end] != 0) end += query[end] + 1U;
    const bool wants_v4 = query[end + 2] == 1;
    std::vector<std::uint8_t> reply(query.data(), query.data() + end + 5);
    reply[2] = 0x81;  // an answer to a recursive query
    reply[3] = 0x80;
    reply[7] = wants_v4 ? 1 : 0;
    reply[11] = 0;  // no additional record
    if (wants_v4) reply.insert(reply.end(), kHome.begin(), kHome.end());
    ::sendto(socket_.get(), reply.data(), reply.size(), 0, generic, size);
  }

  UniqueFd socket_;
  sockaddr_in address_{};
};

/// The wait status of a child that is confined and then does `deed`; 0 = it did and returned true.
template <typename Deed>
int end_confined(const NameServer& names, Deed deed) {
  const pid_t child = ::fork();
  if (child == 0) {
    FetchRules rules;
    rules.urls.ports = {kAllowedPort};
    const auto confinement = Confinement::begin();
    if (!confinement || !confinement->lock_down(rules)) ::_exit(2);
    ::_exit(deed() ? 0 : 1);
  }
  return names.serve(child);
}

/// On a thread of its own, as libcurl does.
bool look_up(const char* name, const sockaddr_in& server) {
  bool found_home = false;
  std::jthread thread([&] {
    ::res_init();
    _res.nscount = 1;
    _res.nsaddr_list[0] = server;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name, "443", nullptr, &found) != 0) return;
    sockaddr_in address{};
    if (found->ai_family == AF_INET) std::memcpy(&address, found->ai_addr, sizeof address);
    found_home = address.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    ::freeaddrinfo(found);
  });
  thread.join();
  return found_home;
}

int errno_of_connect(std::uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket.get(), generic, sizeof address) == 0 ? 0 : errno;
}

bool can_read(const char* path) {
  return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)).get() >= 0;
}

TEST(Confinement, NamesAreStillLookedUpByDns) {
  const NameServer names;
  EXPECT_EQ(end_confined(names, [&] { return look_up("cdn.example.com", names.address()); }), 0);
}

TEST(Confinement, OfTheSystemsFilesOnlyThoseAboutNamesCanBeRead) {
  const NameServer names;
  const bool hidden = landlock_version() > 0;
  EXPECT_EQ(end_confined(names,
                         [&] {
                           return can_read("/etc/hosts") && can_read("/etc/resolv.conf") &&
                                  can_read("/etc/passwd") != hidden &&
                                  can_read("/proc/self/status") != hidden;
                         }),
            0);
}

TEST(Confinement, TcpPortsBesideThoseOfTheRulesAndDnsCannotBeConnectedTo) {
  const NameServer names;
  const bool ports_are_checked = landlock_version() >= 4;
  EXPECT_EQ(end_confined(names,
                         [&] {
                           const int other = errno_of_connect(kAllowedPort + 1);
                           return errno_of_connect(kAllowedPort) != EACCES &&
                                  errno_of_connect(53) != EACCES &&
                                  (other == EACCES) == ports_are_checked;
                         }),
            0);
}

TEST(Confinement, TheSystemsCertificatesAreFound) {
  EXPECT_NE(trusted_certificates().find("-----BEGIN CERTIFICATE-----"), std::string::npos);
}

}  // namespace
}  // namespace tessera::fetch
