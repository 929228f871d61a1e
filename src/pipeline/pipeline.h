// Joins the stages: a request moves from admission through media, prompt and encode to the engine,
// each hand-over a push into the next stage's own bounded queue.
//
//   submit ─ text only ──────────────────────────────▶ engine ─▶ events
//          ├ with images ─▶ media ×M ─▶ encode ×1 ───▶ engine ─▶ events
//          └ images by URL ─▶ fetch ×F ─▶ media ×M ─▶ …
//
// A request whose engine is lost before it has put anything out starts again at the media stage,
// once; there, and nowhere else, requests wait until the engine is back.
//
// Every queue holds as many requests as admission lets in, so no hand-over can find its queue full;
// it can find it closed, at shutdown. Shutdown goes in data-flow order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "admission/admission.h"
#include "cache/feature_keys.h"
#include "cache/feature_store.h"
#include "core/clock.h"
#include "core/limits.h"
#include "encode/encode_stage.h"
#include "fetch/fetch_stage.h"
#include "generate/engine_loop.h"
#include "media/media_stage.h"
#include "metrics/metrics.h"
#include "pipeline/service.h"
#include "pipeline/work_estimate.h"
#include "pipeline/work_rates.h"

namespace tessera::pipeline {

struct PipelineOptions {
  Limits limits;
  media::DecoderOptions decoder;
  int n_media_threads = 2;
  fetch::FetchSources sources;  // for media that a request names by URL; outlive the pipeline
  std::size_t url_bytes_max = RemoteLimits().request_bytes_max;  // of such media of one request
  int n_step_rows = 64;                                          // generate::EngineOptions
  Duration inter_token{};  // generate::EngineOptions::inter_token
  std::string model_name;  // empty = what the model file says
  cache::FeatureCacheOptions features;
  cache::DiskTier* feature_disk = nullptr;  // outlives the pipeline; null = none
  int n_kept_prefixes = 0;                  // generate::EngineOptions::n_kept_prefixes
  bool has_several_tenants = false;         // generate::EngineOptions::has_several_tenants
  int n_step_patches = 0;                   // encode::EncodeOptions::n_patches_max
  std::string encoder;                      // what computes features; only a disk tier needs it
  cache::TenantNames tenants;               // who an operator may name
};

/// @thread Service's methods from any thread; construction and shutdown by the owner
class Pipeline final : public Service {
 public:
  /// @param clock, metrics  outlive the pipeline
  Pipeline(runtime::LoadedModel loaded, const PipelineOptions& options, const Clock& clock,
           metrics::Metrics& metrics);
  ~Pipeline() override;

  const runtime::ModelInfo& model() const override { return info_; }
  bool ready() const override { return !shutting_down_.load(std::memory_order_acquire); }
  Result<StreamReader> submit(Request request, TenantId tenant, Trace trace) override;
  CacheReport cache_report() override { return features_.report(); }
  Result<ForgottenEntries> forget_features(const std::optional<std::string>& tenant) override;
  void account(const Trace& trace, const std::optional<Error>& error) override;

  /// Refuses new requests and ends every request in flight; joins every thread; writes what the
  /// disk tier has queued. Idempotent.
  void shutdown();

  /// Puts queue depths, requests in flight and suspended tenants into the metrics; before each
  /// exposition.
  void publish_gauges();

 private:
  class Observer;

  Result<void> plan_prompt(InFlight& request, std::span<const ImageSize> sizes) const;
  Result<std::vector<ImageSize>> plan_images(InFlight& request,
                                             std::span<const ImageSize> sizes) const;
  std::vector<bool> find_features(InFlight& request);
  media::VisionBytes vision_bytes(const InFlight& request) const;
  Result<void> prepare_image(InFlight& request, std::size_t image_index, const Image& image) const;
  void to_fetch(std::unique_ptr<InFlight> request);
  void to_media(std::unique_ptr<InFlight> request);
  void to_encode(std::unique_ptr<InFlight> request);
  void to_engine(std::unique_ptr<InFlight> request);
  void end_with_plan(InFlight& request) const;
  void record_media_rate(const InFlight& request);
  Result<void> wait_for_engine(const InFlight& request) const;
  media::MediaHooks media_hooks();

  const PipelineOptions options_;
  const Clock& clock_;
  metrics::Metrics& metrics_;
  const std::shared_ptr<const runtime::Model> model_;
  runtime::ModelInfo info_;
  admission::Admission admission_;
  std::atomic<bool> shutting_down_{false};
  std::atomic<std::uint64_t> n_requests_{0};

  const cache::FeatureKeys feature_keys_;
  cache::FeatureStore features_;

  WorkRates rates_;

  // Last stage first, so that each stage's successor exists before it and outlives it.
  std::unique_ptr<Observer> observer_;
  generate::EngineLoop engine_;
  encode::EncodeStage encode_;
  media::MediaStage media_;
  fetch::FetchStage fetch_;
};

}  // namespace tessera::pipeline
