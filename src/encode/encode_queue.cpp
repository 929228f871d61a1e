#include "encode/encode_queue.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/check.h"

namespace tessera::encode {
namespace {

TileShape shape_of(const Prompt& prompt, const VisualSegment& segment) {
  const ImagePlan& image = prompt.images[segment.image_index];
  return {image.planned, image.n_tiles, segment.n_tokens};
}

}  // namespace

int patches_of(const Prompt& prompt, const VisualSegment& segment) {
  const ImagePlan& image = prompt.images[segment.image_index];
  return image.n_tiles > 0 ? image.n_patches / image.n_tiles : 0;
}

std::vector<const VisualSegment*> visual_segments(const Prompt& prompt) {
  std::vector<const VisualSegment*> segments;
  for (const Segment& segment : prompt.segments) {
    if (const auto* visual = std::get_if<VisualSegment>(&segment)) segments.push_back(visual);
  }
  return segments;
}

EncodeQueue::Added EncodeQueue::add(std::unique_ptr<InFlight> request, TimePoint now) {
  const auto segments = visual_segments(request->prompt);
  TSR_CHECK(request->feature_keys.size() == segments.size() &&
            request->tiles.size() == segments.size() &&
            request->embeddings.size() == segments.size());
  Waiter& waiter = waiting_.emplace_back();
  waiter.tenant = request->tenant;
  waiter.since = now;
  waiter.tile_holds = std::move(request->tile_holds);
  Added added{&waiter, 0};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (request->embeddings[i] != nullptr) continue;
    waiter.missing.emplace_back(i, request->feature_keys[i]);
    auto& wanted = wanted_[request->feature_keys[i]];
    if (wanted == nullptr) {
      TSR_CHECK(request->tiles[i] != nullptr);
      wanted = std::make_unique<WantedTile>();
      wanted->key = request->feature_keys[i];
      wanted->prepared = std::move(request->tiles[i]);
      wanted->tenant = request->tenant;
      wanted->policy = request->request.cache;
      wanted->shape = shape_of(request->prompt, *segments[i]);
      wanted->n_patches = patches_of(request->prompt, *segments[i]);
    } else if (wanted->waiters.front() != &waiter) {
      ++added.n_shared;
    }
    if (std::ranges::find(wanted->waiters, &waiter) == wanted->waiters.end()) {
      wanted->waiters.push_back(&waiter);
      waiter.n_patches_left += wanted->n_patches;
    }
  }
  TSR_CHECK(!waiter.missing.empty());
  request->tiles.clear();
  waiter.request = std::move(request);
  return added;
}

/// In the order in which they are served.
std::vector<EncodeQueue::Waiter*> EncodeQueue::in_order(TimePoint now) {
  struct Place {
    std::int64_t turn = 0;  // the tenant's
    int n_patches = 0;      // −1 = aged
    std::size_t arrival = 0;
    Waiter* waiter = nullptr;
  };
  std::vector<Place> places;
  std::set<TenantId> seen;
  for (Waiter& waiter : waiting_) {
    const bool is_oldest = seen.insert(waiter.tenant).second;
    const bool is_aged = is_oldest && now - waiter.since > kAgingWindow;
    places.push_back({turns_.turn_of(waiter.tenant), is_aged ? -1 : waiter.n_patches_left,
                      places.size(), &waiter});
  }
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(place.turn, place.n_patches, place.arrival);
  });
  std::vector<Waiter*> order;
  for (const Place& place : places) order.push_back(place.waiter);
  return order;
}

