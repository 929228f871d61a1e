// The program `tessera-engine`: the process in which the model runs. The server starts it, and
// starts it again when it dies; nobody else has a use for it.
#include <csignal>

#include "app/crash_handler.h"
#include "runtime/remote/engine_server.h"
#include "sandbox/child_process.h"

#ifdef TESSERA_RUNTIME_LLAMA
#include "runtime/llama/llama_runtime.h"
#else
#include "runtime/fake/fake_runtime.h"
#endif

namespace {

using namespace tessera;

#ifdef TESSERA_RUNTIME_LLAMA
runtime::remote::EngineRuntime engine_runtime() {
  return {runtime::llama::load, runtime::llama::describe_build};
}
#else
runtime::remote::EngineRuntime engine_runtime() {
  const auto load = [](const runtime::LoadOptions& options) {
    runtime::fake::FakeOptions fake;
    fake.n_sequences_max = options.n_sequences_max;
    fake.n_kv_cells = options.n_kv_cells;
    if (options.context_length > 0) fake.context_length = options.context_length;
    return runtime::fake::load(fake);
  };
  return {load, [] { return std::string("deterministic twin without weights"); }};
}
#endif

}  // namespace

int main() {
  app::install_crash_handler();
  // Whoever stops the server by its group of processes stops the server: this one ends with it,
  // after the answers that the server lets end.
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  sandbox::Channel control{UniqueFd(sandbox::kChildChannelFd)};
  runtime::remote::serve_engine(std::move(control), engine_runtime());
}
