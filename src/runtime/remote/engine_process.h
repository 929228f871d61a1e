// Keeps the process in which the model runs: starts tessera-engine, has it load the model, and
// starts it again when it dies. Everything native is in there, so that an abort of the library, or
// the system's out-of-memory killer, costs the requests in it and nothing else.
//
//   starting ──loaded──▶ ready ──died, or broke the rules──▶ starting …
//      └──not loaded──▶ failed ──after a pause──▶ starting …
//
// The pause before a start doubles with each death that follows soon on a start, up to a limit. The
// model must say the same of itself each time: one that was replaced on the disk does not start.
//
// @thread start and destroy by the owner; the rest from any thread
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "runtime/remote/connection.h"
#include "sandbox/child_process.h"

namespace tessera::runtime::remote {

struct EngineProcessOptions {
  std::string program;                   // absolute
  std::vector<std::string> environment;  // NAME=value, all that it gets
  LoadOptions load;                      // absolute paths

  /// Long enough that an engine that dies at once costs no processor, and short enough to wait
  /// through.
  std::chrono::milliseconds restart_delay_min{100};
  std::chrono::milliseconds restart_delay_max{5000};

  /// It died; with its exit status. On the keeper's thread. May be empty.
  std::function<void(sandbox::ExitStatus)> on_death;
};

class EngineProcess {
 public:
  /// Returns when the model is loaded.
  /// @errors  of the load; unavailable (no such program; it died while it loaded)
  static Result<std::shared_ptr<EngineProcess>> start(EngineProcessOptions options);
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;
  ~EngineProcess();

  /// What such a program computes with (LoadedModel::build), without loading a model.
  /// @errors  unavailable
  static Result<std::string> describe(const std::string& program,
                                      const std::vector<std::string>& environment);

  const Facts& facts() const { return facts_; }

  /// The life that runs; null while there is none.
  std::shared_ptr<Connection> connection() const;

  /// The last start failed.
  bool has_failed() const;

  /// As Model::wait_until_ready().
  Result<void> wait_until_ready(const ShouldStop& stop) const;

  /// For tests: 0 while there is none.
  pid_t pid() const { return pid_.load(); }

 private:
  struct Life {
    sandbox::ChildProcess process;
    std::shared_ptr<Connection> connection;
    Facts facts;
  };

  EngineProcess(EngineProcessOptions options, Life first);
  static Result<Life> open(const EngineProcessOptions& options, const std::stop_token& stop);
  void run(const std::stop_token& stop);
  void bury(Life& life, const std::stop_token& stop);
  std::optional<Life> open_again(const std::stop_token& stop);
  void publish(std::shared_ptr<Connection> connection, bool failed);

  const EngineProcessOptions options_;
  const Facts facts_;
  std::atomic<pid_t> pid_{0};
  std::optional<Life> first_;  // until the keeper runs

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<Connection> connection_ TSR_GUARDED_BY(mutex_);
  bool failed_ TSR_GUARDED_BY(mutex_) = false;

  std::jthread keeper_;
};

}  // namespace tessera::runtime::remote
