// tessera-media-worker: the zygote of the image decoders. Started by the server with one socket and
// nothing else; not for use by hand.
#include "media/codecs/serve.h"
#include "media/codecs/warm_up.h"
#include "sandbox/child_process.h"
#include "sandbox/zygote_loop.h"

namespace {

using tessera::sandbox::Channel;
using tessera::sandbox::Lockdown;
namespace media = tessera::media;

int serve_request(Channel& channel, const Lockdown& lockdown) {
  const auto lock_down = [&lockdown](const media::wire::OpenRequest& request) {
    return lockdown.apply({
        .address_space_bytes = request.address_space_bytes,
        .cpu_seconds = request.cpu_seconds,
        // The channel, the inputs that are open behind it, and one output at a time.
        .open_files = tessera::sandbox::kChildChannelFd + 1 + request.n_items + 1,
    });
  };
  return media::serve(channel, lock_down);
}

}  // namespace

int main() {
  tessera::sandbox::run_worker({media::warm_up, serve_request});
}
