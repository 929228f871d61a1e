#include "fetch/dispatcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/log.h"
#include "sandbox/system_error.h"

namespace tessera::fetch {
namespace {

using sandbox::IoStatus;
using std::chrono::milliseconds;

// The fetcher reads between two looks at its sockets; one that does not take a message hangs.
constexpr milliseconds kSendTimeout{1000};

// From the end of a fetcher's conversation to the end of its process: the kernel's work.
constexpr milliseconds kReapTimeout{100};

TimePoint now() {
  return std::chrono::steady_clock::now();
}

/// For poll(): rounded up, so that the deadline has passed when it returns.
int milliseconds_until(std::optional<TimePoint> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

Result<std::unique_ptr<Dispatcher>> Dispatcher::create(DispatcherOptions options,
                                                       const wire::Configure& rules) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return sandbox::system_error("eventfd", errno);
  return std::unique_ptr<Dispatcher>(new Dispatcher(std::move(options), rules, std::move(wake)));
}

Dispatcher::Dispatcher(DispatcherOptions options, const wire::Configure& rules, UniqueFd wake)
    : options_(std::move(options)),
      rules_(rules),
      wake_(std::move(wake)),
      restart_delay_(options_.restart_delay_min),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

std::optional<FetchId> Dispatcher::try_start(TenantId tenant, std::size_t tenant_max,
                                             const wire::Order& order, UniqueFd output) {
  MutexLock lock(mutex_);
  std::size_t n_active = 0;
  std::size_t n_of_tenant = 0;
  for (const auto& [id, entry] : entries_) {
    if (entry.state == State::kEnded) continue;
    ++n_active;
    if (entry.tenant == tenant) ++n_of_tenant;
  }
  if (n_active >= wire::kFetchesMax || n_of_tenant >= tenant_max) return std::nullopt;
  const std::uint64_t id = next_id_++;
  Entry& entry = entries_[id];
  entry.tenant = tenant;
  entry.order = order;
  entry.order.header.id = id;
  entry.output = std::move(output);
  if (stopped_) {
    entry.state = State::kEnded;
    entry.end.kind = FetchEnd::Kind::kShutDown;
    ++version_;
    changed_.notify_all();
  } else {
    queued_.push_back(id);
    wake();
  }
  return FetchId{id};
}

void Dispatcher::cancel(FetchId id) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id.value);
  if (found == entries_.end()) return;
  if (found->second.state == State::kQueued) std::erase(queued_, id.value);
  if (found->second.state == State::kSent) {
    cancels_.push_back(id.value);
    wake();
  }
  entries_.erase(found);
  ++version_;
  changed_.notify_all();
}

std::optional<FetchEnd> Dispatcher::take_end(FetchId id) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id.value);
  if (found == entries_.end() || found->second.state != State::kEnded) return std::nullopt;
  const FetchEnd end = found->second.end;
  entries_.erase(found);
  return end;
}

std::uint64_t Dispatcher::version() const {
  MutexLock lock(mutex_);
  return version_;
}

bool Dispatcher::wait_beyond(std::uint64_t seen, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (version_ <= seen) {
    if (!changed_.wait(mutex_, stop)) return false;
  }
  return !stop.stop_requested();
}

void Dispatcher::shutdown() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  thread_.request_stop();
  wake();
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::wake() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the thread is woken anyway.
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Dispatcher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    ensure_fetcher();
    // Before the wait: what was queued during a pause has woken us already.
    if (fetcher_) send_queued();
    const bool has_reply = wait_for_events();
    if (stop.stop_requested()) break;
    if (has_reply) receive_reply();
    const auto deadline = fetcher_ ? next_deadline() : std::nullopt;
    if (deadline && *deadline <= now()) lose_fetcher();
  }
  pid_ = 0;
  fetcher_.reset();
  MutexLock lock(mutex_);
  end_all(State::kSent, FetchEnd::Kind::kShutDown);
  end_queued(FetchEnd::Kind::kShutDown);
}

void Dispatcher::ensure_fetcher() {
  if (fetcher_ || now() < restart_at_) return;
  auto child = sandbox::spawn_child({options_.fetcher_path, {}, false});
  const bool ready =
      child && child->channel.send(rules_, {}, {now() + kSendTimeout, nullptr}) == IoStatus::kOk;
  if (ready) {
    pid_ = child->process.pid();
    fetcher_.emplace(std::move(*child));
    return;
  }
  log(LogLevel::kError, "fetcher_not_started");
  lose_fetcher();
  // Nobody waits for a program that is not there.
  MutexLock lock(mutex_);
  end_queued(FetchEnd::Kind::kLost);
}

