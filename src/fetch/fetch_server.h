// The fetcher's half of the protocol (fetch/wire.h): one loop that waits for the server's messages
// and for the sockets of all transfers at once (libcurl multi), so that a cancelled fetch ends at
// once and a slow host holds up nobody.
//
// A message that does not fit ends the process: both halves come from one build, so it is a bug,
// and the server starts another one.
// @thread the fetcher's only thread
#pragma once

#include <functional>

#include "core/result.h"
#include "fetch/fetch_rules.h"
#include "fetch/transfer.h"
#include "sandbox/channel.h"

namespace tessera::fetch {

/// Confines the process once the rules are known, before the first order (confinement.h). Empty:
/// tests that serve on a thread of their own.
using LockDown = std::function<Result<void>(const FetchRules&)>;

/// Serves until the other side closes.
/// @return  the process's exit code: 0 = the other side ended the conversation in order
int serve(sandbox::Channel& channel, const FetchHooks& hooks = {}, const LockDown& lock_down = {});

}  // namespace tessera::fetch
