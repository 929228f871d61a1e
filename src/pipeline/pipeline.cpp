#include "pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "admission/lower_limits.h"
#include "prompt/cost_estimate.h"
#include "prompt/prompt_builder.h"

namespace tessera::pipeline {
namespace {

/// What features depend on besides the file, the plan and PipelineOptions::encoder.
constexpr std::string_view kPreprocessing = "preprocessing 1";

/// Rows of a step that tell how long prefill takes; fewer are mostly output tokens.
constexpr int kPrefillRowsMin = 16;

/// Keys of a disk tier are the same after a restart, and name everything that computes.
cache::FeatureKeys feature_keys(const PipelineOptions& options) {
  const std::string encoder = std::string(kPreprocessing) +
                              (options.features.half ? ", halves, " : ", floats, ") +
                              options.encoder;
  if (options.feature_disk == nullptr) return cache::FeatureKeys(encoder);
  return {options.feature_disk->key_secret(), encoder, options.feature_disk->tenants()};
}

generate::EngineOptions engine_options(const PipelineOptions& options) {
  generate::EngineOptions engine;
  engine.output_tokens_default = options.limits.output_tokens_default;
  engine.output_tokens_max = options.limits.output_tokens_max;
  engine.n_step_rows = options.n_step_rows;
  engine.inter_token = options.inter_token;
  engine.n_kept_prefixes = options.n_kept_prefixes;
  engine.has_several_tenants = options.has_several_tenants;
  engine.n_waiting_max = static_cast<std::size_t>(options.limits.requests_max);
  return engine;
}

media::MediaStageOptions media_options(const PipelineOptions& options) {
  return {options.decoder, options.limits, options.n_media_threads,
          static_cast<std::size_t>(options.limits.requests_max)};
}

fetch::FetchStageOptions fetch_options(const PipelineOptions& options) {
  return {options.sources, options.url_bytes_max, options.limits,
          static_cast<std::size_t>(options.limits.requests_max)};
}

}  // namespace

/// Forwards what the stages observe to the metrics.
class Pipeline::Observer final : public generate::EngineObserver, public encode::EncodeObserver {
 public:
  Observer(metrics::Metrics& metrics, WorkRates& rates) : metrics_(metrics), rates_(rates) {}

  void on_step(const generate::StepReport& step) override {
    if (step.n_rows() >= kPrefillRowsMin) {
      rates_.record(WorkRates::Kind::kPrefillRows, step.n_rows(), step.duration);
    }
    metrics_.record_step(step.n_text_rows(), step.n_visual_rows(), step.duration);
    for (const generate::CallReport& call : step.calls) {
      if (!call.expected_seconds || call.seconds <= 0) continue;
      const double error = std::abs(*call.expected_seconds - call.seconds) / call.seconds;
      metrics_.record_call_cost_error(call.n_rows(), error);
    }
  }
  void on_set_aside(bool copied) override { metrics_.record_preemption(copied); }
  void on_encode(int n_patches, Duration duration) override {
    rates_.record(WorkRates::Kind::kPatches, n_patches, duration);
    metrics_.record_encode(n_patches, duration);
  }
  void on_shared(int n_tiles) override { metrics_.record_shared_tiles(n_tiles); }

