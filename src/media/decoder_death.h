// How a decoder ended that did not end in order. A closed set: these are values of a metric's
// label.
#pragma once

#include <array>
#include <csignal>
#include <optional>
#include <string_view>

#include "sandbox/child_process.h"

namespace tessera::media {

enum class DecoderDeath {
  kForbiddenCall,  // SIGSYS: it made a system call that no decoder makes; an alarm
  kSignal,         // crashed, or was killed by the kernel
  kExit,           // ended by itself, too early
  kTimeout,        // was killed at its deadline
  kProtocol,       // was killed because its replies made no sense
  kLost,           // its zygote ended, and it with it
};

inline constexpr std::array kDecoderDeaths{DecoderDeath::kForbiddenCall, DecoderDeath::kSignal,
                                           DecoderDeath::kExit,          DecoderDeath::kTimeout,
                                           DecoderDeath::kProtocol,      DecoderDeath::kLost};

/// "forbidden_call", …
constexpr std::string_view to_string(DecoderDeath death) {
  switch (death) {
    case DecoderDeath::kForbiddenCall:
      return "forbidden_call";
    case DecoderDeath::kSignal:
      return "signal";
    case DecoderDeath::kExit:
      return "exit";
    case DecoderDeath::kTimeout:
      return "timeout";
    case DecoderDeath::kProtocol:
      return "protocol";
    case DecoderDeath::kLost:
      return "lost";
  }
  return "?";
}

/// Of a child that went away by itself.
/// @param status  nothing = nobody can say
inline DecoderDeath death_by(const std::optional<sandbox::ExitStatus>& status) {
  if (!status) return DecoderDeath::kLost;
  if (status->kind == sandbox::ExitStatus::Kind::kExited) return DecoderDeath::kExit;
  return status->value == SIGSYS ? DecoderDeath::kForbiddenCall : DecoderDeath::kSignal;
}

}  // namespace tessera::media
