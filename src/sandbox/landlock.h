// Landlock: no path can be opened, made, removed or executed, no TCP port bound or connected to, no
// signal sent out of the domain, but for what is granted. What is open stays usable.
// @thread the process's only thread; threads and children inherit it; there is no way back
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::sandbox {

struct LandlockGrants {
  std::vector<std::string> readable;         // files, or folders with all that is below them;
                                             // missing ones are left out
  std::vector<std::uint16_t> connect_ports;  // TCP
};

/// Denies all that the running kernel's Landlock can deny and the grants do not name. Needs
/// PR_SET_NO_NEW_PRIVS.
/// @return  the ABI version in force; 0 = this kernel has none, or has it switched off
int restrict_by_landlock(const LandlockGrants& grants);

inline int deny_all_by_landlock() {
  return restrict_by_landlock({});
}

}  // namespace tessera::sandbox