 private:
  metrics::Metrics& metrics_;
  WorkRates& rates_;
};

Pipeline::Pipeline(runtime::LoadedModel loaded, const PipelineOptions& options, const Clock& clock,
                   metrics::Metrics& metrics)
    : options_(options),
      clock_(clock),
      metrics_(metrics),
      model_(loaded.model),
      info_(loaded.model->info()),
      admission_(options.limits, clock),
      feature_keys_(feature_keys(options)),
      features_(options.features, clock, options.feature_disk, options.tenants),
      observer_(std::make_unique<Observer>(metrics, rates_)),
      engine_(std::move(loaded.executor), loaded.model, engine_options(options), clock,
              observer_.get()),
      encode_(std::move(loaded.encoder), features_,
              {static_cast<std::size_t>(options.limits.requests_max), options.n_step_patches},
              clock, observer_.get(),
              {[this](std::unique_ptr<InFlight> request) { to_engine(std::move(request)); },
               [this] { engine_.wake(); }}),
      media_(media_options(options), clock, media_hooks()),
      fetch_(fetch_options(options), clock,
             [this](std::unique_ptr<InFlight> request) { to_media(std::move(request)); }) {
  if (!options.model_name.empty()) info_.name = options.model_name;
}

Pipeline::~Pipeline() {
  shutdown();
}

media::MediaHooks Pipeline::media_hooks() {
  media::MediaHooks hooks;
  hooks.plan = [this](InFlight& request,
                      std::span<const ImageSize> sizes) -> Result<std::vector<ImageSize>> {
    TSR_RETURN_IF_ERROR(wait_for_engine(request));
    return plan_images(request, sizes);
  };
  hooks.find_features = [this](InFlight& request) { return find_features(request); };
  hooks.bytes_of = [this](const InFlight& request) { return vision_bytes(request); };
  hooks.prepare = [this](InFlight& request, std::size_t image_index, const Image& image) {
    return prepare_image(request, image_index, image);
  };
  hooks.next = [this](std::unique_ptr<InFlight> request) { to_encode(std::move(request)); };
  hooks.on_decoded = [this](const std::optional<Error>& error) {
    metrics_.record_media_decode(error);
  };
  hooks.on_death = [this](media::DecoderClass decoder_class, media::DecoderDeath death) {
    metrics_.record_decoder_death(media::to_string(decoder_class), media::to_string(death));
  };
  return hooks;
}

Result<void> Pipeline::wait_for_engine(const InFlight& request) const {
  TSR_RETURN_IF_ERROR(model_->wait_until_ready(
      [&] { return !ready() || request.should_stop(clock_.now()).has_value(); }));
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  return {};
}

Result<StreamReader> Pipeline::submit(Request request, TenantId tenant, Trace trace) {
  if (!ready()) return shutting_down_error();
  TSR_ASSIGN_OR_RETURN(const Limits limits,
                       admission::lower_limits(options_.limits, request.limit_wishes));
  TSR_RETURN_IF_ERROR(admission::check_request(request, limits));
  if (limits.output_tokens_default < options_.limits.output_tokens_default) {
    // Lowered below the engine's own default.
    request.max_output_tokens = request.max_output_tokens.value_or(limits.output_tokens_default);
  }
  if (!request.media.empty() && !info_.has_vision) {
    return make_error(ErrorCode::kInvalidArgument, "vision_not_supported",
                      "this model takes no images: no projector was given (mmproj)", "messages");
  }
  TSR_ASSIGN_OR_RETURN(admission::Admission::Ticket ticket, admission_.admit(tenant));

  std::stop_source stop;
  auto stream = std::make_shared<TokenStream>(stop);
  const RequestId id{n_requests_.fetch_add(1, std::memory_order_relaxed) + 1};
  const TimePoint deadline =
      trace.arrival() + request.deadline.value_or(options_.limits.request_timeout);
  auto in_flight = std::make_unique<InFlight>(id, tenant, std::move(request), limits,
                                              std::move(trace), deadline, stop.get_token(), stream);
  in_flight->holds = std::make_shared<admission::Admission::Ticket>(std::move(ticket));
  in_flight->allow_redo([this](std::unique_ptr<InFlight> again) { to_media(std::move(again)); });

  if (in_flight->request.media.empty()) {
    in_flight->trace.enter(Stage::kPlan, clock_.now());
    if (auto planned = plan_prompt(*in_flight, {}); !planned) {
      in_flight->end(std::move(planned).error(), clock_.now());
    } else if (in_flight->request.plan_only) {
      end_with_plan(*in_flight);
    } else {
      to_engine(std::move(in_flight));
    }
  } else if (!in_flight->request.pending.empty()) {
    to_fetch(std::move(in_flight));
  } else {
    to_media(std::move(in_flight));
  }
  return StreamReader(std::move(stream));
}

Result<ForgottenEntries> Pipeline::forget_features(const std::optional<std::string>& tenant) {
  // Kept prompts first: they are in memory, and go whatever the disk does.
  if (!tenant) {
    engine_.forget_all();
    return features_.forget_all();
  }
  if (const auto number = features_.number_of(*tenant)) engine_.forget(*number);
  return features_.forget(*tenant);
}

void Pipeline::account(const Trace& trace, const std::optional<Error>& error) {
  metrics_.record_request(trace, error);
}

Result<void> Pipeline::plan_prompt(InFlight& request, std::span<const ImageSize> sizes) const {
  TSR_ASSIGN_OR_RETURN(request.prompt,
                       prompt::build_prompt(*model_, request.request, sizes, request.limits));
  TraceCounts& counts = request.trace.counts;
  counts.n_images = static_cast<int>(request.prompt.images.size());
  for (const ImagePlan& image : request.prompt.images) counts.n_tiles += image.n_tiles;
  counts.n_visual_tokens = request.prompt.n_visual_tokens;
  counts.n_text_tokens = request.prompt.n_text_tokens;
  request.trace.images = request.prompt.images;
  return {};
}

Result<std::vector<ImageSize>> Pipeline::plan_images(InFlight& request,
                                                     std::span<const ImageSize> sizes) const {
  TSR_RETURN_IF_ERROR(plan_prompt(request, sizes));
  std::vector<ImageSize> targets;
  for (const ImagePlan& image : request.prompt.images) targets.push_back(image.decoded);
  return targets;
}

/// Names the features of each tile, and takes those that are known.
/// @return  of each image, whether any is missing
std::vector<bool> Pipeline::find_features(InFlight& request) {
  const CachePolicy& policy = request.request.cache;
  const bool plan_only = request.request.plan_only;
  std::vector<bool> is_missing(request.prompt.images.size(), false);
  for (const VisualSegment* segment : encode::visual_segments(request.prompt)) {
    const ImagePlan& image = request.prompt.images[segment->image_index];
    const FrameSource& source = request.frames[segment->image_index];
    cache::FeatureOrigin origin;
    origin.tenant = request.tenant;
    origin.content = source.content;
    origin.frame = source.frame;
    origin.decoded = image.decoded;
    origin.planned = image.planned;
    origin.n_tiles = image.n_tiles;
    origin.tile = image.first_tile + static_cast<int>(segment->tile_index);
    origin.n_tokens = segment->n_tokens;
    if (policy.scope != CachePolicy::Scope::kTenant) origin.only_for = request.id;
    if (policy.scope == CachePolicy::Scope::kNone) {
      origin.mention = static_cast<std::uint32_t>(request.feature_keys.size()) + 1;
    }
    const Digest key = feature_keys_.key(origin);
    const bool is_known = plan_only && features_.has(key, policy);
    auto known = plan_only ? nullptr : features_.find(key, request.tenant, policy);
    if (known != nullptr || is_known) {
      ++request.trace.counts.n_cached_tiles;
      ++request.trace.images[segment->image_index].n_cached_tiles;
    } else if (!plan_only) {
      is_missing[segment->image_index] = true;
    }
    request.feature_keys.push_back(key);
    request.embeddings.push_back(std::move(known));
  }
  request.tiles.resize(request.embeddings.size());
  return is_missing;
}

/// What planned tiles and their features take as floats.
media::VisionBytes Pipeline::vision_bytes(const InFlight& request) const {
  constexpr std::size_t kPixelBytes = 3 * sizeof(float);
  media::VisionBytes bytes;
  if (request.request.plan_only) return bytes;
  const auto row_bytes = static_cast<std::size_t>(info_.embedding_row_width) * sizeof(float);
  bytes.features = static_cast<std::size_t>(request.prompt.n_visual_tokens) * row_bytes;
  for (const ImagePlan& image : request.trace.images) {
    if (image.n_cached_tiles == image.n_tiles) continue;
    bytes.tiles += kPixelBytes * static_cast<std::size_t>(image.planned.pixels());
  }
  return bytes;
}

Result<void> Pipeline::prepare_image(InFlight& request, std::size_t image_index,
                                     const Image& image) const {
  TSR_ASSIGN_OR_RETURN(auto tiles, model_->prepare(image));
  const auto segments = encode::visual_segments(request.prompt);
  // An overview alone is one of the tiles.
  const ImagePlan& plan = request.prompt.images[image_index];
  const auto first = static_cast<std::size_t>(plan.first_tile);
  if (plan.overview_only && first < tiles.size()) {
    std::swap(tiles.front(), tiles[first]);
    tiles.resize(1);
  }
  std::size_t n_planned = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i]->image_index != image_index) continue;
    if (n_planned < tiles.size() && request.embeddings[i] == nullptr) {
      request.tiles[i] = std::move(tiles[n_planned]);
    }
    ++n_planned;
  }
  // What was planned and what was prepared must be the same tiles, or rows and positions part ways.
  if (n_planned == tiles.size()) return {};
  return make_error(ErrorCode::kInternal, "internal_error",
                    std::to_string(tiles.size()) + " tiles were prepared; " +
                        std::to_string(n_planned) + " were planned");
}

