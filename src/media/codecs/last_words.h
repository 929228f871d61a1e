// What a worker's child does when an allocation fails: it says so in the reply that is due, and
// ends. The library that asked for memory is not told.
//
// Hardly anybody tries what a library does then. Of ours, lcms2 follows a null pointer, libwebp
// frees what it never had, libavif calls abort() (a forbidden call, and so an alarm), and several
// have one error for a damaged file and for memory, which blames a sound one. Whoever sends a file
// can choose at which allocation the child's limit is reached; so none of that may run.
//
// The worker programs' allocator (worker_memory_main.cpp) calls end_without_memory().
// @thread LastWords: the worker's only thread, or its first; end_without_memory: any
#pragma once

#include <variant>

#include "media/wire.h"
#include "sandbox/channel.h"

namespace tessera::media {

/// Exit code of a child that no reply was due of.
inline constexpr int kExitWithoutMemory = 4;

/// The reply that is due, in case that it cannot be made. At most one object in a process.
class LastWords {
 public:
  /// @param channel  outlives it
  explicit LastWords(sandbox::Channel& channel);
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

  /// @param reply  says the item; its error becomes kOutOfMemory
  void set(wire::ProbeReply reply);
  void set(wire::DecodeReply reply);

  /// No reply is due: it was made.
  void clear() { reply_ = std::monostate(); }

  /// Sends what is due. Allocates nothing.
  void say() const noexcept;

 private:
  sandbox::Channel& channel_;
  std::variant<std::monostate, wire::ProbeReply, wire::DecodeReply> reply_;
};

/// Says the last words, if there are any, and ends the process.
[[noreturn]] void end_without_memory() noexcept;

}  // namespace tessera::media
