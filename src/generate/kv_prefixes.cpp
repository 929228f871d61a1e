#include "generate/kv_prefixes.h"

#include <algorithm>
#include <utility>

namespace tessera::generate {
namespace {

/// Tokens of a prompt from the beginning to a place.
runtime::KvRange range_to(const PromptKey& prompt, const PromptPlace& place) {
  return {0, place.n_tokens, prompt.pieces.front().begin, place.position};
}

}  // namespace

KvPrefixes::KvPrefixes(runtime::Executor& executor, const KvPrefixOptions& options)
    : executor_(executor), options_(options) {
  for (int i = options.n_max; i-- > 0;) free_ids_.push_back(SequenceId{options.first_id.value + i});
}

std::vector<KvPrefixes::Kept>::iterator KvPrefixes::best(const PromptKey& prompt) {
  return std::ranges::max_element(
      kept_, {}, [&](const Kept& kept) { return n_common_tokens(prompt, kept.key); });
}

PromptPlace KvPrefixes::longest(const PromptKey& prompt) const {
  PromptPlace longest;
  for (const Kept& kept : kept_) {
    const PromptPlace place = common_prefix(prompt, kept.key);
    if (place.n_tokens > longest.n_tokens) longest = place;
  }
  return longest;
}

PromptPlace KvPrefixes::give(const PromptKey& prompt, SequenceId to) {
  const auto kept = best(prompt);
  if (kept == kept_.end()) return {};
  const PromptPlace place = common_prefix(prompt, kept->key);
  if (place.n_tokens == 0) return {};
  kept->use = ++n_uses_;
  executor_.share(kept->id, to, range_to(prompt, place));
  return place;
}

void KvPrefixes::keep(const PromptKey& prompt, SequenceId from) {
  const int n_tokens = prompt.n_tokens();
  if (options_.n_max == 0 || n_tokens < kKeptTokensMin || n_tokens > options_.n_cells_max) return;
  const auto known = best(prompt);
  const int n_known = known == kept_.end() ? 0 : n_common_tokens(prompt, known->key);
  if (n_known == n_tokens) {
    known->use = ++n_uses_;
    return;
  }
  if (n_known > 0 && n_known == known->key.n_tokens()) {
    drop(known);  // the new one holds all of it
    keep(prompt, from);
    return;
  }
  if (free_ids_.empty()) drop_oldest();

  Kept kept{free_ids_.back(), prompt, ++n_uses_};
  free_ids_.pop_back();
  // What another kept prompt has already is its, so that it is there once.
  const auto shared = best(prompt);
  runtime::KvRange rest{0, n_tokens, prompt.pieces.front().begin, prompt.pieces.back().end};
  if (shared != kept_.end()) {
    const PromptPlace place = common_prefix(prompt, shared->key);
    if (place.n_tokens > 0) {
      executor_.share(shared->id, kept.id, range_to(prompt, place));
      rest = {place.n_tokens, n_tokens - place.n_tokens, place.position, rest.end};
    }
  }
  executor_.share(from, kept.id, rest);
  kept_.push_back(std::move(kept));
  count_cells();
  shrink_to(options_.n_cells_max);
}

void KvPrefixes::shrink_to(int n_cells) {
  while (n_cells_ > n_cells && !kept_.empty()) drop_oldest();
}

void KvPrefixes::drop_oldest() {
  drop(std::ranges::min_element(kept_, {}, &Kept::use));
}

void KvPrefixes::forget(TenantId tenant) {
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (kept_[i].key.tenant == tenant) drop(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void KvPrefixes::drop(std::vector<Kept>::iterator kept) {
  executor_.remove(kept->id);
  free_ids_.push_back(kept->id);
  kept_.erase(kept);
  count_cells();
}

/// Tokens of the tree: what each adds to those before it.
void KvPrefixes::count_cells() {
  n_cells_ = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    int n_shared = 0;
    for (std::size_t k = 0; k < i; ++k) {
      n_shared = std::max(n_shared, n_common_tokens(kept_[i].key, kept_[k].key));
    }
    n_cells_ += kept_[i].key.n_tokens() - n_shared;
  }
}

}  // namespace tessera::generate
