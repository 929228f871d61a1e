#include "fetch/transfer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace tessera::fetch {
namespace {

using std::chrono::milliseconds;
using wire::Outcome;

constexpr long kStatusOk = 200;

/// Sets options of one handle and remembers whether all were accepted: an option that is silently
/// missing would be a hole.
class OptionSetter {
 public:
  explicit OptionSetter(CURL* easy) : easy_(easy) {}

  template <typename T>
  OptionSetter& set(CURLoption option, T value) {
    all_set_ = curl_easy_setopt(easy_, option, value) == CURLE_OK && all_set_;
    return *this;
  }

  bool all_set() const { return all_set_; }

 private:
  CURL* easy_;
  bool all_set_ = true;
};

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

ParsedUrl url_of(const wire::Order& order, const UrlPolicy& policy) {
  if (order.n_url_bytes > order.url.size()) return {};
  return parse_url({order.url.data(), order.n_url_bytes}, policy);
}

/// A host that libcurl does not look up.
bool is_address(std::string_view host) {
  return host.starts_with('[') || parse_address(host).has_value();
}

}  // namespace

Transfer::Transfer(const FetchRules& rules, const FetchHooks& hooks, const wire::Order& order,
                   sandbox::MappedRegion output)
    : rules_(rules),
      hooks_(hooks),
      limits_(order),
      deadline_(std::chrono::steady_clock::now() + milliseconds(order.total_timeout_ms)),
      output_(std::move(output)),
      url_(url_of(order, rules.urls).url) {
  limits_.bytes_max = std::min<std::uint64_t>(limits_.bytes_max, output_.writable_bytes().size());
}

CURL* Transfer::start_hop() {
  easy_.reset();
  addresses_.reset();
  connected_ = address_refused_ = body_too_large_ = header_too_large_ = false;
  n_header_bytes_ = size_bytes_ = 0;
  if (!url_) {
    end(Outcome::kUrlRefused);
    return nullptr;
  }
  if (!rules_.domains.allows(url_->host())) {
    end(Outcome::kDomainRefused);
    return nullptr;
  }
  easy_.reset(curl_easy_init());
  if (easy_ == nullptr || !set_network_options() || !set_certificates() || !set_limits()) {
    easy_.reset();
    end(Outcome::kFailed);
    return nullptr;
  }
  if (!set_addresses()) {
    easy_.reset();
    end(Outcome::kNotResolved);
    return nullptr;
  }
  return easy_.get();
}

bool Transfer::set_network_options() {
  OptionSetter options(easy_.get());
  options.set(CURLOPT_URL, url_->curl_text().c_str())
      .set(CURLOPT_PROTOCOLS_STR, rules_.urls.allow_http ? "http,https" : "https")
      .set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
      .set(CURLOPT_FOLLOWLOCATION, 0L)
      .set(CURLOPT_PATH_AS_IS, 1L)  // what was checked is what is sent
      .set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L)
      .set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1})  // one parser less
      .set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2})
      .set(CURLOPT_PROXY, "")
      .set(CURLOPT_NOPROXY, "*")
      .set(CURLOPT_NETRC, long{CURL_NETRC_IGNORED})
      .set(CURLOPT_FRESH_CONNECT, 1L)
      .set(CURLOPT_FORBID_REUSE, 1L)
      .set(CURLOPT_DNS_CACHE_TIMEOUT, 0L)
      .set(CURLOPT_QUICK_EXIT, 1L)  // a cancelled fetch does not wait for its resolver thread
      .set(CURLOPT_NOSIGNAL, 1L)
      .set(CURLOPT_VERBOSE, 0L)
      .set(CURLOPT_USERAGENT, "tessera")  // large sites refuse requests without one
      .set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket)
      .set(CURLOPT_OPENSOCKETDATA, this)
      .set(CURLOPT_PREREQFUNCTION, &Transfer::before_request)
      .set(CURLOPT_PREREQDATA, this)
      .set(CURLOPT_HEADERFUNCTION, &Transfer::take_header)
      .set(CURLOPT_HEADERDATA, this)
      .set(CURLOPT_WRITEFUNCTION, &Transfer::take_body)
      .set(CURLOPT_WRITEDATA, this);
  return options.all_set();
}

bool Transfer::set_certificates() {
  OptionSetter options(easy_.get());
  options.set(CURLOPT_SSL_VERIFYPEER, 1L)
      .set(CURLOPT_SSL_VERIFYHOST, 2L)
      .set(CURLOPT_CAPATH, nullptr);  // a folder to read from; one file has them all
  const std::string& trusted = hooks_.trusted_certificates;
  if (trusted.empty()) return options.all_set();
  // Not copied: the hooks outlive the handle. libcurl does not write.
  curl_blob blob{const_cast<char*>(trusted.data()), trusted.size(), CURL_BLOB_NOCOPY};
  return options.set(CURLOPT_CAINFO_BLOB, &blob).all_set();
}

