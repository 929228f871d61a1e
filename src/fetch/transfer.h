// One fetch inside the fetcher: up to four HTTP exchanges ("hops"), each with a fresh libcurl
// handle and a fresh connection.
//
//   URL ─▶ domain rules ─▶ libcurl resolves ─▶ address rules, on the address that connect() gets
//    ▲                                                            │
//    └──────── Location, parsed anew like the first URL ◀─ 30x ───┤─ 200 ─▶ output, counted
//
// libcurl follows no redirect itself, reads no environment, proxy, .netrc or cookie, decodes no
// content encoding, and keeps no connection: a kept one would not be checked again. Between the
// check of an address and its use lies no second resolution, so a name that changes its mind gains
// nothing. A transfer is immovable, because libcurl holds its address.
// @thread the fetcher's only thread
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "fetch/fetch_rules.h"
#include "fetch/wire.h"
#include "sandbox/memfd.h"

namespace tessera::fetch {

/// What a test replaces; the fetcher that is shipped has no way to change them.
struct FetchHooks {
  std::function<AddressVerdict(const sockaddr&, std::span<const AddressRange>)> judge =
      judge_address;
  /// Addresses of a name, as text; empty = libcurl asks the system.
  std::function<std::vector<std::string>(std::string_view host)> resolve;
  /// PEM; empty = the file that libcurl was built with.
  std::string trusted_certificates;
};

class Transfer {
 public:
  /// @param rules, hooks  outlive the transfer
  /// @param order         read here only
  /// @param output        writable
  Transfer(const FetchRules& rules, const FetchHooks& hooks, const wire::Order& order,
           sandbox::MappedRegion output);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// The next hop, ready for a multi handle. Null when the transfer ended instead: see outcome().
  CURL* start_hop();

  /// Takes the result of the hop, which is in no multi handle any more.
  /// @return  whether another hop is to be started
  bool finish_hop(CURLcode code);

  CURL* hop() const { return easy_.get(); }
  wire::Outcome outcome() const { return outcome_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int before_request(void* self, char* primary_ip, char* local_ip, int primary_port,
                            int local_port);
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t n, void* self);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t n, void* self);

  bool set_network_options();
  bool set_certificates();
  bool set_limits();
  bool set_addresses();
  std::optional<std::string> location() const;
  long status() const;
  bool follow_redirect();
  wire::Outcome failure(CURLcode code) const;
  void end(wire::Outcome outcome) { outcome_ = outcome; }

  const FetchRules& rules_;
  const FetchHooks& hooks_;
  wire::Order limits_;
  TimePoint deadline_;
  sandbox::MappedRegion output_;
  std::optional<FetchUrl> url_;  // of the current hop
  std::uint32_t n_redirects_ = 0;

  // The current hop.
  std::unique_ptr<curl_slist, FreeList> addresses_;  // before easy_, which reads it to its end
  std::unique_ptr<CURL, FreeEasy> easy_;
  bool connected_ = false;        // to an allowed address, TLS included
  bool address_refused_ = false;  // at least one
  bool body_too_large_ = false;
  bool header_too_large_ = false;
  std::size_t n_header_bytes_ = 0;
  std::size_t size_bytes_ = 0;

  wire::Outcome outcome_ = wire::Outcome::kFailed;
};

}  // namespace tessera::fetch
