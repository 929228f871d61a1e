// Prompts whose KV cells are kept after their request: whoever asks with the same beginning, e.g.
// about the same image, computes only what differs. A radix tree in effect: kept prompts share the
// cells of what they have in common, so that each token of the tree is one cell.
//
// Each kept prompt has a sequence id of its own, which never runs. Cells are shared, not copied
// (Executor::share). What was used longest ago goes first; what runs goes never, because it is not
// here. Tenants never meet: keys of two tenants have nothing in common.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "generate/prompt_key.h"
#include "runtime/runtime.h"

namespace tessera::generate {

/// Shorter prompts are computed again: keeping one costs a look at every cell, as much as a few
/// rows.
inline constexpr int kKeptTokensMin = 32;

struct KvPrefixOptions {
  SequenceId first_id;  // of n_max ids that nobody else uses
  int n_max = 0;        // prompts; 0 = keep nothing
  int n_cells_max = 0;  // of all of them
};

/// @thread engine thread only
class KvPrefixes {
 public:
  /// @param executor  outlives it
  KvPrefixes(runtime::Executor& executor, const KvPrefixOptions& options);

  /// As far as a prompt is kept.
  PromptPlace longest(const PromptKey& prompt) const;

  /// Gives the longest kept beginning of a prompt to an empty sequence.
  /// @return  where the sequence goes on
  PromptPlace give(const PromptKey& prompt, SequenceId to);

  /// Keeps a prompt whose cells `from` has, all of them and perhaps more.
  void keep(const PromptKey& prompt, SequenceId from);

  /// Drops what was used longest ago until at most so many cells are left.
  void shrink_to(int n_cells);

  /// Drops the one that was used longest ago; there is one.
  void drop_oldest();

  void forget(TenantId tenant);

  /// Cells in use by kept prompts. Others may use them too.
  int n_cells() const { return n_cells_; }
  std::size_t n_prompts() const { return kept_.size(); }

 private:
  struct Kept {
    SequenceId id;
    PromptKey key;
    std::uint64_t use = 0;  // number of the last one
  };

  std::vector<Kept>::iterator best(const PromptKey& prompt);
  void drop(std::vector<Kept>::iterator kept);
  void count_cells();

  runtime::Executor& executor_;
  const KvPrefixOptions options_;
  std::vector<Kept> kept_;  // ≤ options_.n_max
  std::vector<SequenceId> free_ids_;
  int n_cells_ = 0;
  std::uint64_t n_uses_ = 0;
};

}  // namespace tessera::generate