void Pipeline::to_fetch(std::unique_ptr<InFlight> request) {
  const auto taken = fetch_.try_submit(std::move(request));
  if (taken) return;
  request->end(taken.error(), clock_.now());  // NOLINT(bugprone-use-after-move): untouched
}

void Pipeline::to_media(std::unique_ptr<InFlight> request) {
  if (media_.try_submit(std::move(request))) return;
  request->end(shutting_down_error(), clock_.now());  // NOLINT(bugprone-use-after-move): untouched
}

void Pipeline::to_encode(std::unique_ptr<InFlight> request) {
  if (request->request.plan_only) {
    end_with_plan(*request);
    return;
  }
  record_media_rate(*request);
  if (std::ranges::find(request->embeddings, nullptr) == request->embeddings.end()) {
    to_engine(std::move(request));
    return;
  }
  if (encode_.try_submit(std::move(request))) return;
  request->end(shutting_down_error(), clock_.now());  // NOLINT(bugprone-use-after-move): untouched
}

void Pipeline::to_engine(std::unique_ptr<InFlight> request) {
  if (engine_.try_submit(std::move(request))) return;
  request->end(shutting_down_error(), clock_.now());  // NOLINT(bugprone-use-after-move): untouched
}

void Pipeline::record_media_rate(const InFlight& request) {
  double n_pixels = 0;
  for (const ImagePlan& image : request.trace.images) {
    if (image.n_cached_tiles < image.n_tiles)
      n_pixels += static_cast<double>(image.source.pixels());
  }
  rates_.record(WorkRates::Kind::kMediaPixels, n_pixels,
                request.trace.in(Stage::kMediaDecode) + request.trace.in(Stage::kResize));
}

