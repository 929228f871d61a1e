// The worker's half of the protocol (media/wire.h): one request, then the end.
// @thread the worker's only thread
#pragma once

#include <functional>

#include "core/result.h"
#include "media/wire.h"
#include "sandbox/channel.h"

namespace tessera::media {

/// Takes the worker's rights away. Runs after the request's message and before the first byte of
/// any file is read; the one place where hardening goes.
using LockDown = std::function<Result<void>(const wire::OpenRequest&)>;

/// Answers one request until the other side closes.
/// @return  the process's exit code: 0 = the other side ended the conversation in order
int serve(sandbox::Channel& channel, const LockDown& lock_down);

}  // namespace tessera::media
