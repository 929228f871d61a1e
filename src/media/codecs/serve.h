// The worker's half of the protocol (media/wire.h): one request, then the end. The same for each
// class of decoder; what differs comes as a Decoder.
// @thread the worker's only thread
#pragma once

#include <functional>

#include "core/result.h"
#include "media/codecs/decoder.h"
#include "media/wire.h"
#include "sandbox/allowed_calls.h"
#include "sandbox/channel.h"

namespace tessera::media {

/// Takes the worker's rights away. Runs after the request's message and before the first byte of
/// any file is read; the one place where hardening goes.
using LockDown = std::function<Result<void>(const wire::OpenRequest&)>;

/// Answers one request until the other side closes.
/// @return  the process's exit code: 0 = the other side ended the conversation in order
int serve(sandbox::Channel& channel, const Decoder& decoder, const LockDown& lock_down);

/// What one worker program is: the same program around another decoder.
struct DecoderProgram {
  Decoder decoder;
  /// Before anything is locked: loads what a child could not load later.
  void (*warm_up)() = nullptr;
  sandbox::CallList calls = sandbox::CallList::kDecoder;
};

/// main() of a worker program: the zygote of one class.
[[noreturn]] void run_decoder_program(const DecoderProgram& program);

}  // namespace tessera::media
