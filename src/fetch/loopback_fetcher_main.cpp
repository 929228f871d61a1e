// tessera-fetcher for tests: every name is 127.0.0.1, that address counts as public, and a file
// NAME.pem beside the program NAME is what it trusts. All other rules, and the confinement, are
// those of the program that is shipped.
//
// A test can have it do what an attacker in it would, by the name of a host.
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "fetch/fetcher_program.h"
#include "fetch/loopback_hooks.h"
#include "fetch/own_addresses.h"

namespace {

using Addresses = std::vector<std::string>;

const Addresses kHome{"127.0.0.1"};

/// As libcurl does for a name that no test replaces: on a thread of its own. The name is one that
/// needs no network.
void look_up_a_name() {
  std::jthread([] {
    addrinfo* found = nullptr;
    if (::getaddrinfo("localhost", "80", nullptr, &found) == 0) ::freeaddrinfo(found);
  });
}

Addresses resolve(std::string_view host) {
  std::array<char*, 1> none{nullptr};
  if (host == "starts-a-program.example.com") ::execve("/bin/true", none.data(), none.data());
  if (host == "opens-a-file.example.com") {
    const int fd = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? kHome : Addresses{};
  }
  look_up_a_name();
  return kHome;
}

tessera::fetch::AddressVerdict judge(const sockaddr& address,
                                     std::span<const tessera::fetch::AddressRange> denied) {
  // As the shipped program asks; the answer would be yes.
  (void)tessera::fetch::is_own_address(address);
  return tessera::fetch::judge_loopback(address, denied);
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

int main(int /*argc*/, char** argv) {
  tessera::fetch::run_fetcher({.judge = judge,
                               .resolve = resolve,
                               .trusted_certificates = text_of(std::string(argv[0]) + ".pem")});
}
