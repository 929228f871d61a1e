// One call to /admin of a running server, for the command line. Over http: alone: the key goes
// through a network as it is, so that a server elsewhere is asked through a tunnel.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace tessera::api {

struct AdminAddress {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
};

/// "http://127.0.0.1:8080", also with a slash at its end, and without a port for 80.
/// @errors  invalid_argument (`bad_command_line`)
Result<AdminAddress> parse_admin_url(std::string_view url);

/// @param method  "GET" or "DELETE"
/// @param target  path and query, encoded
/// @return  the body of a 200
/// @errors  unavailable (`server_unreachable`, `bad_answer`); what the server says is wrong
/// @thread  the caller's; waits for half a minute at most
Result<std::string> call_admin(const AdminAddress& address, std::string_view method,
                               std::string_view target, std::string_view key);

/// For a value of a query: everything but letters, digits and "-._~" as %XX.
std::string percent_encode(std::string_view text);

}  // namespace tessera::api