/// @return  whether the fetcher said something
bool Dispatcher::wait_for_events() {
  std::array<pollfd, 2> entries{pollfd{wake_.get(), POLLIN, 0},
                                pollfd{fetcher_ ? fetcher_->channel.fd() : -1, POLLIN, 0}};
  const auto deadline = fetcher_ ? next_deadline() : std::optional(restart_at_);
  if (::poll(entries.data(), entries.size(), milliseconds_until(deadline)) <= 0) return false;
  std::uint64_t count = 0;
  if (entries[0].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
  return entries[1].revents != 0;
}

std::optional<TimePoint> Dispatcher::next_deadline() const {
  MutexLock lock(mutex_);
  std::optional<TimePoint> earliest;
  for (const auto& [id, entry] : entries_) {
    if (entry.state != State::kSent) continue;
    if (!earliest || entry.overdue < *earliest) earliest = entry.overdue;
  }
  return earliest;
}

std::optional<Dispatcher::Outgoing> Dispatcher::next_outgoing() {
  MutexLock lock(mutex_);
  // Cancellations first: they make room in the fetcher for what comes behind them.
  if (!cancels_.empty()) {
    Outgoing outgoing;
    outgoing.order.header = {wire::Kind::kCancel, wire::kVersion, cancels_.front()};
    cancels_.pop_front();
    return outgoing;
  }
  if (queued_.empty()) return std::nullopt;
  Entry& entry = entries_.at(queued_.front());
  queued_.pop_front();
  entry.state = State::kSent;
  entry.overdue =
      now() + milliseconds(entry.order.total_timeout_ms) + kSendTimeout + options_.reply_grace;
  return Outgoing{entry.order, std::move(entry.output)};
}

void Dispatcher::send_queued() {
  while (const auto outgoing = next_outgoing()) {  // bounded by kFetchesMax fetches and cancels
    const std::array<int, 1> fds{outgoing->output.get()};
    const auto n_fds = static_cast<std::size_t>(outgoing->output ? 1 : 0);
    const auto status = fetcher_->channel.send(outgoing->order, std::span(fds).first(n_fds),
                                               {now() + kSendTimeout, nullptr});
    if (status == IoStatus::kOk) continue;
    lose_fetcher();
    return;
  }
}

void Dispatcher::receive_reply() {
  const auto received = fetcher_->channel.receive<wire::Reply>(0, {now() + kSendTimeout, nullptr});
  if (received.status == IoStatus::kOk && accept_reply(received.message)) {
    restart_delay_ = options_.restart_delay_min;
    n_losses_ = 0;
    return;
  }
  lose_fetcher();
}

/// @return  false when the fetcher broke the protocol
bool Dispatcher::accept_reply(const wire::Reply& reply) {
  const wire::Header& header = reply.header;
  const bool sound = header.kind == wire::Kind::kReply && header.version == wire::kVersion &&
                     static_cast<std::uint32_t>(reply.outcome) < wire::kOutcomeCount;
  MutexLock lock(mutex_);
  if (!sound || header.id == 0 || header.id >= next_id_) return false;
  const auto found = entries_.find(header.id);
  if (found == entries_.end()) return true;  // cancelled while it was on its way
  Entry& entry = found->second;
  if (entry.state != State::kSent || reply.size_bytes > entry.order.bytes_max) return false;
  entry.state = State::kEnded;
  entry.end = {FetchEnd::Kind::kReplied, reply.outcome, reply.size_bytes};
  ++version_;
  changed_.notify_all();
  return true;
}

/// How it ended, if it did so by itself; one that hangs or lies is about to be killed.
void Dispatcher::report_loss() {
  log(LogLevel::kWarning, "fetcher_lost", {{"restart_ms", restart_delay_.count()}});
  if (!fetcher_) return;
  const auto end = fetcher_->process.wait(now() + kReapTimeout);
  if (!end) return;
  if (end->kind == sandbox::ExitStatus::Kind::kExited) {
    log(LogLevel::kWarning, "fetcher_exited", {{"code", end->value}});
  } else if (end->value == SIGSYS) {
    log(LogLevel::kError, "fetcher_forbidden_call");
  } else {
    log(LogLevel::kWarning, "fetcher_killed", {{"signal", end->value}});
  }
}

void Dispatcher::lose_fetcher() {
  report_loss();
  pid_ = 0;
  fetcher_.reset();
  restart_at_ = now() + restart_delay_;
  restart_delay_ = std::clamp(2 * restart_delay_, milliseconds(1), options_.restart_delay_max);
  MutexLock lock(mutex_);
  cancels_.clear();
  end_all(State::kSent, FetchEnd::Kind::kLost);
  if (++n_losses_ > 1) end_queued(FetchEnd::Kind::kLost);
}

void Dispatcher::end_queued(FetchEnd::Kind kind) {
  queued_.clear();
  end_all(State::kQueued, kind);
}

void Dispatcher::end_all(State state, FetchEnd::Kind kind) {
  for (auto& [id, entry] : entries_) {
    if (entry.state != state) continue;
    entry.state = State::kEnded;
    entry.output.reset();
    entry.end = {kind, wire::Outcome::kFailed, 0};
  }
  ++version_;
  changed_.notify_all();
}

}  // namespace tessera::fetch