bool Transfer::set_limits() {
  // Zero means "no limit" to libcurl.
  const auto left = std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(
                                                  deadline_ - std::chrono::steady_clock::now()));
  OptionSetter options(easy_.get());
  options.set(CURLOPT_TIMEOUT_MS, long{left.count()})
      .set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, long{limits_.connect_timeout_ms}))
      .set(CURLOPT_LOW_SPEED_LIMIT, long{limits_.low_speed_bytes_per_second})
      .set(CURLOPT_LOW_SPEED_TIME, std::max(1L, long{limits_.low_speed_seconds}))
      // Ends a fetch early whose length is said; take_body() counts in any case.
      .set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits_.bytes_max));
  return options.all_set();
}

bool Transfer::set_addresses() {
  if (!hooks_.resolve || is_address(url_->host())) return true;
  const auto resolved = hooks_.resolve(url_->host());
  if (resolved.empty()) return false;
  std::string entry = url_->host() + ":" + std::to_string(url_->port()) + ":";
  for (std::size_t i = 0; i < resolved.size(); ++i) entry += (i > 0 ? "," : "") + resolved[i];
  addresses_.reset(curl_slist_append(nullptr, entry.c_str()));
  return OptionSetter(easy_.get()).set(CURLOPT_RESOLVE, addresses_.get()).all_set();
}

curl_socket_t Transfer::open_socket(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  const auto verdict = transfer.hooks_.judge(address->addr, transfer.rules_.denied_addresses);
  if (verdict != AddressVerdict::kPublic) {
    transfer.address_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// The same check once more on what the socket says it is connected to, before a byte is sent.
int Transfer::before_request(void* self, char* primary_ip, char* /*local_ip*/, int /*primary_port*/,
                             int /*local_port*/) {
  auto& transfer = *static_cast<Transfer*>(self);
  const auto address = parse_address(primary_ip != nullptr ? primary_ip : "");
  if (!address) return CURL_PREREQFUNC_ABORT;
  const auto verdict = transfer.hooks_.judge(reinterpret_cast<const sockaddr&>(*address),
                                             transfer.rules_.denied_addresses);
  if (verdict != AddressVerdict::kPublic) {
    transfer.address_refused_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  transfer.connected_ = true;
  return CURL_PREREQFUNC_OK;
}

std::size_t Transfer::take_header(char* /*bytes*/, std::size_t size, std::size_t n, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.n_header_bytes_ += size * n;  // interim answers and trailers too
  if (transfer.n_header_bytes_ <= transfer.limits_.header_bytes_max) return size * n;
  transfer.header_too_large_ = true;
  return 0;
}

std::size_t Transfer::take_body(char* bytes, std::size_t size, std::size_t n, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t n_bytes = size * n;
  // Nobody reads the page that comes with an error or a redirect.
  if (transfer.status() != kStatusOk) return 0;
  if (n_bytes > transfer.limits_.bytes_max - transfer.size_bytes_) {
    transfer.body_too_large_ = true;
    return 0;
  }
  const auto room = transfer.output_.writable_bytes().subspan(transfer.size_bytes_, n_bytes);
  std::memcpy(room.data(), bytes, n_bytes);
  transfer.size_bytes_ += n_bytes;
  return n_bytes;
}

long Transfer::status() const {
  long code = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::optional<std::string> Transfer::location() const {
  curl_header* header = nullptr;
  const auto code = curl_easy_header(easy_.get(), "location", 0, CURLH_HEADER, -1, &header);
  // Of two locations nobody knows which one counts.
  if (code != CURLHE_OK || header->amount != 1) return std::nullopt;
  return std::string(header->value);
}

bool Transfer::follow_redirect() {
  if (n_redirects_ >= limits_.redirects_max) {
    end(Outcome::kRedirectsTooMany);
    return false;
  }
  const auto target = location();
  ParsedUrl next = target ? parse_redirect(*url_, *target, rules_.urls) : ParsedUrl{};
  if (!next.url) {
    end(Outcome::kUrlRefused);
    return false;
  }
  ++n_redirects_;
  url_ = std::move(next.url);
  return true;
}

Outcome Transfer::failure(CURLcode code) const {
  if (header_too_large_) return Outcome::kHeadersTooLarge;
  if (body_too_large_) return Outcome::kTooLarge;
  if (connected_ && code == CURLE_OPERATION_TIMEDOUT) return Outcome::kTimeout;
  // Last, because a host may have other addresses, which were tried.
  if (!connected_ && address_refused_) return Outcome::kAddressRefused;
  if (code == CURLE_COULDNT_RESOLVE_HOST) return Outcome::kNotResolved;
  return Outcome::kNetworkFailed;
}

bool Transfer::finish_hop(CURLcode code) {
  const long http_status = status();
  const bool body_left = code == CURLE_WRITE_ERROR || code == CURLE_FILESIZE_EXCEEDED;
  const bool has_head = code == CURLE_OK || (body_left && !header_too_large_);
  if (has_head && is_redirect(http_status)) return follow_redirect();
  if (has_head && http_status != kStatusOk) {
    end(Outcome::kStatusRefused);
  } else if (code == CURLE_FILESIZE_EXCEEDED) {
    end(Outcome::kTooLarge);
  } else {
    end(code == CURLE_OK ? Outcome::kFetched : failure(code));
  }
  return false;
}

}  // namespace tessera::fetch
