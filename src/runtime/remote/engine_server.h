// The engine's side: holds the model, and does what the server calls for, on a thread for each line
// (messages.h). Whatever dies in here, the server goes on.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"
#include "sandbox/channel.h"

namespace tessera::runtime::remote {

/// What runs in this process.
struct EngineRuntime {
  std::function<Result<LoadedModel>(const LoadOptions&)> load;
  std::function<std::string()> describe;  // LoadedModel::build, without a model
};

/// Serves until the server closes the control line, and then ends the process whatever it computes.
/// @param control  of the server that started this process
/// @thread         main, before others exist
[[noreturn]] void serve_engine(sandbox::Channel control, const EngineRuntime& runtime);

}  // namespace tessera::runtime::remote
