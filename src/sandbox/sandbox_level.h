// How well the image decoders are confined: found out once by each zygote, by trying.
//
//   level  namespaces  Landlock  system-call filter  resource limits
//   A      yes         if there  yes                 yes
//   B      no          if there  yes                 yes
//   C      -           -         no, or it leaks     yes
//
// In A and B a decoder that an attacker runs has no files, no network, no signals and no new
// processes. A adds a second layer against a bug of the kernel's own. C is no confinement: it has
// to be asked for (ZygoteOptions::allow_unsafe). docs/security.md says what each level is worth.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::sandbox {

/// Crosses the border between zygote and server; a value outside is a broken zygote.
enum class SandboxLevel : std::uint32_t { kA, kB, kC };

/// "A", "B", "C".
constexpr std::string_view to_string(SandboxLevel level) {
  switch (level) {
    case SandboxLevel::kA:
      return "A";
    case SandboxLevel::kB:
      return "B";
    case SandboxLevel::kC:
      return "C";
  }
  return "?";
}

}  // namespace tessera::sandbox
