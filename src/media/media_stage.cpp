#include "media/media_stage.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "cache/feature_keys.h"
#include "core/either_stop.h"
#include "media/frames.h"

namespace tessera::media {
namespace {

bool shares(const InFlight& request) {
  return request.request.cache.scope == CachePolicy::Scope::kTenant;
}

wire::ProbeReply to_reply(const ProbedImage& image) {
  wire::ProbeReply reply;
  reply.format = image.format;
  reply.width = image.size.width;
  reply.height = image.size.height;
  reply.n_scans = image.n_scans;
  reply.n_frames = image.n_frames;
  return reply;
}

/// A refusal of one file names the field that it came in.
Error in_field(Error error, const std::string& field) {
  if (error.param.empty()) error.param = field;
  return error;
}

/// What the model is shown of the files: how many images each gives, and their sizes.
struct Shown {
  std::vector<std::size_t> n_frames;  // one a file
  std::vector<ImageSize> sizes;       // one an image
};

Shown shown(std::span<const ProbedImage> probed, std::span<const EncodedMedia> media) {
  Shown result;
  for (std::size_t i = 0; i < probed.size(); ++i) {
    result.n_frames.push_back(sample_frames(probed[i].n_frames, media[i].n_frames).size());
    result.sizes.insert(result.sizes.end(), result.n_frames.back(), probed[i].size);
  }
  return result;
}

}  // namespace

Result<std::vector<ImageSize>> probe_sizes(const DecoderOptions& options, const Limits& limits,
                                           Request& request, std::stop_token stop) {
  if (request.media.empty()) return std::vector<ImageSize>();
  TSR_ASSIGN_OR_RETURN(DecodeSession session,
                       DecodeSession::open(options, limits, request.media, std::move(stop)));
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());
  Shown images = shown(probed, request.media);
  show_frames(request.messages, images.n_frames);
  return std::move(images.sizes);
}

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
  return queue_.try_push(std::move(request));
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
  std::vector<Digest> contents;       // one a file
  std::vector<ProbedImage> probed;    // one a file; empty = not known
  std::vector<std::size_t> n_frames;  // one a file
  std::vector<ImageSize> targets;     // one a file; 0×0 = its pixels are not needed
  std::vector<bool> needed;           // one an image
};

Result<void> MediaStage::serve(InFlight& request, const std::stop_token& stop) {
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  // One session, two reasons to kill it: the request's and the stage's.
  const EitherStop either(request.stop, stop);

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  TSR_RETURN_IF_ERROR(quarantine_.check(request.tenant, request.request.media));
  Plan plan;
  for (const EncodedMedia& file : request.request.media) {
    TSR_ASSIGN_OR_RETURN(const Digest content,
                         cache::content_digest(file.fd.get(), file.size_bytes));
    plan.contents.push_back(content);
  }
  TSR_RETURN_IF_ERROR(plan_from_records(request, plan));
  const bool is_planned = !plan.probed.empty();
  if (is_planned && std::ranges::find(plan.needed, true) == plan.needed.end()) return {};

  request.trace.enter(Stage::kMediaDecode, clock_.now());
  TSR_ASSIGN_OR_RETURN(
      DecodeSession session,
      DecodeSession::open(options_.decoder, request.limits, request.request.media, either.token()));
  auto decoded = decode(request, session, plan);
  if (const auto death = session.death()) record_death(request, session, *death);
  return decoded;
}

/// Without a decoder, when all files were seen before.
Result<void> MediaStage::plan_from_records(InFlight& request, Plan& plan) {
  const auto& media = request.request.media;
  if (!shares(request)) return {};
  std::vector<ProbedImage> probed;
  for (std::size_t i = 0; i < media.size(); ++i) {
    const auto record = records_.find(request.tenant, plan.contents[i], media[i].n_frames);
    if (!record) return {};
    wire::ProbeReply reply = *record;
    reply.header.index = static_cast<std::uint32_t>(i);
    auto image = validate_probe(reply, i, media[i].n_frames, image_limits(request.limits));
    if (!image) return in_field(std::move(image).error(), media[i].field);
    probed.push_back(*image);
    auto within = check_request_pixels(probed, request.limits.request_pixels_max);
    if (!within) return in_field(std::move(within).error(), media[i].field);
  }
  plan.probed = std::move(probed);
  return make_plan(request, plan);
}

Result<void> MediaStage::make_plan(InFlight& request, Plan& plan) {
  request.trace.enter(Stage::kPlan, clock_.now());
  const auto& media = request.request.media;
  std::vector<ImageSize> sizes;
  for (std::size_t i = 0; i < media.size(); ++i) {
    const auto frames = sample_frames(plan.probed[i].n_frames, media[i].n_frames);
    plan.n_frames.push_back(frames.size());
    sizes.insert(sizes.end(), frames.size(), plan.probed[i].size);
    for (const std::uint32_t frame : frames) request.frames.push_back({plan.contents[i], frame});
  }
  show_frames(request.request.messages, plan.n_frames);
  TSR_ASSIGN_OR_RETURN(const std::vector<ImageSize> planned, hooks_.plan(request, sizes));
  plan.needed =
      hooks_.find_features ? hooks_.find_features(request) : std::vector<bool>(sizes.size(), true);
  std::size_t first = 0;
  for (const std::size_t n : plan.n_frames) {
    const auto begin = plan.needed.begin() + static_cast<std::ptrdiff_t>(first);
    const bool is_needed = std::find(begin, begin + static_cast<std::ptrdiff_t>(n), true) !=
                           begin + static_cast<std::ptrdiff_t>(n);
    plan.targets.push_back(is_needed ? planned[first] : ImageSize{});
    first += n;
  }
  return {};
}

void MediaStage::record_death(const InFlight& request, const DecodeSession& session,
                              DecoderDeath death) {
  if (hooks_.on_death) hooks_.on_death(death);
  // Whose zygote ended did nothing wrong.
  if (death == DecoderDeath::kLost) return;
  quarantine_.record_death(request.tenant, request.request.media[session.item_of_death()]);
}

Result<void> MediaStage::decode(InFlight& request, DecodeSession& session, Plan& plan) {
  TSR_ASSIGN_OR_RETURN(const std::vector<ProbedImage> probed, session.probe());
  if (plan.probed.empty()) {
    plan.probed = probed;
    remember(request, plan);
    TSR_RETURN_IF_ERROR(make_plan(request, plan));
  }
  if (auto reason = request.should_stop(clock_.now())) return *std::move(reason);
  if (std::ranges::find(plan.needed, true) == plan.needed.end()) return {};

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

void MediaStage::remember(const InFlight& request, const Plan& plan) {
  if (!shares(request)) return;
  for (std::size_t i = 0; i < plan.probed.size(); ++i) {
    records_.store(request.tenant, plan.contents[i], request.request.media[i].n_frames,
                   to_reply(plan.probed[i]));
  }
}

}  // namespace tessera::media
