#include "runtime/fake/fake_runtime.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/fake/fake_executor.h"
#include "runtime/fake/fake_model.h"
#include "runtime/fake/fake_vision.h"

namespace tessera::runtime::fake {
namespace {

Result<void> check_at_least(std::string_view name, int value, int least) {
  if (value >= least) return {};
  return make_error(
      ErrorCode::kInvalidArgument, "option_invalid",
      std::string(name) + ": " + std::to_string(value) + ", at least " + std::to_string(least));
}

}  // namespace

Result<LoadedModel> load(const FakeOptions& options) {
  TSR_RETURN_IF_ERROR(check_at_least("context_length", options.context_length, 1));
  TSR_RETURN_IF_ERROR(check_at_least("n_sequences_max", options.n_sequences_max, 1));
  TSR_RETURN_IF_ERROR(check_at_least("n_kv_cells", options.n_kv_cells, 0));
  TSR_RETURN_IF_ERROR(check_at_least("n_rows_max", options.n_rows_max, 1));
  TSR_RETURN_IF_ERROR(check_at_least("embedding_row_width", options.embedding_row_width, 1));
  TSR_RETURN_IF_ERROR(check_at_least("tile_side", options.tile_side, 0));

  auto control = options.control ? options.control : std::make_shared<FakeControl>();
  auto model = std::make_shared<FakeModel>(options, control);
  LoadedModel loaded;
  if (options.has_vision)
    loaded.encoder = std::make_unique<FakeEncoder>(model, control, options.takes_batches);
  loaded.executor = std::make_unique<FakeExecutor>(options, model, control);
  loaded.model = std::move(model);
  return loaded;
}

}  // namespace tessera::runtime::fake
