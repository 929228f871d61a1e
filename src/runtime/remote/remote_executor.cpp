#include "runtime/remote/remote_executor.h"

#include <algorithm>
#include <utility>

#include "runtime/remote/remote_model.h"

namespace tessera::runtime::remote {
namespace {

/// A token for each row that was to have one, of this vocabulary.
bool is_valid(const CallResult& result, std::span<const TokenRow> tokens, int n_vocabulary) {
  if (result.status != DecodeStatus::kOk) return true;
  const auto n_wanted =
      std::ranges::count_if(tokens, [](const TokenRow& row) { return row.sampler != nullptr; });
  return std::cmp_equal(result.sampled.size(), n_wanted) &&
         std::ranges::all_of(result.sampled, [&](const Result<SampledToken>& sampled) {
           return !sampled || (sampled->token >= 0 && sampled->token < n_vocabulary);
         });
}

}  // namespace

RemoteExecutor::RemoteExecutor(std::shared_ptr<EngineProcess> process)
    : process_(std::move(process)),
      life_(process_->connection()),
      cells_(process_->facts().n_sequences_max) {}

Availability RemoteExecutor::availability() {
  if (life_ != nullptr) return life_->is_alive() ? Availability::kReady : Availability::kLost;
  life_ = process_->connection();
  if (life_ != nullptr) return Availability::kReady;
  return process_->has_failed() ? Availability::kFailed : Availability::kStarting;
}

void RemoteExecutor::forget() {
  life_.reset();
  cells_.clear();
  set_aside_.clear();
  orders_.clear();
}

CallResult RemoteExecutor::decode(std::span<const TokenRow> tokens,
                                  std::span<const VisualRows> visual, const ShouldStop& stop) {
  if (life_ == nullptr || !life_->is_alive()) return {DecodeStatus::kLost, {}};
  DecodeCall call;
  for (const TokenRow& row : tokens) {
    const auto* sampler = static_cast<const RemoteSampler*>(row.sampler);
    if (sampler != nullptr && sampler->life != life_) return {DecodeStatus::kLost, {}};
    call.tokens.push_back(
        {row.sequence, row.token, row.position, sampler != nullptr ? sampler->number : 0});
  }
  for (const VisualRows& slice : visual) {
    call.visual.push_back({slice.sequence,
                           {slice.rows.begin(), slice.rows.end()},
                           {slice.positions.begin(), slice.positions.end()},
                           slice.first_row,
                           slice.n_segment_rows,
                           slice.non_causal});
  }
  call.orders = std::exchange(orders_, {});
  call.dropped_samplers = life_->take_dropped_samplers();
  auto result = life_->call_executor<CallResult>(Call::kDecode, call, stop);
  if (!result) return {DecodeStatus::kLost, {}};
  if (!is_valid(*result, tokens, process_->facts().model.n_vocabulary)) {
    life_->lose();
    return {DecodeStatus::kLost, {}};
  }
  if (result->status == DecodeStatus::kOk) {
    for (const TokenRow& row : tokens) cells_.add(row.sequence);
    for (const VisualRows& slice : visual) {
      for (int i = 0; i < slice.n_rows(); ++i) cells_.add(slice.sequence);
    }
  }
  return *std::move(result);
}

void RemoteExecutor::share(SequenceId from, SequenceId to, const KvRange& range) {
  cells_.share(from, to, range);
  orders_.push_back({to, from, range});
}

void RemoteExecutor::remove(SequenceId sequence) {
  cells_.remove(sequence);
  set_aside_.erase(sequence);
  orders_.push_back({sequence, sequence, {}});
}

bool RemoteExecutor::set_aside(SequenceId sequence) {
  if (!call_copy(Call::kSetAside, sequence)) return false;
  set_aside_[sequence] = cells_.n_of(sequence);
  cells_.remove(sequence);
  return true;
}

bool RemoteExecutor::bring_back(SequenceId sequence) {
  const auto n_tokens = set_aside_.extract(sequence);
  if (n_tokens.empty() || !call_copy(Call::kBringBack, sequence)) return false;
  for (int i = 0; i < n_tokens.mapped(); ++i) cells_.add(sequence);
  return true;
}

bool RemoteExecutor::call_copy(Call call, SequenceId sequence) {
  if (life_ == nullptr) return false;
  const CopyCall copy{std::exchange(orders_, {}), sequence};
  const auto done = life_->call_executor<bool>(call, copy, {});
  return done && *done;
}

}  // namespace tessera::runtime::remote
