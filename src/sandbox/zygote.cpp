#include "sandbox/zygote.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "sandbox/zygote_wire.h"

namespace tessera::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Exec, namespaces and self-test take 10 ms; the rest is for a machine that swaps.
constexpr seconds kHelloTimeout{10};

/// The zygote reads at once. One that does not for so long is stopped or stuck, and is replaced.
constexpr seconds kSendTimeout{1};

/// A zygote whose channel closed kills, reaps and exits within milliseconds; then it is killed.
constexpr seconds kEndTimeout{1};

/// Between two starts: the first repeat comes after 100 ms, then twice that each time, so that a
/// program that cannot live costs next to nothing and one bad moment costs little.
constexpr milliseconds kBackoffFirst{100};
constexpr milliseconds kBackoffMax{10'000};

/// A zygote that lived so long did not die of its start.
constexpr seconds kStableAfter{60};

Error zygote_failed(std::string_view what) {
  return make_error(ErrorCode::kUnavailable, "zygote_failed",
                    "the decoders' parent process " + std::string(what));
}

Error sandbox_unavailable() {
  return make_error(ErrorCode::kUnavailable, "sandbox_unavailable",
                    "image decoders cannot be confined here: this kernel has no system-call filter "
                    "that kills (sandbox level C; A or B is needed); the setting unsafe_decoders "
                    "runs them all the same");
}

/// Whether somebody has stopped the worker program, or the process of its own pid namespace below
/// it, which is the zygote at level A.
bool is_stopped(pid_t program, SandboxLevel level) {
  std::vector<std::string> processes{std::to_string(program)};
  std::ifstream children("/proc/" + processes[0] + "/task/" + processes[0] + "/children");
  std::string zygote;
  if (level == SandboxLevel::kA && children >> zygote) processes.push_back(zygote);
  return std::ranges::any_of(processes, [](const std::string& process) {
    std::ifstream stat("/proc/" + process + "/stat");
    std::string text;
    std::getline(stat, text);
    // The name in brackets may hold anything; behind it stand a blank and the state.
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") T") == 0;
  });
}

WaitLimits within(Duration time) {
  return {std::chrono::steady_clock::now() + time, nullptr};
}

}  // namespace

IoStatus ZygoteChild::wait_started(const WaitLimits& wait) {
  const auto received = life_.receive<wire::LifeMessage>(0, wait);
  if (received.status != IoStatus::kOk) return received.status;
  return received.message.event == wire::LifeEvent::kStarted ? IoStatus::kOk : IoStatus::kFailed;
}

std::optional<ExitStatus> ZygoteChild::wait_end(const WaitLimits& wait) {
  const auto received = life_.receive<wire::LifeMessage>(0, wait);
  if (received.status != IoStatus::kOk) return std::nullopt;
  const int value = received.message.value;
  switch (received.message.event) {
    case wire::LifeEvent::kExited:
      return ExitStatus{ExitStatus::Kind::kExited, value};
    case wire::LifeEvent::kSignalled:
      return ExitStatus{ExitStatus::Kind::kSignalled, value};
    case wire::LifeEvent::kStarted:
    case wire::LifeEvent::kRefused:
      return std::nullopt;
  }
  return std::nullopt;
}

Zygote::Zygote(ZygoteOptions options, const Clock& clock, Running running)
    : options_(std::move(options)),
      clock_(clock),
      level_(running.level),
      running_(std::move(running)),
      launched_at_(clock.now()) {}

Zygote::~Zygote() {
  MutexLock lock(mutex_);
  if (running_) end(*running_);
}

Result<std::unique_ptr<Zygote>> Zygote::start(ZygoteOptions options, const Clock& clock) {
  TSR_ASSIGN_OR_RETURN(Starting starting, begin(std::move(options)));
  return finish(std::move(starting), clock);
}

Result<Zygote::Starting> Zygote::begin(ZygoteOptions options) {
  TSR_ASSIGN_OR_RETURN(SpawnedChild spawned, spawn(options));
  return Starting(std::move(options), std::move(spawned));
}

