// main() of a fetcher program that the server's Dispatcher started.
// @thread the process's only thread
#pragma once

#include "fetch/transfer.h"

namespace tessera::fetch {

/// Confines the process, then serves until the server ends the conversation.
/// @param hooks  with nothing in trusted_certificates: those of the system
[[noreturn]] void run_fetcher(FetchHooks hooks);

}  // namespace tessera::fetch
