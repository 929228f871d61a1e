// Where the running program lies: its helpers are beside it.
// @thread any
#pragma once

#include <filesystem>
#include <system_error>

namespace tessera::app {

/// Links are followed; "." when the system does not say.
inline std::filesystem::path program_folder() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path(".") : program.parent_path();
}

}  // namespace tessera::app
