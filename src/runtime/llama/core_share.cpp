#include "runtime/llama/core_share.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <utility>

namespace tessera::runtime::llama {
namespace {

/// Cores in our affinity mask, ascending; at most `limit` of them, at least one.
std::vector<int> usable_cores(int limit) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE && core < GGML_MAX_N_THREADS; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  if (limit > 0 && limit < static_cast<int>(cores.size())) {
    cores.resize(static_cast<std::size_t>(limit));
  }
  return cores;
}

void pin_this_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  // Refused only when the core was taken from us since start; then the kernel's choice is fine.
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof(set), &set));
}

}  // namespace

int threads_worth(std::int64_t n_weights, int n_rows, int n_cores) {
  return static_cast<int>(
      std::clamp<std::int64_t>(n_weights * n_rows / kWorkPerThread, 1, n_cores));
}

/// A pool for one thread of ours plus a worker pinned to each core of `worker_cores`.
CoreShare::Pool CoreShare::make_pool(std::span<const int> worker_cores) {
  const int n_threads = static_cast<int>(worker_cores.size()) + 1;
  ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
  std::fill(std::begin(params.cpumask), std::end(params.cpumask), false);
  for (const int core : worker_cores) params.cpumask[core] = true;
  params.strict_cpu = !worker_cores.empty();
  params.poll = 0;
  // A pool that is created running pins the creating thread, and one that is woken from its pause
  // by a graph pins the computing thread, both to a worker's core. We pin our threads ourselves,
  // so: create paused, resume by hand.
  params.paused = true;
  ThreadPoolHandle handle(ggml_threadpool_new(&params));
  ggml_threadpool_resume(handle.get());
  return {std::move(handle), n_threads};
}

CoreShare::CoreShare(int n_threads, const Clock& clock)
    : clock_(clock), cores_(usable_cores(n_threads)), n_language_share_((n_cores() + 1) / 2) {
  const std::span<const int> all(cores_);
  const std::size_t n = all.size();
  language_pool_ = make_pool(all.subspan(1));
  language_pool_alone_ = make_pool({});
  encode_pool_all_ = make_pool(all.first(n - 1));
  const auto first_shared = std::min(static_cast<std::size_t>(n_language_share_), n - 1);
  encode_pool_share_ = make_pool(all.subspan(first_shared, n - 1 - first_shared));
}

void CoreShare::pin_language_thread() const {
  pin_this_thread(cores_.front());
}

void CoreShare::pin_encode_thread() const {
  pin_this_thread(cores_.back());
}

ggml_threadpool* CoreShare::language_pool(int n_threads) const {
  const Pool& pool = n_threads == 1 ? language_pool_alone_ : language_pool_;
  ggml_threadpool_resume(pool.handle.get());  // the library pauses the one that it puts away
  return pool.handle.get();
}

int CoreShare::begin_language() {
  language_works_.begin();
  n_language_cores_.store(n_cores());
  if (!encode_works_.at(clock_.now())) return n_cores();
  n_language_cores_.store(n_language_share_);
  n_language_cores_.notify_all();
  return n_language_share_;
}

void CoreShare::end_language() {
  language_works_.end(clock_.now());
  n_language_cores_.store(0);
  n_language_cores_.notify_all();
}

void CoreShare::begin_encode() {
  encode_works_.begin();
  for (int n = n_language_cores_.load(); n > n_language_share_; n = n_language_cores_.load()) {
    n_language_cores_.wait(n);
  }
}

void CoreShare::assign_encode_pool(ggml_backend_t backend) {
  const bool share = language_works_.at(clock_.now());
  const Pool& pool = share ? encode_pool_share_ : encode_pool_all_;
  ggml_backend_cpu_set_threadpool(backend, pool.handle.get());  // pauses the one it had
  ggml_threadpool_resume(pool.handle.get());
  ggml_backend_cpu_set_n_threads(backend, pool.n_threads);
}

}  // namespace tessera::runtime::llama
