// The door to libllama and libmtmd: a pair of GGUF files → a model that runs.
#pragma once

#include "runtime/runtime.h"

namespace tessera::runtime::llama {

/// Loads weights and makes the KV cache. Takes as long as reading the files does.
/// @thread  any, one at a time
/// @errors  not_found, invalid_argument (files), resource_exhausted (memory)
Result<LoadedModel> load(const LoadOptions& options);

/// The CPU features that the native libraries compute with, for `tessera version`.
std::string describe_build();

}  // namespace tessera::runtime::llama
