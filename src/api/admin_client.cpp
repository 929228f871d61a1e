#include "api/admin_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "api/cache_json.h"
#include "core/ascii.h"

namespace tessera::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// A purge of everybody syncs two folders a tenant.
constexpr std::chrono::seconds kTimeout{30};

// Figures of 4096 tenants in two tiers are 2 MB.
constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{16} << 20U;

constexpr std::string_view kScheme = "http://";

Error bad_url() {
  return make_error(ErrorCode::kInvalidArgument, "bad_command_line",
                    "--url: must be like http://127.0.0.1:8080");
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && port != 0;
}

struct Answer {
  bool came = false;
  int status = 0;
  std::string body;
};

using Request = http::request<http::empty_body>;

asio::awaitable<void> exchange(const AdminAddress& address, const Request& request,
                               Answer& answer) {
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  const auto [not_resolved, endpoints] =
      co_await resolver.async_resolve(address.host, address.port, kTuple);
  if (not_resolved) co_return;
  beast::tcp_stream stream(executor);
  stream.expires_after(kTimeout);
  const auto [not_connected, endpoint] = co_await stream.async_connect(endpoints, kTuple);
  if (not_connected) co_return;
  const auto [not_written, n_written] = co_await http::async_write(stream, request, kTuple);
  if (not_written) co_return;
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  const auto [not_read, n_read] = co_await http::async_read(stream, buffer, parser, kTuple);
  if (not_read) co_return;
  answer.came = true;
  answer.status = static_cast<int>(parser.get().result_int());
  answer.body = std::move(parser.get().body());
}

}  // namespace

Result<AdminAddress> parse_admin_url(std::string_view url) {
  if (url.size() < kScheme.size() ||
      !equals_ignoring_case(url.substr(0, kScheme.size()), kScheme)) {
    return bad_url();
  }
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  AdminAddress address{{}, "80"};
  std::string_view host = url;
  const std::size_t bracket = url.rfind(']');
  const std::size_t colon = url.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    host = url.substr(0, colon);
    address.port = std::string(url.substr(colon + 1));
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_plain = std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '.' ||
           c == '-' || c == ':' || c == '_';
  });
  if (host.empty() || !is_plain || !is_port(address.port)) return bad_url();
  address.host = std::string(host);
  return address;
}

Result<std::string> call_admin(const AdminAddress& address, std::string_view method,
                               std::string_view target, std::string_view key) {
  Request request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target({target.data(), target.size()});
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + address.host + "]" : address.host;
  request.set(http::field::host, host + ":" + address.port);
  request.set(http::field::connection, "close");
  if (!key.empty()) request.set(http::field::authorization, "Bearer " + std::string(key));
  Answer answer;
  asio::io_context context(1);
  asio::co_spawn(context, exchange(address, request, answer), asio::detached);
  context.run();
  if (!answer.came) {
    return make_error(ErrorCode::kUnavailable, "server_unreachable",
                      "no server answers at http://" + host + ":" + address.port);
  }
  if (answer.status != 200) return parse_error(answer.body, answer.status);
  return answer.body;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const char lower = ascii_lower(c);
    const bool is_plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4U];
    encoded += kHex[byte & 0xFU];
  }
  return encoded;
}

}  // namespace tessera::api
