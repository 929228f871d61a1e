// Test support: a scripted pipeline::Service with an engine thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admission/admission.h"
#include "pipeline/service.h"

namespace tessera::api::test_support {

/// What the fake engine does with each request.
struct Script {
  int n_tokens = 3;
  std::string piece = "ab ";
  bool ends = true;  // else it waits for the cancellation after its tokens
  bool ignores_cancel = false;
  std::optional<Error> error;  // instead of the choices' ends
};

/// Answers every admitted request by `script`, one token per live request and step, from a thread
/// of its own. Admits by the real limits.
class FakeService final : public pipeline::Service {
 public:
  FakeService()
      : admission_(Limits{}, clock_), engine_([this](const std::stop_token& stop) { run(stop); }) {
    info_.name = "tiny";
  }
  ~FakeService() override {
    engine_.request_stop();
    changed_.notify_all();
  }

  const runtime::ModelInfo& model() const override { return info_; }
  bool ready() const override { return is_ready; }

  Result<StreamReader> submit(Request request, TenantId tenant, Trace trace) override {
    TSR_RETURN_IF_ERROR(admission::check_request(request, Limits{}));
    const std::lock_guard lock(mutex_);
    if (refusal) return *refusal;
    std::stop_source cancel;
    auto stream = std::make_shared<TokenStream>(cancel);
    trace.counts.n_text_tokens = 5;
    live_.push_back(std::make_unique<Live>(
        Live{script, stream, cancel, std::move(trace), 0, request.n_choices, nullptr, {}}));
    if (request.plan_only) live_.back()->plan = plan;
    live_.back()->on_cancel = std::make_unique<std::stop_callback<std::function<void()>>>(
        cancel.get_token(), [this] { wake(); });
    last_request = std::move(request);
    last_tenant = tenant;
    ++n_submitted;
    wake();
    return StreamReader(stream);
  }

  void account(const Trace& trace, const std::optional<Error>& error) override {
    const std::lock_guard lock(account_mutex_);
    accounted_.emplace_back(trace, error ? error->reason : "");
    accounted_changed_.notify_all();
  }

  pipeline::CacheReport cache_report() override { return cache; }
  Result<pipeline::ForgottenEntries> forget_features(
      const std::optional<std::string>& tenant) override {
    forgotten = tenant.value_or("(everybody)");
    if (forget_error) return *forget_error;
    return pipeline::ForgottenEntries{2, 1};
  }

  /// Lets requests end whose script does not.
  void release() {
    is_released_ = true;
    wake();
  }

  /// Waits for the n-th accounted answer; its error's reason, empty = none.
  std::string wait_accounted(std::size_t n) {
    std::unique_lock lock(account_mutex_);
    accounted_changed_.wait(lock, [&] { return accounted_.size() >= n; });
    return accounted_[n - 1].second;
  }
  Trace accounted_trace(std::size_t i) {
    const std::lock_guard lock(account_mutex_);
    return accounted_[i].first;
  }
  std::size_t n_accounted() {
    const std::lock_guard lock(account_mutex_);
    return accounted_.size();
  }

  // Set before the requests that they are for.
  Script script;
  std::optional<Error> refusal;
  PlanReport plan;
  pipeline::CacheReport cache;
  std::optional<Error> forget_error;
  std::string forgotten;  // whom the last purge was for
  std::atomic<bool> is_ready{true};
  // Read after the answer that they are of.
  Request last_request;
  TenantId last_tenant;
  std::atomic<int> n_submitted{0};

 private:
  struct Live {
    Script script;
    std::shared_ptr<TokenStream> stream;
    std::stop_source cancel;
    Trace trace;
    int n_done = 0;
    int n_choices = 1;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_cancel;
    std::optional<PlanReport> plan;  // of a request that asks for no more
  };

  void wake() {
    const std::lock_guard lock(wake_mutex_);
    ++n_wakes_;
    changed_.notify_all();
  }

  void run(const std::stop_token& stop) {
    int n_seen = 0;
    while (!stop.stop_requested()) {
      if (!step()) {
        std::unique_lock wake(wake_mutex_);
        changed_.wait(wake, stop, [&] { return n_wakes_ != n_seen; });
        n_seen = n_wakes_;
      }
    }
    const std::lock_guard lock(mutex_);
    for (auto& live : live_) end(*live, make_error(ErrorCode::kCancelled, "cancelled", "stopped"));
    live_.clear();
  }

  /// False when nothing moved.
  bool step() {
    std::vector<std::unique_ptr<Live>> ended;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    bool moved = false;
    for (auto& live : live_) {
      if (live->cancel.stop_requested() && !live->script.ignores_cancel) {
        end(*live, make_error(ErrorCode::kCancelled, "cancelled", "the request was cancelled"));
      } else if (live->plan && !live->script.error) {
        end(*live, std::nullopt);
      } else if (live->n_done < live->script.n_tokens) {
        for (int i = 0; i < live->n_choices; ++i) {
          live->stream->push(TokenDelta{i, 1, live->script.piece, std::nullopt, {}});
        }
        ++live->n_done;
        moved = true;
        continue;
      } else if (!live->script.ends && !is_released_) {
        continue;
      } else if (live->script.error) {
        end(*live, live->script.error);
      } else {
        for (int i = 0; i < live->n_choices; ++i) {
          live->stream->push(ChoiceEnd{i, FinishReason::kStop, live->n_done + 1});
        }
        end(*live, std::nullopt);
      }
      moved = true;
      ended.push_back(std::move(live));
    }
    std::erase_if(live_, [](const auto& live) { return live == nullptr; });
    return moved;
  }

  static void end(Live& live, std::optional<Error> error) {
    live.trace.counts.n_output_tokens = live.n_done;
    live.trace.enter(Stage::kEmit, live.trace.arrival() + live.trace.total());
    live.stream->push(StreamEnd{std::move(error), live.trace, live.plan});
  }

  runtime::ModelInfo info_;
  SteadyClock clock_;
  admission::Admission admission_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Live>> live_;
  std::mutex wake_mutex_;  // own, because a cancellation may come with mutex_ held
  std::condition_variable_any changed_;
  int n_wakes_ = 0;
  std::atomic<bool> is_released_{false};
  std::mutex account_mutex_;
  std::condition_variable accounted_changed_;
  std::vector<std::pair<Trace, std::string>> accounted_;
  std::jthread engine_;
};

}  // namespace tessera::api::test_support
