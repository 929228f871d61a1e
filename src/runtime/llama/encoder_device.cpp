#include "runtime/llama/encoder_device.h"

#include <ggml-backend-impl.h>

namespace tessera::runtime::llama {
namespace {

/// Graph nodes between two looks at the core split. 16 nodes cost about 1 % of
/// an encode in extra synchronisation and are a few milliseconds on a large tower.
constexpr int kNodesPerGroup = 16;

}  // namespace

struct EncoderDevice::State {
  ggml_backend_device device;  // first: init_backend() gets a pointer to it
  CoreShare* cores = nullptr;
  ggml_backend_t backend = nullptr;  // owned by the mtmd_context
  bool (*stopped)(const void*) = nullptr;
  const void* stopped_argument = nullptr;
  int n_nodes = 0;
  bool was_stopped = false;

  static ggml_backend_t init_backend(ggml_backend_dev_t device, const char* /*params*/) {
    // The device is the first member of a standard-layout State.
    auto* state = reinterpret_cast<State*>(device);
    state->backend = ggml_backend_cpu_init();
    if (state->backend != nullptr) {
      state->cores->assign_encode_pool(state->backend);
      ggml_backend_cpu_set_abort_callback(state->backend, &State::on_abort_check, state);
    }
    return state->backend;
  }

  /// Asked by ggml's computing thread after each node: on large images a group takes seconds.
  static bool on_abort_check(void* self) {
    auto* state = static_cast<State*>(self);
    if (state->stopped == nullptr || !state->stopped(state->stopped_argument)) return false;
    state->was_stopped = true;
    return true;
  }

  static bool on_node(ggml_tensor* /*node*/, bool asking, void* self) {
    auto* state = static_cast<State*>(self);
    if (asking) return ++state->n_nodes % kNodesPerGroup == 0;
    if (on_abort_check(self)) return false;
    state->cores->assign_encode_pool(state->backend);
    return true;
  }
};

EncoderDevice::EncoderDevice(CoreShare& cores) : state_(std::make_unique<State>()) {
  state_->device = *ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  state_->device.iface.init_backend = &State::init_backend;
  state_->cores = &cores;
}

EncoderDevice::~EncoderDevice() = default;

void EncoderDevice::attach(mtmd_context_params& params) {
  params.use_gpu = true;  // "use the device below", in spite of the name
  params.device = &state_->device;
  params.cb_eval = &State::on_node;
  params.cb_eval_user_data = state_.get();
}

void EncoderDevice::begin(bool (*stopped)(const void*), const void* stopped_argument) {
  state_->stopped = stopped;
  state_->stopped_argument = stopped_argument;
  state_->was_stopped = false;
  state_->n_nodes = 0;
  state_->cores->begin_encode();
  state_->cores->assign_encode_pool(state_->backend);
}

bool EncoderDevice::end() {
  state_->cores->end_encode();
  state_->stopped = nullptr;
  return state_->was_stopped;
}

}  // namespace tessera::runtime::llama
