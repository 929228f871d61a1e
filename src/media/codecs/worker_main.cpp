// tessera-media-worker: decodes the images of one request and exits. Started by the server with one
// socket and nothing else; not for use by hand.
#include <unistd.h>

#include "media/codecs/serve.h"
#include "sandbox/channel.h"
#include "sandbox/child_limits.h"
#include "sandbox/child_process.h"

namespace {

using tessera::Result;
using tessera::UniqueFd;

Result<void> lock_down(const tessera::media::wire::OpenRequest& request) {
  return tessera::sandbox::restrict_self({
      .address_space_bytes = request.address_space_bytes,
      .cpu_seconds = request.cpu_seconds,
      // The channel, the inputs that are open behind it, and one output at a time.
      .open_files = tessera::sandbox::kChildChannelFd + 1 + request.n_items + 1,
  });
}

}  // namespace

int main() {
  tessera::sandbox::Channel channel{UniqueFd(tessera::sandbox::kChildChannelFd)};
  // No destructors, no exit handlers: nothing here outlives the process.
  ::_exit(tessera::media::serve(channel, lock_down));
}
