// What a planned prompt will cost, from shapes alone. Formulas with n tokens, width d, feed-forward
// width m, per layer, in multiply-adds; a FLOP is half of one:
//   language model, gated feed-forward   2 d² (1 + n_kv/n_h) n + 2 n² d + 3 n d m
//   vision tower (m_v = its own width)   4 N d_v² + 2 N d_v m_v + 2 N² d_v, for N patches of a tile
//   KV cache                             2 · layers · n_kv · head_dim · 2 bytes a token (f16)
// Sources: Kaplan et al. 2020 (arXiv:2001.08361) for the matrix products, FastV (arXiv:2403.06764)
// eq. 5 for the quadratic term; grouped-query attention scales keys and values by n_kv/n_h.
#pragma once

#include "core/prompt.h"
#include "runtime/runtime.h"

namespace tessera::prompt {

struct CostEstimate {
  double encode_flops = 0;   // 0 when the model file does not give the tower's shape
  double prefill_flops = 0;  // visual and text tokens
  double kv_bytes = 0;
};

CostEstimate estimate_cost(const runtime::ModelInfo& model, const Prompt& prompt);

}  // namespace tessera::prompt
