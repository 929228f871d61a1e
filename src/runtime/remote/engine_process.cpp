#include "runtime/remote/engine_process.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "sandbox/stop_event.h"

namespace tessera::runtime::remote {
namespace {

/// From the end of the engine's conversation to the end of its process, before it is killed.
constexpr std::chrono::milliseconds kReapTimeout{200};

/// One that lived so long did not die of its start.
constexpr std::chrono::seconds kLongLife{30};

/// How often who waits for the engine asks whether to go on waiting.
constexpr std::chrono::milliseconds kWaitLook{20};

Error start_failed() {
  return make_error(ErrorCode::kUnavailable, "engine_start_failed",
                    "the engine process ended while it loaded the model");
}

/// Native messages go where ours go.
Result<sandbox::SpawnedChild> spawn(const std::string& program,
                                    const std::vector<std::string>& environment) {
  if (::access(program.c_str(), X_OK) != 0) {
    return make_error(ErrorCode::kNotFound, "engine_not_found", "no engine program at " + program);
  }
  sandbox::SpawnOptions options;
  options.path = program;
  options.inherit_stderr = true;
  options.environment = environment;
  return sandbox::spawn_child(options);
}

std::vector<std::byte> bytes_of(const Facts& facts) {
  ParcelWriter parcel;
  parcel(facts);
  return {parcel.bytes().begin(), parcel.bytes().end()};
}

}  // namespace

Result<std::shared_ptr<EngineProcess>> EngineProcess::start(EngineProcessOptions options) {
  TSR_ASSIGN_OR_RETURN(Life life, open(options, {}));
  return std::shared_ptr<EngineProcess>(new EngineProcess(std::move(options), std::move(life)));
}

Result<std::string> EngineProcess::describe(const std::string& program,
                                            const std::vector<std::string>& environment) {
  TSR_ASSIGN_OR_RETURN(sandbox::SpawnedChild child, spawn(program, environment));
  Line control(std::move(child.channel));
  const auto answer = control.call(Call::kDescribe, {});
  if (!answer) return start_failed();
  auto build = answer->read<Result<std::string>>();
  return build ? *std::move(build) : Result<std::string>(start_failed());
}

EngineProcess::EngineProcess(EngineProcessOptions options, Life first)
    : options_(std::move(options)), facts_(first.facts), first_(std::move(first)) {
  pid_ = first_->process.pid();
  publish(first_->connection, false);
  keeper_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

EngineProcess::~EngineProcess() {
  keeper_.request_stop();
  keeper_.join();
}

std::shared_ptr<Connection> EngineProcess::connection() const {
  MutexLock lock(mutex_);
  return connection_;
}

bool EngineProcess::has_failed() const {
  MutexLock lock(mutex_);
  return failed_;
}

Result<void> EngineProcess::wait_until_ready(const ShouldStop& stop) const {
  MutexLock lock(mutex_);
  while (connection_ == nullptr || !connection_->is_alive()) {
    if (failed_) return engine_unavailable_error();
    if (stop && stop()) return {};
    changed_.wait_for(mutex_, {}, kWaitLook);
  }
  return {};
}

Result<EngineProcess::Life> EngineProcess::open(const EngineProcessOptions& options,
                                                const std::stop_token& stop) {
  std::vector<Line> lines;
  std::vector<sandbox::Channel> far_ends;
  std::vector<int> far_fds;
  for (std::size_t i = 0; i < kLines; ++i) {
    TSR_ASSIGN_OR_RETURN(auto ends, sandbox::Channel::make_pair());
    lines.emplace_back(std::move(ends.first));
    far_fds.push_back(ends.second.fd());
    far_ends.push_back(std::move(ends.second));
  }
  TSR_ASSIGN_OR_RETURN(sandbox::SpawnedChild child, spawn(options.program, options.environment));

  ParcelWriter parcel;
  parcel(options.load);
  Line control(std::move(child.channel));
  const auto answer = control.call(
      Call::kLoad, parcel,
      [&] {
        if (stop.stop_requested()) child.process.kill();
        return false;
      },
      far_fds);
  if (!answer) return start_failed();
  auto loaded = answer->read<Result<Facts>>();
  if (!loaded) return start_failed();
  if (!*loaded) return std::move(*loaded).error();
  Facts facts = **std::move(loaded);
  if (facts.pieces.size() != static_cast<std::size_t>(facts.model.n_vocabulary) ||
      facts.n_sequences_max < 1 || facts.n_rows_max < 1 || facts.n_kv_cells < 1 ||
      facts.model.embedding_row_width < 1) {
    return start_failed();
  }
  return Life{std::move(child.process),
              std::make_shared<Connection>(std::move(control).take_channel(), std::move(lines)),
              std::move(facts)};
}

void EngineProcess::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "engine keeper");
  auto stopped = sandbox::StopEvent::create(stop);
  std::optional<Life> life = std::exchange(first_, std::nullopt);
  auto delay = options_.restart_delay_min;
  while (stopped && life) {
    const TimePoint born = std::chrono::steady_clock::now();
    std::array<std::byte, 1> nothing;
    // The engine says nothing here: whatever comes is as good as its end.
    static_cast<void>(
        life->connection->control().receive_packet(nothing, 0, {TimePoint::max(), stopped->get()}));
    bury(*life, stop);
    if (stop.stop_requested()) return;
    if (std::chrono::steady_clock::now() - born > kLongLife) delay = options_.restart_delay_min;
    life.reset();
    while (!life && !stop.stop_requested()) {
      {
        MutexLock lock(mutex_);
        const TimePoint until = std::chrono::steady_clock::now() + delay;
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) {
          changed_.wait_for(mutex_, stop, delay);
        }
      }
      delay = std::min(delay * 2, options_.restart_delay_max);
      life = open_again(stop);
    }
  }
}

/// The process is gone when it returns.
void EngineProcess::bury(Life& life, const std::stop_token& stop) {
  publish(nullptr, false);
  life.connection->lose();
  auto status = life.process.wait(std::chrono::steady_clock::now() + kReapTimeout);
  if (!status) {
    life.process.kill();
    status = life.process.wait(TimePoint::max());
  }
  pid_ = 0;
  if (stop.stop_requested()) return;
  const bool by_signal = status->kind == sandbox::ExitStatus::Kind::kSignalled;
  log(LogLevel::kError, "engine_died",
      {{"signal", by_signal ? status->value : 0}, {"exit_code", by_signal ? 0 : status->value}});
  if (options_.on_death) options_.on_death(*status);
}

std::optional<EngineProcess::Life> EngineProcess::open_again(const std::stop_token& stop) {
  auto life = open(options_, stop);
  if (stop.stop_requested()) return std::nullopt;
  if (life && bytes_of(life->facts) != bytes_of(facts_)) {
    log(LogLevel::kError, "engine_model_changed");
    life = start_failed();
  }
  if (!life) {
    log(LogLevel::kError, "engine_start_failed", {{"code", life.error().code}});
    publish(nullptr, true);
    return std::nullopt;
  }
  pid_ = life->process.pid();
  publish(life->connection, false);
  log(LogLevel::kInfo, "engine_started", {{"pid", pid_.load()}});
  return *std::move(life);
}

void EngineProcess::publish(std::shared_ptr<Connection> connection, bool failed) {
  {
    MutexLock lock(mutex_);
    connection_ = std::move(connection);
    failed_ = failed;
  }
  changed_.notify_all();
}

}  // namespace tessera::runtime::remote
