#include "media/media_stage.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "cache/feature_keys.h"
#include "core/either_stop.h"
#include "media/check_media.h"
#include "media/frames.h"

namespace tessera::media {
namespace {

bool shares(const InFlight& request) {
  return request.request.cache.scope == CachePolicy::Scope::kTenant;
}

/// What the model is shown of the files: how many images each gives, and their sizes.
struct Shown {
  std::vector<std::size_t> n_frames;  // one a file
  std::vector<ImageSize> sizes;       // one an image
};

Shown shown(std::span<const ProbedImage> probed) {
  Shown result;
  for (const ProbedImage& file : probed) {
    result.n_frames.push_back(static_cast<std::size_t>(file.n_shown));
    result.sizes.insert(result.sizes.end(), result.n_frames.back(), file.size);
  }
  return result;
}

}  // namespace

MediaStage::MediaStage(MediaStageOptions options, const Clock& clock, MediaHooks hooks)
    : options_(std::move(options)),
      clock_(clock),
      hooks_(std::move(hooks)),
      quarantine_(clock),
      queue_(options_.queue_capacity) {
  for (int i = 0; i < options_.n_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    pthread_setname_np(threads_.back().native_handle(), "media");
  }
}

bool MediaStage::try_submit(std::unique_ptr<InFlight>&& request) {
  request->trace.enter(Stage::kMediaWait, clock_.now());
  const TenantId tenant = request->tenant;
  return queue_.try_push(tenant, std::move(request));
}

void MediaStage::shutdown() {
  queue_.close();
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  while (auto request = queue_.try_pop()) (*request)->end(shutting_down_error(), clock_.now());
}

void MediaStage::run(const std::stop_token& stop) {
  while (auto popped = queue_.pop(stop)) {
    std::unique_ptr<InFlight> request = *std::move(popped);
    if (const auto served = serve(*request, stop); !served) {
      request->media_holds.reset();  // before anybody learns of the end
      request->end(stop.stop_requested() ? shutting_down_error() : served.error(), clock_.now());
      continue;
    }
    request->request.media.clear();
    request->media_holds.reset();
    hooks_.next(std::move(request));
  }
}

/// What is found out about a request before its pixels are wanted.
struct MediaStage::Plan {
  std::vector<DecoderClass> classes;  // one a file
  std::vector<Digest> contents;       // one a file
  bool is_made = false;
  Shown shown;
  std::vector<ImageSize> targets;  // one a file; 0×0 = its pixels are not needed
  std::vector<bool> needed;        // one an image

