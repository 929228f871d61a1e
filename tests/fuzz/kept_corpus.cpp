#include "fuzz/kept_corpus.h"

#include <cctype>
#include <fstream>
#include <string>

namespace tessera::fuzz {
namespace {

using media::testing::ByteVector;

unsigned value_of(char digit) {
  const auto letter = static_cast<unsigned char>(std::tolower(static_cast<unsigned char>(digit)));
  return std::isdigit(letter) != 0 ? letter - unsigned{'0'} : letter - unsigned{'a'} + 10U;
}

}  // namespace

ByteVector parse_hex(std::string_view line) {
  std::string digits;
  for (const char c : line.substr(0, line.find('#'))) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  ByteVector bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(value_of(digits[i]) << 4U | value_of(digits[i + 1])));
  }
  return bytes;
}

std::vector<ByteVector> kept_corpus(std::string_view target) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR "/tests/fuzz/corpus/") + std::string(target) +
                     ".txt");
  std::vector<ByteVector> inputs;
  for (std::string line; std::getline(file, line);) {
    ByteVector bytes = parse_hex(line);
    if (!bytes.empty()) inputs.push_back(std::move(bytes));
  }
  return inputs;
}

}  // namespace tessera::fuzz
