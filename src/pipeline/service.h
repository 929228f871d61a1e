// The door to stages 2–7 for everybody who brings requests: the HTTP server, `tessera ask`, tests.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cache/cache_report.h"
#include "core/ids.h"
#include "core/request.h"
#include "core/result.h"
#include "core/token_stream.h"
#include "core/trace.h"
#include "runtime/runtime.h"

namespace tessera::pipeline {

using cache::CacheReport;
using cache::ForgottenEntries;
using cache::TenantUse;
using cache::TierReport;

/// @thread every method from any thread
class Service {
 public:
  virtual ~Service() = default;

  virtual const runtime::ModelInfo& model() const = 0;

  /// Loaded, and not shutting down.
  virtual bool ready() const = 0;

  /// Admits a request and sends it on its way. Never blocks. One with plan_only goes as far as
  /// the headers of its media, and its end has the plan.
  /// @param trace  started at arrival; in Stage::kRead
  /// @return       the reader of its events; ends in exactly one StreamEnd
  /// @errors       invalid_argument / too_large (above a limit); resource_exhausted (queue full,
  ///               with retry_after); unavailable (shutting down)
  virtual Result<StreamReader> submit(Request request, TenantId tenant, Trace trace) = 0;

  /// What an operator may know of the feature cache, and do with it.
  virtual CacheReport cache_report() = 0;

  /// Makes what a tenant has in the feature cache unreadable; nothing = everybody's.
  /// @param tenant  as cache::TenantNames reads it
  /// @errors        those of cache::FeatureStore::forget(). May wait for the disk.
  virtual Result<ForgottenEntries> forget_features(const std::optional<std::string>& tenant) = 0;

  /// Accounts a finished answer: the trace was finished by the writer, after its last byte.
  virtual void account(const Trace& trace, const std::optional<Error>& error) = 0;
};

}  // namespace tessera::pipeline
