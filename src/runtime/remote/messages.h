// What the server and its engine process say to each other. The server calls, the engine answers;
// one call at a time on a line, and a line for each kind of thread that calls (Line).
//
//   control line   kDescribe → what computes; or kLoad: files and sizes, with the other lines'
//                  descriptors → Facts. Once; its end is the end of the engine
//   model lines    kApplyChatTemplate, kTokenize, kPrepare, kMakeSampler
//   encode line    kEncode
//   decode line    kDecode, kSetAside, kBringBack
//
// What lives in the engine has a number that the server chose: sets of prepared tiles, samplers.
// Those that the server has let go of come with the next call that concerns them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/remote/values.h"

namespace tessera::runtime::remote {

enum class Call : std::uint32_t {
  kDescribe,
  kLoad,
  kApplyChatTemplate,
  kTokenize,
  kPrepare,
  kMakeSampler,
  kEncode,
  kDecode,
  kSetAside,
  kBringBack,
  kStop,  // no call: the one that runs is to end
};

/// What the model, the encoder and the executor say about themselves; never changes.
struct Facts {
  ModelInfo model;
  std::vector<std::int64_t> files;  // what tells each from another one of its name
  std::string build;                // LoadedModel::build
  std::vector<std::string> pieces;  // [n_vocabulary]
  bool has_encoder = false;
  bool takes_batches = false;
  int n_sequences_max = 0;
  int n_kv_cells = 0;
  int n_rows_max = 0;
  bool can_mix = false;
  bool can_share = false;
};

struct TokenizeCall {
  std::vector<PromptPart> parts;
  std::vector<ImageInput> images;
};

struct PrepareCall {
  std::vector<std::uint64_t> dropped_sets;
  std::uint64_t set = 0;  // the number that the tiles get together
  Image image;
};

/// By set and place in it.
struct TileName {
  std::uint64_t set = 0;
  std::uint64_t tile = 0;
};

struct EncodeCall {
  std::vector<std::uint64_t> dropped_sets;
  std::vector<TileName> tiles;
};

struct MakeSamplerCall {
  std::uint64_t sampler = 0;
  SamplerOptions options;
};

/// Executor::remove(), or share() where `from` is another sequence.
struct CellOrder {
  SequenceId sequence;
  SequenceId from;
  KvRange range;
};

/// TokenRow; sampler 0 = none.
struct WireTokenRow {
  SequenceId sequence;
  TokenId token = 0;
  Position position = 0;
  std::uint64_t sampler = 0;
};

/// VisualRows.
struct WireVisualRows {
  SequenceId sequence;
  std::vector<float> rows;
  std::vector<VisualPosition> positions;
  int first_row = 0;
  int n_segment_rows = 0;
  bool non_causal = false;
};

/// Executor::set_aside() or bring_back().
struct CopyCall {
  std::vector<CellOrder> orders;  // before the call
  SequenceId sequence;
};

struct DecodeCall {
  std::vector<CellOrder> orders;  // before the call
  std::vector<std::uint64_t> dropped_samplers;
  std::vector<WireTokenRow> tokens;
  std::vector<WireVisualRows> visual;
};

void pass(auto& parcel, Of<Facts> auto& facts) {
  parcel(facts.model, facts.files, facts.build, facts.pieces, facts.has_encoder,
         facts.takes_batches, facts.n_sequences_max, facts.n_kv_cells, facts.n_rows_max,
         facts.can_mix, facts.can_share);
}
void pass(auto& parcel, Of<TokenizeCall> auto& call) {
  parcel(call.parts, call.images);
}
void pass(auto& parcel, Of<PrepareCall> auto& call) {
  parcel(call.dropped_sets, call.set, call.image);
}
void pass(auto& parcel, Of<TileName> auto& name) {
  parcel(name.set, name.tile);
}
void pass(auto& parcel, Of<EncodeCall> auto& call) {
  parcel(call.dropped_sets, call.tiles);
}
void pass(auto& parcel, Of<MakeSamplerCall> auto& call) {
  parcel(call.sampler, call.options);
}
void pass(auto& parcel, Of<CellOrder> auto& order) {
  parcel(order.sequence, order.from, order.range);
}
void pass(auto& parcel, Of<WireTokenRow> auto& row) {
  parcel(row.sequence, row.token, row.position, row.sampler);
}
void pass(auto& parcel, Of<WireVisualRows> auto& slice) {
  parcel(slice.sequence, slice.rows, slice.positions, slice.first_row, slice.n_segment_rows,
         slice.non_causal);
}
void pass(auto& parcel, Of<CopyCall> auto& call) {
  parcel(call.orders, call.sequence);
}
void pass(auto& parcel, Of<DecodeCall> auto& call) {
  parcel(call.orders, call.dropped_samplers, call.tokens, call.visual);
}

}  // namespace tessera::runtime::remote
