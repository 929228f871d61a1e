// A test's own link to a fetcher program. The programs read from their own name what they shall do,
// and what lies beside it; tests run side by side, so that a name is one process's alone.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tessera::fetch {

/// A place called `name` in a folder of this process; what lay there is removed.
inline std::filesystem::path own_program_path(const std::string& name) {
  const std::filesystem::path folder =
      ::testing::TempDir() + "tessera-fetch-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / name);
  return folder / name;
}

/// A link called `name` to `program`.
inline std::filesystem::path link_program(const std::string& name, const char* program) {
  const std::filesystem::path link = own_program_path(name);
  std::filesystem::create_symlink(program, link);
  return link;
}

}  // namespace tessera::fetch
