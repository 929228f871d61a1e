#include "runtime/llama/llama_runtime.h"

#include <string_view>

#include "runtime/llama/llama_encoder.h"
#include "runtime/llama/llama_executor.h"

namespace tessera::runtime::llama {

Result<LoadedModel> load(const LoadOptions& options) {
  TSR_ASSIGN_OR_RETURN(const std::shared_ptr<LlamaModel> model, LlamaModel::load(options));
  LoadedModel loaded;
  TSR_ASSIGN_OR_RETURN(loaded.executor, LlamaExecutor::make(model, options));
  if (model->info().has_vision) loaded.encoder = std::make_unique<LlamaEncoder>(model);
  loaded.model = model;
  loaded.build = describe_build();
  return loaded;
}

std::string describe_build() {
  std::string text = llama_print_system_info();
  constexpr std::string_view kSeparators = " |";
  text.erase(text.find_last_not_of(kSeparators) + 1);
  return text;
}

}  // namespace tessera::runtime::llama
