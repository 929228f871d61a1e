// Ceilings for files that clients upload to name them later. Operators may change them.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/limits.h"

namespace tessera {

struct UploadLimits {
  std::chrono::milliseconds time_to_live{3'600'000};  // a session of a person; the memory is ours
  std::size_t file_bytes_max = 20 * kMiB;             // as one in a body
  std::size_t tenant_bytes_max = 200 * kMiB;          // ten of the largest
  std::size_t total_bytes_max = 1024 * kMiB;          // beside the weights
  int tenant_files_max = 256;                         // a list that one answer can hold
  int total_files_max = 1024;                         // one descriptor each
};

}  // namespace tessera
