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

}  // namespace

MediaStage::MediaStage(MediaStageOptions options, const Clock& clock, MediaHooks hooks)
    : options_(std::move(options)),
      clock_(clock),
      hooks_(std::move(hooks)),
      quarantine_(clock),
      room_(options_.limits, clock, [this](MediaRequest taken) { go_on(std::move(taken)); }),
      queue_(options_.queue_capacity) {
  for (int i = 0; i < options_.n_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    pthread_setname_np(threads_.back().native_handle(), "media");
  }
}

bool MediaStage::try_submit(std::unique_ptr<InFlight>&& request) {
  request->trace.enter(Stage::kMediaWait, clock_.now());
  const TenantId tenant = request->tenant;
  MediaRequest taken{std::move(request), {}, {}};
  if (queue_.try_push(tenant, std::move(taken))) return true;
  request = std::move(taken.request);  // NOLINT(bugprone-use-after-move): untouched
  return false;
}

/// A request that has waited for memory.
void MediaStage::go_on(MediaRequest taken) {
  const TenantId tenant = taken.request->tenant;
  if (queue_.try_push(tenant, std::move(taken))) return;
  // NOLINTNEXTLINE(bugprone-use-after-move): untouched
  taken.request->end(shutting_down_error(), clock_.now());
}

void MediaStage::shutdown() {
  queue_.close();
  for (std::jthread& thread : threads_) thread.request_stop();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  for (MediaRequest& taken : room_.close()) taken.request->end(shutting_down_error(), clock_.now());
  while (auto taken = queue_.try_pop()) taken->request->end(shutting_down_error(), clock_.now());
}

void MediaStage::run(const std::stop_token& stop) {
  while (auto popped = queue_.pop(stop)) {
    MediaRequest taken = *std::move(popped);
    const auto served = serve(taken, stop);
    if (served && *served == Served::kWaits) continue;
    InFlight& request = *taken.request;
    if (!served) {
      request.end(stop.stop_requested() ? shutting_down_error() : served.error(), clock_.now());
      continue;
    }
    request.release_media();
    hooks_.next(std::move(taken.request));
  }
}

Result<MediaStage::Served> MediaStage::serve(MediaRequest& taken, const std::stop_token& stop) {
  InFlight& request = *taken.request;
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  // One session, two reasons to kill it: the request's and the stage's.
  const EitherStop either(request.stop, stop);

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  if (!taken.plan.is_made) {
    TSR_RETURN_IF_ERROR(look_at_files(taken));
    TSR_RETURN_IF_ERROR(plan_from_records(taken));
    if (taken.plan.is_made) {
      TSR_ASSIGN_OR_RETURN(const Served served, take_room(taken));
      if (served == Served::kWaits) return served;
    }
  }
  if (taken.plan.is_made && !taken.plan.needs_pixels()) return Served::kReady;

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  TSR_ASSIGN_OR_RETURN(
      DecodeSession session,
      DecodeSession::open(options_.decoder, request.limits, request.request.media, either.token()));
  auto served = probe_and_decode(taken, session);
  if (!served) record_failure(request, session, taken.plan, served.error());
  return served;
}

/// Their classes and contents, and whether they are let in.
Result<void> MediaStage::look_at_files(MediaRequest& taken) {
  const InFlight& request = *taken.request;
  const auto& media = request.request.media;
  TSR_RETURN_IF_ERROR(quarantine_.check_tenant(request.tenant));
  TSR_ASSIGN_OR_RETURN(taken.plan.classes,
                       check_media(options_.decoder.zygotes, request.limits, media));
  for (std::size_t i = 0; i < media.size(); ++i) {
    TSR_ASSIGN_OR_RETURN(const Digest content,
                         cache::content_digest(media[i].fd.get(), media[i].size_bytes));
    taken.plan.contents.push_back(content);
    auto known = quarantine_.check_file(request.tenant, i, content);
    if (!known) return in_field(std::move(known).error(), media[i].field);
  }
  return {};
}

/// Of a request whose plan is made: memory for what it will compute.
Result<MediaStage::Served> MediaStage::take_room(MediaRequest& taken) {
  taken.request->trace.enter(Stage::kMediaWait, clock_.now());
  TSR_ASSIGN_OR_RETURN(const bool is_in, room_.enter(taken));
  return is_in ? Served::kReady : Served::kWaits;
}

