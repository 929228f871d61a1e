// Test support: a Service that plays a script instead of a pipeline.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/service.h"

namespace tessera::test_support {

class FakeService final : public pipeline::Service {
 public:
  FakeService() { info_.name = "fake-model"; }

  const runtime::ModelInfo& model() const override { return info_; }
  bool ready() const override { return true; }

  Result<StreamReader> submit(Request request, TenantId /*tenant*/, Trace trace) override {
    submitted.emplace(std::move(request));
    if (refusal) return *refusal;
    auto stream = std::make_shared<TokenStream>(cancel);
    for (StreamEvent& event : events) {
      if (auto* end = std::get_if<StreamEnd>(&event)) {
        trace.counts = end->trace.counts;
        trace.images = end->trace.images;
        end->trace = trace;
      }
      stream->push(std::move(event));
    }
    return StreamReader(std::move(stream));
  }

  void account(const Trace& trace, const std::optional<Error>& error) override {
    accounted.emplace_back(trace, error);
  }

  pipeline::CacheReport cache_report() override { return {}; }
  Result<pipeline::ForgottenEntries> forget_features(
      const std::optional<std::string>& /*tenant*/) override {
    return pipeline::ForgottenEntries{};
  }

  // The script.
  std::vector<StreamEvent> events;
  std::optional<Error> refusal;

  // What was asked of it.
  std::optional<Request> submitted;
  std::vector<std::pair<Trace, std::optional<Error>>> accounted;
  std::stop_source cancel;

 private:
  runtime::ModelInfo info_;
};

}  // namespace tessera::test_support
