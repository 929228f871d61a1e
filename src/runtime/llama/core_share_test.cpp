#include "runtime/llama/core_share.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

namespace tessera::runtime::llama {
namespace {

constexpr std::size_t kThreadsMax = 256;

/// Which core ran each thread of a graph.
struct Observed {
  int n_threads = 0;
  std::array<int, kThreadsMax> cores{};
};

void observe(ggml_tensor* /*target*/, const ggml_tensor* /*source*/, int thread, int n_threads,
             void* observed) {
  auto* seen = static_cast<Observed*>(observed);
  if (thread == 0) seen->n_threads = n_threads;
  seen->cores[static_cast<std::size_t>(thread)] = sched_getcpu();
}

/// Runs a graph of one operation on the encoder's backend as CoreShare sets it up.
Observed run_encode_graph(CoreShare& cores) {
  Observed observed;
  ggml_context* context = ggml_init({std::size_t{1} << 20U, nullptr, /*no_alloc=*/false});
  ggml_tensor* source = ggml_new_tensor_1d(context, GGML_TYPE_F32, 8);
  ggml_tensor* target = ggml_map_custom1(context, source, observe, GGML_N_TASKS_MAX, &observed);
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, target);
  ggml_backend_t backend = ggml_backend_cpu_init();
  cores.assign_encode_pool(backend);
  EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
  ggml_backend_free(backend);
  ggml_free(context);
  return observed;
}

/// Leaves only the first usable core to the calling thread and what it starts.
int keep_one_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::size_t first = 0;
  while (CPU_ISSET(first, &set) == 0) ++first;
  CPU_ZERO(&set);
  CPU_SET(first, &set);
  EXPECT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
  return static_cast<int>(first);
}

TEST(CoreShare, GivesOneSideEveryCoreWhileTheOtherRests) {
  ManualClock clock;
  CoreShare cores(0, clock);

  EXPECT_EQ(cores.begin_language(), cores.n_cores());
  cores.end_language();
  clock.advance(kLinger);
  EXPECT_EQ(run_encode_graph(cores).n_threads, cores.n_cores());
}

TEST(CoreShare, LeavesEachSideAtLeastOneThreadWhileBothWork) {
  const int n_usable = CoreShare(0).n_cores();
  for (int n = 1; n <= std::min(n_usable, 8); ++n) {
    CoreShare cores(n);
    ASSERT_EQ(cores.n_cores(), n);
    cores.begin_encode();
    const int n_language = cores.begin_language();
    const int n_encode = run_encode_graph(cores).n_threads;

    EXPECT_GE(n_language, 1);
    EXPECT_GE(n_encode, 1);
    // One core is shared by both; more are split without a remainder.
    EXPECT_EQ(n_language + n_encode, std::max(n, 2));
    cores.end_language();
    cores.end_encode();
  }
}

TEST(CoreShare, TakesTheSplitBackWhenOneSideEnds) {
  ManualClock clock;
  CoreShare cores(0, clock);
  const int n_language_share = (cores.n_cores() + 1) / 2;
  const int n_encode_share = std::max(1, cores.n_cores() - n_language_share);
  cores.begin_encode();
  cores.begin_language();
  cores.end_language();

  EXPECT_EQ(run_encode_graph(cores).n_threads, n_encode_share) << "the next token may come";
  clock.advance(kLinger);
  EXPECT_EQ(run_encode_graph(cores).n_threads, cores.n_cores());

  cores.end_encode();
  EXPECT_EQ(cores.begin_language(), n_language_share) << "the next tile may come";
  cores.end_language();
  clock.advance(kLinger);
  EXPECT_EQ(cores.begin_language(), cores.n_cores());
}

// Both begin again and again, at whatever moment of the other's call.
TEST(CoreShare, NoEncodeRunsBesideACallThatHasAllCores) {
  ManualClock clock;
  CoreShare cores(0, clock);
  const int n_share = (cores.n_cores() + 1) / 2;  // one core is shared by both
  std::atomic<bool> has_all{false};
  std::atomic<int> n_beside{0};
  std::jthread encode([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      cores.begin_encode();
      if (has_all) ++n_beside;
      cores.end_encode();
      clock.advance(kLinger);
      std::this_thread::yield();
    }
  });
  int n_with_all = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool all = cores.begin_language() > n_share;
    has_all = all;
    std::this_thread::yield();
    has_all = false;
    cores.end_language();
    n_with_all += all ? 1 : 0;
  }
  encode.request_stop();
  encode.join();

  EXPECT_EQ(n_beside, 0);
  EXPECT_EQ(n_with_all > 0, cores.n_cores() > 1);
}

TEST(CoreShare, ComputesOnAsManyCoresAsThreads) {
  CoreShare cores(0);
  Observed observed;
  std::jthread encode([&] {
    cores.pin_encode_thread();
    observed = run_encode_graph(cores);
  });
  encode.join();

  const std::set<int> used(observed.cores.begin(), observed.cores.begin() + observed.n_threads);
  EXPECT_EQ(used.size(), static_cast<std::size_t>(cores.n_cores()));
}

TEST(CoreShare, UsesMoreThreadsOnlyForWorkThatPays) {
  EXPECT_EQ(threads_worth(900'000, 1, 8), 1);
  EXPECT_EQ(threads_worth(2'900'000, 1, 8), 2);
  EXPECT_EQ(threads_worth(2'900'000, 1, 1), 1);
  EXPECT_EQ(threads_worth(2'900'000, 512, 8), 8);
  EXPECT_EQ(threads_worth(500'000'000, 1, 2), 2);
  EXPECT_EQ(threads_worth(500'000'000'000, 2048, 64), 64);
  EXPECT_EQ(threads_worth(0, 1, 4), 1);
}

TEST(CoreShare, NeverTakesMoreCoresThanThereAre) {
  EXPECT_EQ(CoreShare(100'000).n_cores(), CoreShare(0).n_cores());
}

TEST(CoreShare, WorksOnOneCore) {
  std::jthread restricted([] {
    const int core = keep_one_core();
    CoreShare cores(0);
    EXPECT_EQ(cores.n_cores(), 1);
    cores.begin_encode();
    EXPECT_EQ(cores.begin_language(), 1);
    cores.pin_language_thread();
    cores.pin_encode_thread();

    const Observed observed = run_encode_graph(cores);

    EXPECT_EQ(observed.n_threads, 1);
    EXPECT_EQ(observed.cores[0], core);
  });
  restricted.join();
}

}  // namespace
}  // namespace tessera::runtime::llama
