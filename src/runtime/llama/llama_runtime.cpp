#include "runtime/llama/llama_runtime.h"

#include "runtime/llama/llama_encoder.h"
#include "runtime/llama/llama_executor.h"

namespace tessera::runtime::llama {

Result<LoadedModel> load(const LoadOptions& options) {
  TSR_ASSIGN_OR_RETURN(const std::shared_ptr<LlamaModel> model, LlamaModel::load(options));
  LoadedModel loaded;
  TSR_ASSIGN_OR_RETURN(loaded.executor, LlamaExecutor::make(model, options));
  if (model->info().has_vision) loaded.encoder = std::make_unique<LlamaEncoder>(model);
  loaded.model = model;
  return loaded;
}

std::string describe_build() {
  return llama_print_system_info();
}

}  // namespace tessera::runtime::llama
