// The fake's Executor: keeps KV cells, computes transcripts, and checks every call against the
// contract of runtime.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/fake/fake_runtime.h"
#include "runtime/fake/fake_transcript.h"

namespace tessera::runtime::fake {

/// @thread engine thread only; reports use from another. The n_…max() and n_kv_cells() methods are
///         constants and may be called from anywhere.
class FakeExecutor final : public Executor {
 public:
  FakeExecutor(const FakeOptions& options, std::shared_ptr<const Model> model,
               std::shared_ptr<FakeControl> control);

  int n_sequences_max() const override { return static_cast<int>(sequences_.size()); }
  int n_kv_cells() const override { return n_kv_cells_; }
  int n_rows_max() const override { return n_rows_max_; }
  bool can_mix() const override { return can_mix_; }
  CallResult decode(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                    const ShouldStop& stop) override;
  Availability availability() override;
  void forget() override;
  bool can_share() const override { return can_share_; }
  void share(SequenceId from, SequenceId to, const KvRange& range) override;
  void remove(SequenceId sequence) override;
  bool set_aside(SequenceId sequence) override;
  bool bring_back(SequenceId sequence) override;
  int n_kv_cells_used() const override;

 private:
  /// What one token leaves in the KV cache: here, all that the sequence was up to it.
  struct Cell {
    Cell(int& cells, Transcript transcript, Position next_position, bool is_inside)
        : count(cells),
          transcript(std::move(transcript)),
          next_position(next_position),
          is_inside(is_inside) {
      ++count;
    }
    ~Cell() { --count; }
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;

    int& count;  // of all cells
    const Transcript transcript;
    const Position next_position;
    const bool is_inside;  // more of its visual segment follows
  };

  /// What the KV cache holds of one sequence.
  struct SequenceState {
    std::vector<std::shared_ptr<const Cell>> cells;
    Position next_position = 0;
    int n_unfinished = 0;  // rows of a visual segment of which some are missing; 0 = there is none
    int next_row = 0;      // of it
    Position segment_position = 0;  // where it began
    Transcript transcript;
  };

  /// A cell that is none.
  struct CellCopy {
    Transcript transcript;
    Position next_position = 0;
    bool is_inside = false;
  };

  /// What set_aside() keeps.
  struct Aside {
    std::vector<CellCopy> cells;
    SequenceState rest;  // without its cells
  };

  void check_thread() const;
  /// Reports the violation. @return false
  bool refuse(const std::string& message) const;
  bool is_known(SequenceId sequence) const;
  bool is_valid(std::span<const TokenRow> tokens, std::span<const VisualRows> visual) const;
  bool is_valid_beside(std::span<const TokenRow> tokens, const VisualRows& non_causal) const;
  bool is_valid(const TokenRow& row, const SequenceState& state) const;
  bool is_valid(const VisualRows& slice, const SequenceState& state) const;
  void take(const TokenRow& row, SequenceState& state);
  void take(const VisualRows& slice, int n_rows, SequenceState& state);
  SequenceState& state_of(SequenceId sequence);
  DecodeStatus run(std::span<const TokenRow> tokens, std::span<const VisualRows> visual,
                   const ShouldStop& stop, std::vector<std::vector<float>>& scores);
  /// What the fault plan says; unset = carry on.
  std::optional<DecodeStatus> planned_status(Call call, const ShouldStop& stop);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<FakeControl> control_;
  const int n_kv_cells_;
  const int n_rows_max_;
  const bool can_share_;
  const bool can_mix_;
  int n_losses_ = 0;         // that it knows of
  int n_kv_cells_used_ = 0;  // before the sequences, whose cells count themselves
  mutable std::optional<std::thread::id> thread_;  // the first that called
  std::vector<SequenceState> sequences_;           // [n_sequences_max]
  std::map<SequenceId, Aside> aside_;
};

}  // namespace tessera::runtime::fake
