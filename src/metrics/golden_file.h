// Test support: compares a text with a committed file. TESSERA_UPDATE_DOCS=1 in the environment
// rewrites the file instead, and the diff is reviewed like any other.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tessera::test_support {

/// @param path  relative to the root of the source tree
inline void expect_matches_file(const std::string& text, std::string_view path) {
  const std::string full = std::string(TESSERA_SOURCE_DIR) + "/" + std::string(path);
  if (const char* update = std::getenv("TESSERA_UPDATE_DOCS"); update && *update == '1') {
    std::ofstream(full, std::ios::binary) << text;
    return;
  }
  std::ostringstream committed;
  committed << std::ifstream(full, std::ios::binary).rdbuf();
  EXPECT_EQ(text, committed.str()) << path << ": run this test with TESSERA_UPDATE_DOCS=1";
}

}  // namespace tessera::test_support