  bool needs_pixels() const { return std::ranges::find(needed, true) != needed.end(); }
};

Result<void> MediaStage::serve(InFlight& request, const std::stop_token& stop) {
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  // One session, two reasons to kill it: the request's and the stage's.
  const EitherStop either(request.stop, stop);

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  const auto& media = request.request.media;
  TSR_RETURN_IF_ERROR(quarantine_.check_tenant(request.tenant));
  Plan plan;
  TSR_ASSIGN_OR_RETURN(plan.classes, check_media(options_.decoder.zygotes, request.limits, media));
  for (std::size_t i = 0; i < media.size(); ++i) {
    TSR_ASSIGN_OR_RETURN(const Digest content,
                         cache::content_digest(media[i].fd.get(), media[i].size_bytes));
    plan.contents.push_back(content);
    auto known = quarantine_.check_file(request.tenant, i, content);
    if (!known) return in_field(std::move(known).error(), media[i].field);
  }
  TSR_RETURN_IF_ERROR(plan_from_records(request, plan));
  if (plan.is_made && !plan.needs_pixels()) return {};

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  TSR_ASSIGN_OR_RETURN(DecodeSession session, DecodeSession::open(options_.decoder, request.limits,
                                                                  media, either.token()));
  auto decoded = decode(request, session, plan);
  if (!decoded) record_failure(request, session, plan, decoded.error());
  return decoded;
}

/// Without a decoder, when all files were seen before.
Result<void> MediaStage::plan_from_records(InFlight& request, Plan& plan) {
  if (!shares(request)) return {};
  const auto& media = request.request.media;
  std::vector<ProbedImage> probed;
  for (std::size_t i = 0; i < media.size(); ++i) {
    const int n_wanted = frames_wanted(media[i], plan.classes[i], request.limits);
    auto record = records_.find(request.tenant, plan.contents[i], n_wanted);
    if (!record) return {};
    record->header.index = static_cast<std::uint32_t>(i);
    auto image = validate_probe(*record, {i, plan.classes[i]}, n_wanted,
                                image_limits(request.limits, plan.classes[i]));
    // Beyond this request's limits: the decoder says in which way.
    if (!image) return {};
    probed.push_back(*image);
    if (!check_request_pixels(probed, request.limits)) return {};
  }
  return make_plan(request, probed, plan);
}

void MediaStage::remember(const InFlight& request, const DecodeSession& session, const Plan& plan) {
  if (!shares(request)) return;
  const auto& media = request.request.media;
  for (std::size_t i = 0; i < media.size(); ++i) {
    records_.store(request.tenant, plan.contents[i],
                   frames_wanted(media[i], plan.classes[i], request.limits), session.replies()[i]);
  }
}

Result<void> MediaStage::make_plan(InFlight& request, std::span<const ProbedImage> probed,
                                   Plan& plan) {
  request.trace.enter(Stage::kPlan, clock_.now());
  plan.is_made = true;
  plan.shown = shown(probed);
  for (std::size_t i = 0; i < probed.size(); ++i) {
    for (const auto frame : sample_frames(probed[i].n_frames, probed[i].n_shown)) {
      request.frames.push_back({plan.contents[i], frame});
    }
  }
  show_frames(request.request.messages, plan.shown.n_frames);
  TSR_ASSIGN_OR_RETURN(const std::vector<ImageSize> planned,
                       hooks_.plan(request, plan.shown.sizes));
  plan.needed = hooks_.find_features ? hooks_.find_features(request)
                                     : std::vector<bool>(planned.size(), true);
  std::size_t place = 0;  // in the prompt
  for (const std::size_t n : plan.shown.n_frames) {
    bool is_needed = false;
    for (std::size_t i = 0; i < n; ++i) is_needed = is_needed || plan.needed[place + i];
    plan.targets.push_back(is_needed ? planned[place] : ImageSize{});
    place += n;
  }
  return {};
}

void MediaStage::record_failure(const InFlight& request, const DecodeSession& session,
                                const Plan& plan, const Error& error) {
  const auto death = session.death();
  if (!death && !session.is_damaged()) return;
  const MediaItem& item = session.failed_item();
  const Digest& content = plan.contents[item.index];
  if (!death) {
    quarantine_.record_damage(request.tenant, content, error);
    return;
  }
  if (hooks_.on_death) hooks_.on_death(item.decoder_class, *death);
  switch (*death) {
    case DecoderDeath::kLost:  // whose zygote ended did nothing wrong
      break;
    case DecoderDeath::kTimeout:
      quarantine_.record_timeout(request.tenant, content);
      break;
    case DecoderDeath::kForbiddenCall:
    case DecoderDeath::kSignal:
    case DecoderDeath::kExit:
    case DecoderDeath::kProtocol:
      quarantine_.record_death(request.tenant, content);
  }
}

Result<void> MediaStage::decode(InFlight& request, DecodeSession& session, Plan& plan) {
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());
  if (!plan.is_made) {
    remember(request, session, plan);
    TSR_RETURN_IF_ERROR(make_plan(request, probed, plan));
  }
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  if (!plan.needs_pixels()) return {};

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  auto images = session.decode(plan.targets);
  if (hooks_.on_decoded) {
    hooks_.on_decoded(images ? std::nullopt : std::optional<Error>(images.error()));
  }
  if (!images) return std::move(images).error();

  request.trace.enter(Stage::kResize, clock_.now());
  std::size_t place = 0;  // in the prompt
  auto image = images->begin();
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    for (std::size_t frame = 0; frame < plan.shown.n_frames[i]; ++frame, ++place) {
      if (plan.targets[i] == ImageSize{}) continue;
      if (plan.needed[place]) TSR_RETURN_IF_ERROR(hooks_.prepare(request, place, *image));
      *image++ = Image{};  // its pixels are in the tiles now
    }
  }
  return {};
}

}  // namespace tessera::media
