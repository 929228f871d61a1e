// tessera-fetcher for tests: every name is 127.0.0.1, and that address counts as public. All other
// rules are those of the program that is shipped.
#include <unistd.h>

#include "fetch/fetch_server.h"
#include "fetch/loopback_hooks.h"
#include "sandbox/child_process.h"

int main() {
  tessera::sandbox::Channel channel{tessera::UniqueFd(tessera::sandbox::kChildChannelFd)};
  ::_exit(tessera::fetch::serve(channel, tessera::fetch::loopback_hooks()));
}
