// The door to stages 2–7 for everybody who brings requests: the HTTP server, `tessera ask`, tests.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/prompt.h"
#include "core/request.h"
#include "core/result.h"
#include "core/token_stream.h"
#include "core/trace.h"
#include "runtime/runtime.h"

namespace tessera::pipeline {

/// What a request would cost, without running it.
struct PlanReport {
  std::vector<ImagePlan> images;
  int n_text_tokens = 0;
  int n_visual_tokens = 0;
  double encode_flops = 0;   // vision tower, all tiles
  double prefill_flops = 0;  // language model, visual + text tokens
  double kv_bytes = 0;       // f16 keys and values of the prompt
};

/// @thread every method from any thread
class Service {
 public:
  virtual ~Service() = default;

  virtual const runtime::ModelInfo& model() const = 0;

  /// Loaded, and not shutting down.
  virtual bool ready() const = 0;

  /// Admits a request and sends it on its way. Never blocks.
  /// @param trace  started at arrival; in Stage::kRead
  /// @return       the reader of its events; ends in exactly one StreamEnd
  /// @errors       invalid_argument / too_large (above a limit); resource_exhausted (queue full,
  ///               with retry_after); unavailable (shutting down)
  virtual Result<StreamReader> submit(Request request, TenantId tenant, Trace trace) = 0;

  /// Sizes, tiles, tokens and estimates from the headers of the request's media. Blocks for the
  /// media worker.
  /// @errors  as submit, and those of the media stage
  virtual Result<PlanReport> plan(Request request, TenantId tenant) = 0;

  /// Accounts a finished answer: the trace was finished by the writer, after its last byte.
  virtual void account(const Trace& trace, const std::optional<Error>& error) = 0;
};

}  // namespace tessera::pipeline
