// runtime::Executor by calls to the engine process. What frees and shares cells waits here for the
// next model call, and goes with it; how many are in use is known here as well.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/kv_cells.h"
#include "runtime/remote/engine_process.h"

namespace tessera::runtime::remote {

/// @thread engine thread only
class RemoteExecutor final : public Executor {
 public:
  explicit RemoteExecutor(std::shared_ptr<EngineProcess> process);

  int n_sequences_max() const override { return process_->facts().n_sequences_max; }
  int n_kv_cells() const override { return process_->facts().n_kv_cells; }
  int n_rows_max() const override { return process_->facts().n_rows_max; }
  bool can_mix() const override { return process_->facts().can_mix; }
  CallResult decode(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                    const ShouldStop& stop) override;
  Availability availability() override;
  void forget() override;
  bool can_share() const override { return process_->facts().can_share; }
  void share(SequenceId from, SequenceId to, const KvRange& range) override;
  void remove(SequenceId sequence) override;
  bool set_aside(SequenceId sequence) override;
  bool bring_back(SequenceId sequence) override;
  int n_kv_cells_used() const override { return cells_.n_used(); }

 private:
  bool call_copy(Call call, SequenceId sequence);

  const std::shared_ptr<EngineProcess> process_;
  std::shared_ptr<Connection> life_;  // whose KV cache it is; null = forgotten
  KvCells cells_;
  std::map<SequenceId, int> set_aside_;  // tokens of each
  std::vector<CellOrder> orders_;  // since the last call; ≤ a few for each sequence that ended
};

}  // namespace tessera::runtime::remote
