#include "fetch/fetcher_program.h"

#include <malloc.h>
#include <unistd.h>

#include <utility>

#include "fetch/confinement.h"
#include "fetch/fetch_server.h"
#include "sandbox/child_process.h"

namespace tessera::fetch {
namespace {

constexpr int kExitNotConfined = 4;

}  // namespace

void run_fetcher(FetchHooks hooks) {
  // An arena for each resolver thread would use up the address space.
  ::mallopt(M_ARENA_MAX, 2);
  const auto confinement = Confinement::begin();
  if (!confinement) ::_exit(kExitNotConfined);
  if (hooks.trusted_certificates.empty()) hooks.trusted_certificates = trusted_certificates();
  sandbox::Channel channel{UniqueFd(sandbox::kChildChannelFd)};
  // No destructors, no exit handlers: nothing here outlives the process.
  ::_exit(serve(channel, hooks,
                [&](const FetchRules& rules) { return confinement->lock_down(rules); }));
}

}  // namespace tessera::fetch