Result<std::unique_ptr<Zygote>> Zygote::finish(Starting starting, const Clock& clock) {
  TSR_ASSIGN_OR_RETURN(Running running, greet(std::move(starting.spawned_), starting.options_));
  return std::unique_ptr<Zygote>(
      new Zygote(std::move(starting.options_), clock, std::move(running)));
}

Result<SpawnedChild> Zygote::spawn(const ZygoteOptions& options) {
  return spawn_child({options.path, {}, false});
}

Result<Zygote::Running> Zygote::greet(SpawnedChild spawned, const ZygoteOptions& options) {
  const auto hello = spawned.channel.receive<wire::HelloMessage>(0, within(kHelloTimeout));
  if (hello.status == IoStatus::kTimeout) return zygote_failed("said nothing within 10 s");
  if (hello.status != IoStatus::kOk) return zygote_failed("ended before it was ready");
  if (hello.message.version != wire::kVersion || hello.message.level > SandboxLevel::kC) {
    return zygote_failed("is of another build");
  }
  if (hello.message.level == SandboxLevel::kC && !options.allow_unsafe) {
    return sandbox_unavailable();
  }
  return Running{std::move(spawned.process), std::move(spawned.channel), hello.message.level};
}

void Zygote::end(Running& running) {
  running.channel.close();
  // Reaped by the destructor after a kill; its own parent-death signal then ends the inner process.
  if (!running.process.wait(std::chrono::steady_clock::now() + kEndTimeout)) running.process.kill();
}

Result<void> Zygote::relaunch() {
  const TimePoint now = clock_.now();
  if (now < next_launch_at_) {
    Error error = zygote_failed("died and is not started again yet");
    error.retry_after = std::chrono::ceil<seconds>(next_launch_at_ - now);
    return error;
  }
  if (now - launched_at_ >= kStableAfter) n_relaunches_ = 0;
  constexpr int kDoublingsMax = 10;  // 102 s, far above kBackoffMax
  const milliseconds backoff = kBackoffFirst * (1 << std::min(n_relaunches_, kDoublingsMax));
  next_launch_at_ = now + std::min(backoff, kBackoffMax);
  launched_at_ = now;
  ++n_relaunches_;
  log(LogLevel::kWarning, "zygote_restarted", {{"in_short_succession", n_relaunches_}});
  TSR_ASSIGN_OR_RETURN(SpawnedChild spawned, spawn(options_));
  TSR_ASSIGN_OR_RETURN(running_, greet(std::move(spawned), options_));
  return {};
}

Result<ZygoteChild> Zygote::fork_child() {
  TSR_ASSIGN_OR_RETURN(auto data, Channel::make_pair());
  TSR_ASSIGN_OR_RETURN(auto life, Channel::make_pair());
  const std::array<int, 2> theirs{data.second.fd(), life.second.fd()};

  MutexLock lock(mutex_);
  constexpr int kTries = 2;  // the running zygote, and one that was started for this
  for (int i = 0; i < kTries; ++i) {
    if (!running_) TSR_RETURN_IF_ERROR(relaunch());
    const IoStatus sent = running_->channel.send(wire::ForkMessage{}, theirs, within(kSendTimeout));
    if (sent == IoStatus::kOk) return ZygoteChild(std::move(data.first), std::move(life.first));
    end(*running_);
    running_.reset();
  }
  return zygote_failed("died twice at once");
}

void Zygote::record_start(bool in_time) {
  MutexLock lock(mutex_);
  n_silences_ = in_time ? 0 : n_silences_ + 1;
  if (in_time || !running_) return;
  if (n_silences_ < kSilencesMax && !is_stopped(running_->process.pid(), running_->level)) return;
  log(LogLevel::kWarning, "zygote_silent", {{"in_a_row", n_silences_}});
  n_silences_ = 0;
  running_->process.kill();
  running_.reset();
}

pid_t Zygote::pid() {
  MutexLock lock(mutex_);
  return running_ ? running_->process.pid() : -1;
}

}  // namespace tessera::sandbox
