// Writes the sound inputs that fuzzing starts from: DIR/TARGET/seed-N. The folder must be there.
//
//   tessera_fuzz_seeds DIR
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/kept_corpus.h"
#include "fuzz/targets.h"

namespace {

void write_all(const std::filesystem::path& folder) {
  for (const auto& target : tessera::fuzz::targets()) {
    const auto place = folder / target.name;
    std::filesystem::create_directories(place);
    auto inputs = target.seeds();
    for (auto& kept : tessera::fuzz::kept_corpus(target.name)) inputs.push_back(std::move(kept));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::ofstream out(place / ("seed-" + std::to_string(i)), std::ios::binary);
      out.write(reinterpret_cast<const char*>(inputs[i].data()),
                static_cast<std::streamsize>(inputs[i].size()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: tessera_fuzz_seeds DIR\n", stderr);
    return 2;
  }
  write_all(argv[1]);
  return 0;
}
