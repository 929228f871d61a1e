#include "media/codecs/last_words.h"

#include <unistd.h>

#include <atomic>

namespace tessera::media {
namespace {

// Constant-initialised: an allocation may fail before anything is constructed.
constinit std::atomic<const LastWords*> words = nullptr;
constinit std::atomic<bool> ends = false;

}  // namespace

LastWords::LastWords(sandbox::Channel& channel) : channel_(channel) {
  words = this;
}

LastWords::~LastWords() {
  words = nullptr;
}

void LastWords::set(wire::ProbeReply reply) {
  reply.error = wire::MediaError::kOutOfMemory;
  reply_ = reply;
}

void LastWords::set(wire::DecodeReply reply) {
  reply.error = wire::MediaError::kOutOfMemory;
  reply_ = reply;
}

void LastWords::say() const noexcept {
  if (const auto* probed = std::get_if<wire::ProbeReply>(&reply_)) {
    (void)channel_.send(*probed, {});
  } else if (const auto* decoded = std::get_if<wire::DecodeReply>(&reply_)) {
    (void)channel_.send(*decoded, {});
  }
}

void end_without_memory() noexcept {
  // A decoder's other threads wait for the first one's end, which is theirs.
  while (ends.exchange(true)) {
  }
  if (const LastWords* const last = words) last->say();
  ::_exit(kExitWithoutMemory);
}

}  // namespace tessera::media
