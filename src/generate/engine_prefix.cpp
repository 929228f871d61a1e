// The engine and prompts that begin alike: whose KV cells a sequence takes, and whom it waits for.
#include <algorithm>
#include <utility>

#include "generate/engine.h"

namespace tessera::generate {
namespace {

/// Tokens that a sequence waits for while another computes them: fewer come with the rest of its
/// own slice.
constexpr int kAwaitedTokensMin = 16;

}  // namespace

/// What a sequence need not compute: of the kept prompts and the older sequences, the one that has
/// most of its prompt.
void Engine::find_prefix(Sequence& sequence) {
  const PromptKey& key = sequence.request().key;
  sequence.await(std::nullopt);
  if (!executor_->can_share()) return;
  const PromptPlace kept = key.shares ? prefixes_.longest(key) : PromptPlace{};
  const Sequence* leader = nullptr;
  PromptPlace place;
  for (const auto& other : sequences_) {
    if (other == nullptr || other->age() >= sequence.age() || other->request().is_aside) continue;
    const bool same_request = &other->request() == &sequence.request();
    if (!same_request && (!key.shares || !other->request().key.shares)) continue;
    const PromptPlace common = common_prefix(key, other->request().key);
    if (common.n_tokens <= place.n_tokens) continue;
    leader = other.get();
    place = common;
  }
  if (leader != nullptr && place.n_tokens >= kept.n_tokens + kAwaitedTokensMin) {
    sequence.await(Sequence::Awaited{leader->id(), place});
    return;
  }
  if (kept.n_tokens == 0) return;
  sequence.begin_at(prefixes_.give(key, sequence.id()));
  free_features(sequence.request());
  count_cached(sequence);
}

/// Gives to those who wait what has been computed for them.
void Engine::share_prefixes() {
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr || !sequence->awaited() || sequence->request().is_aside) continue;
    if (!sequence->awaited()->has_leader()) find_prefix(*sequence);
    if (!sequence->awaited()) continue;
    const Sequence& leader = *find(sequence->awaited()->leader);
    const PromptPlace place = sequence->awaited()->place;
    if (leader.n_prompt_done() >= place.n_tokens) take_prefix(*sequence, leader, place);
  }
}

void Engine::take_prefix(Sequence& sequence, const Sequence& leader, const PromptPlace& place) {
  executor_->share(
      leader.id(), sequence.id(),
      {0, place.n_tokens, sequence.request().key.pieces.front().begin, place.position});
  sequence.await(std::nullopt);
  sequence.begin_at(place);
  free_features(sequence.request());
  if (&leader.request() != &sequence.request()) count_cached(sequence);
}

/// Before a sequence goes that others wait for.
void Engine::abandon_followers(SequenceId leader) {
  const Sequence& leaving = *find(leader);
  for (const auto& sequence : sequences_) {
    if (sequence == nullptr || !sequence->awaited() || sequence->awaited()->leader != leader) {
      continue;
    }
    const PromptPlace place = sequence->awaited()->place;
    if (leaving.n_prompt_done() >= place.n_tokens) {
      take_prefix(*sequence, leaving, place);
    } else {
      sequence->await(Sequence::Awaited{});
    }
  }
}

/// Once a request: its choices have the same prompt.
void Engine::count_cached(const Sequence& sequence) {
  if (sequence.choice() != 0 || sequence.n_output_tokens() > 0) return;
  sequence.request().in_flight->trace.counts.n_cached_tokens = sequence.n_prompt_done();
}

}  // namespace tessera::generate
