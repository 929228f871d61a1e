// One target under libFuzzer, which brings main(). The target's name comes from CMake.
#include <cstddef>
#include <cstdint>

#include "core/check.h"
#include "fuzz/targets.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const tessera::fuzz::Target* const kTarget =
      tessera::fuzz::find_target(TESSERA_FUZZ_TARGET);
  TSR_CHECK(kTarget != nullptr);
  return kTarget->run({data, n}) ? 0 : -1;
}
