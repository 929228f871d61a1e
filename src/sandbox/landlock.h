// Landlock without a single rule: no path can be opened, made, removed or executed, no TCP port
// bound or connected to, no signal sent out of the domain. What is open stays usable.
// @thread the process's only thread; children inherit it; there is no way back
#pragma once

namespace tessera::sandbox {

/// Denies all that the running kernel's Landlock can deny. Needs PR_SET_NO_NEW_PRIVS.
/// @return  the ABI version in force; 0 = this kernel has none, or has it switched off
int deny_all_by_landlock();

}  // namespace tessera::sandbox
