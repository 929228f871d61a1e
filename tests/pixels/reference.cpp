#include "pixels/reference.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tessera::pixels {
namespace {

using media::testing::ByteVector;

/// Tests run side by side, each in a process of its own.
std::filesystem::path folder() {
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("tessera-pixels-" + std::to_string(::getpid()));
  std::filesystem::create_directories(path);
  return path;
}

void write_file(const std::filesystem::path& path, const ByteVector& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

ByteVector read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// @return what the script said, empty when it succeeded
std::string run_script(const std::filesystem::path& manifest) {
  // Debian's own: another python3 may come first in PATH and not have Debian's Pillow.
  const std::string command = "/usr/bin/python3 -I '" TESSERA_SOURCE_DIR
                              "/tests/pixels/reference.py' '" +
                              manifest.string() + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "no process could be started";
  std::string said;
  char part[256];
  while (std::fgets(part, sizeof(part), pipe) != nullptr) said += part;
  const int status = ::pclose(pipe);
  if (status != 0 && said.empty()) said = "python3 ended with status " + std::to_string(status);
  return status != 0 ? said : "";
}

}  // namespace

std::vector<ByteVector> reference_pixels(const std::vector<Wanted>& wanted) {
  const auto root = folder();
  const auto path_of = [&](const char* kind, std::size_t i) {
    return root / (kind + std::to_string(i));
  };
  std::ofstream manifest(root / "manifest");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    write_file(path_of("file", i), wanted[i].file);
    manifest << path_of("file", i).string() << '\t' << wanted[i].frame << '\t'
             << wanted[i].target.width << '\t' << wanted[i].target.height << '\t'
             << path_of("rgb", i).string() << '\n';
  }
  manifest.close();

  std::vector<ByteVector> pixels;
  const std::string said = run_script(root / "manifest");
  if (said.empty()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      pixels.push_back(read_file(path_of("rgb", i)));
    }
  } else {
    ADD_FAILURE() << "the reference needs python3 and Pillow (./x installs them): " << said;
  }
  std::filesystem::remove_all(root);
  return pixels;
}

}  // namespace tessera::pixels