/// Without a decoder, when all files were seen before.
Result<void> MediaStage::plan_from_records(MediaRequest& taken) {
  const InFlight& request = *taken.request;
  const auto& media = request.request.media;
  if (!shares(request) && !media.empty()) return {};
  std::vector<ProbedImage> probed;
  for (std::size_t i = 0; i < media.size(); ++i) {
    const DecoderClass decoder_class = taken.plan.classes[i];
    const int n_wanted = frames_wanted(media[i], decoder_class, request.limits);
    auto record = records_.find(request.tenant, taken.plan.contents[i], n_wanted);
    if (!record) return {};
    record->header.index = static_cast<std::uint32_t>(i);
    auto image = validate_probe(*record, {i, decoder_class}, n_wanted,
                                image_limits(request.limits, decoder_class));
    // Beyond this request's limits: the decoder says in which way.
    if (!image) return {};
    probed.push_back(*image);
    if (!check_request_pixels(probed, request.limits)) return {};
  }
  return make_plan(taken, probed);
}

void MediaStage::remember(const InFlight& request, const DecodeSession& session,
                          const MediaPlan& plan) {
  if (!shares(request)) return;
  const auto& media = request.request.media;
  for (std::size_t i = 0; i < media.size(); ++i) {
    records_.store(request.tenant, plan.contents[i],
                   frames_wanted(media[i], plan.classes[i], request.limits), session.replies()[i]);
  }
}

Result<void> MediaStage::make_plan(MediaRequest& taken, std::span<const ProbedImage> probed) {
  InFlight& request = *taken.request;
  MediaPlan& plan = taken.plan;
  request.trace.enter(Stage::kPlan, clock_.now());
  plan.is_made = true;
  std::vector<ImageSize> sizes;  // one an image
  for (std::size_t i = 0; i < probed.size(); ++i) {
    plan.n_frames.push_back(static_cast<std::size_t>(probed[i].n_shown));
    sizes.insert(sizes.end(), plan.n_frames.back(), probed[i].size);
    for (const auto frame : sample_frames(probed[i].n_frames, probed[i].n_shown)) {
      request.frames.push_back({plan.contents[i], frame});
    }
  }
  if (std::ranges::any_of(plan.n_frames, [](std::size_t n) { return n != 1; })) {
    request.asked_messages = request.request.messages;
    show_frames(request.request.messages, plan.n_frames);
  }
  TSR_ASSIGN_OR_RETURN(const std::vector<ImageSize> planned, hooks_.plan(request, sizes));
  plan.needed = hooks_.find_features ? hooks_.find_features(request)
                                     : std::vector<bool>(planned.size(), true);
  std::size_t place = 0;  // in the prompt
  for (const std::size_t n : plan.n_frames) {
    bool is_needed = false;
    for (std::size_t i = 0; i < n; ++i) is_needed = is_needed || plan.needed[place + i];
    plan.targets.push_back(is_needed ? planned[place] : ImageSize{});
    place += n;
  }
  if (hooks_.bytes_of) taken.bytes = hooks_.bytes_of(request);
  return {};
}

void MediaStage::record_failure(const InFlight& request, const DecodeSession& session,
                                const MediaPlan& plan, const Error& error) {
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

Result<MediaStage::Served> MediaStage::probe_and_decode(MediaRequest& taken,
                                                        DecodeSession& session) {
  InFlight& request = *taken.request;
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());
  if (!taken.plan.is_made) {
    remember(request, session, taken.plan);
    TSR_RETURN_IF_ERROR(make_plan(taken, probed));
    TSR_ASSIGN_OR_RETURN(const Served served, take_room(taken));
    if (served == Served::kWaits) return served;
  }
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  if (taken.plan.needs_pixels()) TSR_RETURN_IF_ERROR(decode(request, session, taken.plan));
  return Served::kReady;
}

Result<void> MediaStage::decode(InFlight& request, DecodeSession& session, const MediaPlan& plan) {
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
    for (std::size_t frame = 0; frame < plan.n_frames[i]; ++frame, ++place) {
      if (plan.targets[i] == ImageSize{}) continue;
      if (plan.needed[place]) TSR_RETURN_IF_ERROR(hooks_.prepare(request, place, *image));
      *image++ = Image{};  // its pixels are in the tiles now
    }
  }
  return {};
}

}  // namespace tessera::media
