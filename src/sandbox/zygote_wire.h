// What the server and a zygote say to each other.
//
//   server                                     zygote
//                                          ◀─  HelloMessage, once, when it is locked down
//   ForkMessage + data end + life end      ─▶  forks
//                                              on the child's life channel:
//                                          ◀─  kStarted, or kRefused and the end
//   closes its life end = kill             ─▶  SIGKILL, reap
//                                          ◀─  kExited or kSignalled, once the child is reaped
//   closes the main channel                ─▶  kills all, exits
//
// The zygote believes the server. The server checks the zygote's few fields, because a child that
// broke out would look like one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sandbox/sandbox_level.h"

namespace tessera::sandbox::wire {

/// Guards against a server and a worker program of different builds.
inline constexpr std::uint32_t kVersion = 1;

/// Children at once. The server has at most 64 media threads with one child each; a thread may ask
/// for its next child before the last one is reaped.
inline constexpr std::size_t kChildrenMax = 128;

struct HelloMessage {
  std::uint32_t version = kVersion;
  SandboxLevel level{};
};

struct ForkMessage {
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
};

enum class LifeEvent : std::uint32_t {
  kStarted = 1,
  kRefused,    // value: an errno; EAGAIN = as many children as may be
  kExited,     // value: the exit code
  kSignalled,  // value: the signal's number
};

struct LifeMessage {
  LifeEvent event{};
  std::int32_t value = 0;
};

}  // namespace tessera::sandbox::wire
