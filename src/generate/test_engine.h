// For the tests of this folder: an engine on the fake runtime that is driven by hand, with a clock
// that moves in model calls alone.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "generate/engine.h"
#include "generate/test_requests.h"
#include "runtime/fake/fake_runtime.h"

namespace tessera::generate {

using runtime::fake::Call;
using runtime::fake::Effect;
using runtime::fake::FakeControl;
using runtime::fake::FakeOptions;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr Duration kTokenCallTime = milliseconds(10);
inline constexpr Duration kVisualCallTime = milliseconds(100);

/// Lets time pass in model calls, and only there.
class TimedExecutor final : public runtime::Executor {
 public:
  TimedExecutor(std::unique_ptr<Executor> inner, ManualClock& clock)
      : inner_(std::move(inner)), clock_(clock) {}
  int n_sequences_max() const override { return inner_->n_sequences_max(); }
  int n_kv_cells() const override { return inner_->n_kv_cells(); }
  int n_rows_max() const override { return inner_->n_rows_max(); }
  bool can_mix() const override { return inner_->can_mix(); }
  runtime::CallResult decode(std::span<const runtime::TokenRow> tokens,
                             std::span<const runtime::VisualRows> visual,
                             const runtime::ShouldStop& stop) override {
    clock_.advance(visual.empty() ? kTokenCallTime : kVisualCallTime);
    if (during_call) during_call(stop);
    return inner_->decode(tokens, visual, stop);
  }
  runtime::Availability availability() override {
    return pretends.value_or(inner_->availability());
  }
  void forget() override { inner_->forget(); }
  bool can_share() const override { return inner_->can_share(); }
  void share(SequenceId from, SequenceId to, const runtime::KvRange& range) override {
    inner_->share(from, to, range);
  }
  void remove(SequenceId sequence) override { inner_->remove(sequence); }
  bool set_aside(SequenceId sequence) override { return inner_->set_aside(sequence); }
  bool bring_back(SequenceId sequence) override { return inner_->bring_back(sequence); }
  int n_kv_cells_used() const override { return inner_->n_kv_cells_used(); }

  std::function<void(const runtime::ShouldStop&)> during_call;
  std::optional<runtime::Availability> pretends;

 private:
  std::unique_ptr<Executor> inner_;
  ManualClock& clock_;
};

class EngineTest : public testing::Test, public EngineObserver {
 protected:
  void start(FakeOptions fake = {}, const EngineOptions& options = {}) {
    fake.control = control;
    auto loaded = std::move(runtime::fake::load(fake)).value();
    model = loaded.model;
    encoder = std::move(loaded.encoder);
    auto timed = std::make_unique<TimedExecutor>(std::move(loaded.executor), clock);
    executor = timed.get();
    engine = std::make_unique<Engine>(std::move(timed), model, options, clock, this);
  }

  ~EngineTest() override {
    if (engine != nullptr) {
      EXPECT_TRUE(engine->idle());
      EXPECT_EQ(engine->stats().load.n_kv_cells_used, 0);
    }
    EXPECT_EQ(control->n_violations(), 0) << control->last_violation();
  }

  Asked add(const Ask& ask, Duration time_limit = std::chrono::hours(1)) {
    Asked asked;
    auto request = make_request(*model, encoder.get(), ask, asked, clock.now(), time_limit);
    request->trace.enter(Stage::kScheduleWait, clock.now());
    engine->add(std::move(request));
    return asked;
  }

  void run() {
    for (int n_steps = 0; !engine->idle(); ++n_steps) {
      ASSERT_LT(n_steps, 10'000);
      engine->step();
      loads.push_back(engine->stats().load);
    }
  }

  void on_step(const StepReport& report) override { steps.push_back(report); }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  ManualClock clock;
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Encoder> encoder;
  std::unique_ptr<Engine> engine;
  TimedExecutor* executor = nullptr;  // the engine's
  std::vector<StepReport> steps;
  std::vector<EngineLoad> loads;
};

}  // namespace tessera::generate