void Pipeline::end_with_plan(InFlight& request) const {
  const Prompt& prompt = request.prompt;
  const prompt::CostEstimate cost = prompt::estimate_cost(info_, prompt);
  PlanReport report;
  report.images = request.trace.images;
  report.n_text_tokens = prompt.n_text_tokens;
  report.n_visual_tokens = prompt.n_visual_tokens;
  report.encode_flops = cost.encode_flops;
  report.prefill_flops = cost.prefill_flops;
  report.kv_bytes = cost.kv_bytes;
  const WorkEstimate work = estimate_work(report.images, prompt.n_tokens(), rates_);
  report.media_decode_seconds = work.media_decode;
  report.encode_seconds = work.encode;
  report.prefill_seconds = work.prefill;
  request.end_with(std::move(report), clock_.now());
}

void Pipeline::shutdown() {
  shutting_down_.store(true, std::memory_order_release);
  fetch_.shutdown();
  media_.shutdown();
  encode_.shutdown();
  engine_.shutdown();
  if (options_.feature_disk != nullptr) options_.feature_disk->shutdown();
}

void Pipeline::publish_gauges() {
  metrics_.set_queue_depth(metrics::Queue::kFetch, fetch_.queue_depth());
  metrics_.set_queue_depth(metrics::Queue::kMedia, media_.queue_depth());
  metrics_.set_queue_depth(metrics::Queue::kEncode, encode_.queue_depth());
  const generate::EngineLoad load = engine_.stats().load;
  metrics_.set_running_sequences(load.n_running_sequences);
  metrics_.set_set_aside_requests(load.n_set_aside);
  metrics_.set_kv_cells(load.n_kv_cells_used, load.n_kv_cells_kept, load.n_kv_cells);
  metrics_.set_queue_depth(metrics::Queue::kEngine, load.n_waiting_requests);
  metrics_.set_vision_bytes(media_.vision_bytes());
  metrics_.set_no_progress(encode_.no_progress(), engine_.no_progress());
  metrics_.set_suspended_tenants(media_.n_suspended());
  metrics_.set_requests_in_flight(static_cast<std::size_t>(admission_.n_admitted()));
  const cache::FeatureCacheStats memory = features_.memory_stats();
  metrics_.set_feature_cache(
      metrics::FeatureTier::kMemory,
      {memory.n_hits, memory.n_misses, memory.n_evicted, memory.n_expired, memory.n_forgotten,
       memory.saved, memory.n_bytes, memory.n_entries, 0, 0, 0, memory.evicted_age,
       memory.oldest_use.value_or(Duration::zero())});
  const cache::DiskTierStats disk = features_.disk_stats();
  metrics_.set_feature_cache(
      metrics::FeatureTier::kDisk,
      {disk.n_hits, disk.n_misses, disk.n_evicted, disk.n_expired, disk.n_forgotten, disk.saved,
       disk.n_bytes, disk.n_entries, disk.n_unreadable, disk.n_dropped, disk.n_errors,
       disk.evicted_age, disk.oldest_use.value_or(Duration::zero())});
}

}  // namespace tessera::pipeline
