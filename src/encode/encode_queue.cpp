#include "encode/encode_queue.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tessera::encode {

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

int EncodeQueue::add(std::unique_ptr<InFlight> request, TimePoint now) {
  const auto segments = visual_segments(request->prompt);
  TSR_CHECK(request->feature_keys.size() == segments.size() &&
            request->tiles.size() == segments.size() &&
            request->embeddings.size() == segments.size());
  Waiting waiting{std::move(request), now, 0};
  InFlight& added = *waiting.request;
  int n_shared = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (added.embeddings[i] != nullptr) continue;
    auto& wanted = wanted_[added.feature_keys[i]];
    if (wanted == nullptr) {
      TSR_CHECK(added.tiles[i] != nullptr);
      wanted = std::make_unique<WantedTile>();
      wanted->key = added.feature_keys[i];
      wanted->prepared = std::move(added.tiles[i]);
      wanted->tenant = added.tenant;
      wanted->policy = added.request.cache;
      wanted->n_patches = patches_of(added.prompt, *segments[i]);
      wanted->n_tokens = segments[i]->n_tokens;
    } else {
      added.tiles[i].reset();
      if (wanted->waiters.front() != &added) ++n_shared;
    }
    if (std::ranges::find(wanted->waiters, &added) == wanted->waiters.end()) {
      wanted->waiters.push_back(&added);
      waiting.n_patches_left += wanted->n_patches;
    }
  }
  waiting_.push_back(std::move(waiting));
  return n_shared;
}

EncodeQueue::WantedTile* EncodeQueue::next(TimePoint now) {
  if (waiting_.empty()) return nullptr;
  const Waiting& oldest = waiting_.front();
  if (now - oldest.since > kAgingWindow) return next_of(*oldest.request);
  const auto smallest = std::ranges::min_element(waiting_, {}, &Waiting::n_patches_left);
  return next_of(*smallest->request);
}

EncodeQueue::WantedTile* EncodeQueue::next_of(const InFlight& request) {
  for (std::size_t i = 0; i < request.embeddings.size(); ++i) {
    if (request.embeddings[i] == nullptr) return wanted_.at(request.feature_keys[i]).get();
  }
  return nullptr;  // add() takes none such, finish() removes them
}

Requests EncodeQueue::finish(const WantedTile& tile, std::shared_ptr<const Embedding> embedding) {
  std::vector<InFlight*> complete;
  for (Waiting& waiting : waiting_) {
    InFlight& request = *waiting.request;
    if (std::ranges::find(tile.waiters, &request) == tile.waiters.end()) continue;
    waiting.n_patches_left -= tile.n_patches;
    for (std::size_t i = 0; i < request.feature_keys.size(); ++i) {
      if (request.feature_keys[i] == tile.key) request.embeddings[i] = embedding;
    }
    if (std::ranges::find(request.embeddings, nullptr) == request.embeddings.end()) {
      complete.push_back(&request);
    }
  }
  const Digest key = tile.key;
  wanted_.erase(key);
  return remove_all(complete);
}

Requests EncodeQueue::fail(const WantedTile& tile) {
  const std::vector<InFlight*> waiters = tile.waiters;
  const Digest key = tile.key;
  Requests failed = remove_all(waiters);
  wanted_.erase(key);
  return failed;
}

Requests EncodeQueue::remove_all(const std::vector<InFlight*>& requests) {
  return take_if([&requests](InFlight& request) {
    return std::ranges::find(requests, &request) != requests.end();
  });
}

std::unique_ptr<InFlight> EncodeQueue::remove(std::size_t index) {
  std::unique_ptr<InFlight> request = std::move(waiting_[index].request);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  for (const Digest& key : request->feature_keys) {
    const auto found = wanted_.find(key);
    if (found == wanted_.end()) continue;
    std::erase(found->second->waiters, request.get());
    if (found->second->waiters.empty()) wanted_.erase(found);
  }
  return request;
}

}  // namespace tessera::encode
