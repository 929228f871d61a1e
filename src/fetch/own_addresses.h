// Whether an address is one of this machine's own: a server that has a public address must not
// fetch from itself, behind its own front proxy.
// @thread any
#pragma once

#include <sys/socket.h>

namespace tessera::fetch {

/// Asks the system each time, because interfaces come and go.
/// @param address  as large as its family needs
/// @return         true also when the system does not say: the careful answer
bool is_own_address(const sockaddr& address);

}  // namespace tessera::fetch
