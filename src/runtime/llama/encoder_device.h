// A ggml device that is the CPU device in all but one thing: its backend computes on the thread
// pool that CoreShare assigns. libmtmd has no way to hand its encoder a pool; it does take a
// device.
#pragma once

#include <memory>

#include "runtime/llama/core_share.h"

namespace tessera::runtime::llama {

/// Hook and device of one mtmd_context; must outlive it.
/// @thread made before the mtmd_context; then the encode thread's, but for stop()
class EncoderDevice {
 public:
  explicit EncoderDevice(CoreShare& cores);
  ~EncoderDevice();
  EncoderDevice(const EncoderDevice&) = delete;
  EncoderDevice& operator=(const EncoderDevice&) = delete;

  /// Sets device and evaluation callback.
  void attach(mtmd_context_params& params);

  /// Around one encode. While it runs, `stopped` is asked after each node and the core split is
  /// looked at again after each group of nodes.
  void begin(bool (*stopped)(const void*), const void* stopped_argument);
  /// @return true when the encode was stopped: its output is garbage although the library says ok
  bool end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::runtime::llama