EncodeQueue::Step EncodeQueue::next(TimePoint now, int n_patches_max) {
  Step step;
  std::int64_t n_patches = 0;
  for (Waiter* waiter : in_order(now)) {
    for (const auto& [segment, key] : waiter->missing) {
      if (!step.empty() && n_patches >= n_patches_max) return step;
      WantedTile* tile = wanted_.at(key).get();
      if (!step.empty()) {
        if (tile->shape != step.front()->shape || step.size() == kStepTilesMax ||
            n_patches + tile->n_patches > n_patches_max) {
          continue;
        }
        if (std::ranges::find(step, tile) != step.end()) continue;
      }
      // A model that does not say has tiles of one size.
      const int cost = std::max(tile->n_patches, 1);
      if (step.empty()) {
        turns_.serve(tile->tenant, cost);
      } else {
        turns_.add(tile->tenant, cost);
      }
      step.push_back(tile);
      n_patches += tile->n_patches;
    }
  }
  return step;
}

void EncodeQueue::deliver(Waiter& waiter, const WantedTile& tile,
                          const std::shared_ptr<const Embedding>& embedding) {
  std::erase_if(waiter.missing, [&](const auto& missing) {
    if (missing.second != tile.key) return false;
    if (waiter.request != nullptr) {
      waiter.request->embeddings[missing.first] = embedding;
    } else {
      waiter.arriving->land(missing.first, embedding);
    }
    return true;
  });
  waiter.n_patches_left -= tile.n_patches;
}

std::unique_ptr<InFlight> EncodeQueue::go_on(Waiter& waiter) {
  if (!waiter.missing.empty()) {
    waiter.arriving = std::make_shared<ArrivingFeatures>(waiter.request->stop, wake_);
    waiter.request->arriving = waiter.arriving;
  }
  return std::move(waiter.request);
}

Requests EncodeQueue::finish(const Digest& key, const std::shared_ptr<const Embedding>& embedding) {
  Requests on_their_way;
  const auto tile = wanted_.extract(key);
  if (tile.empty()) return on_their_way;
  for (Waiter* waiter : tile.mapped()->waiters) {
    deliver(*waiter, *tile.mapped(), embedding);
    if (waiter->request != nullptr) on_their_way.push_back(go_on(*waiter));
    if (waiter->missing.empty()) remove(*waiter);
  }
  return on_their_way;
}

Requests EncodeQueue::fail(const Digest& key, const Error& error) {
  Requests failed;
  const auto tile = wanted_.extract(key);
  if (tile.empty()) return failed;
  for (Waiter* waiter : tile.mapped()->waiters) {
    if (waiter->arriving != nullptr) waiter->arriving->fail(error);
    if (auto request = remove(*waiter)) failed.push_back(std::move(request));
  }
  return failed;
}

std::vector<EncodeQueue::Stopped> EncodeQueue::take_stopped(TimePoint now,
                                                            const EncodeTimes& times) {
  std::vector<Stopped> stopped;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Waiter& waiter = *at++;
    if (waiter.request == nullptr) {
      if (waiter.unwanted().stop_requested()) remove(waiter);
      continue;
    }
    // There is one encoder: whoever else wants its tiles, they come one after the other.
    Duration at_least{};
    for (const auto& [segment, key] : waiter.missing) {
      at_least += times.at_least(wanted_.at(key)->n_patches);
    }
    auto reason = waiter.request->should_stop(now, at_least);
    if (reason) stopped.push_back({remove(waiter), *std::move(reason)});
  }
  return stopped;
}

Requests EncodeQueue::clear(const Error& error) {
  Requests rest;
  while (!waiting_.empty()) {
    Waiter& waiter = waiting_.front();
    if (waiter.arriving != nullptr) waiter.arriving->fail(error);
    if (auto request = remove(waiter)) rest.push_back(std::move(request));
  }
  return rest;
}

/// @return  the request, if it is still here
std::unique_ptr<InFlight> EncodeQueue::remove(Waiter& waiter) {
  for (const auto& [segment, key] : waiter.missing) {
    const auto found = wanted_.find(key);
    if (found == wanted_.end()) continue;
    std::erase(found->second->waiters, &waiter);
    if (found->second->waiters.empty()) wanted_.erase(found);
  }
  std::unique_ptr<InFlight> request = std::move(waiter.request);
  waiting_.remove_if([&waiter](const Waiter& one) { return &one == &waiter; });
  return request;
}

}  // namespace tessera::encode
