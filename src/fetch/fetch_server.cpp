#include "fetch/fetch_server.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace tessera::fetch {
namespace {

using sandbox::Channel;
using sandbox::IoStatus;
using wire::Outcome;

// Seen by whoever waits for the process.
constexpr int kExitDone = 0;
constexpr int kExitProtocol = 2;
constexpr int kExitNoLibrary = 3;
constexpr int kExitNotConfined = 4;

// Only a safety net: messages, sockets and libcurl's timers wake the loop.
constexpr int kPollMs = 60'000;

using Transfers = std::map<std::uint64_t, std::unique_ptr<Transfer>>;

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

class FetchServer {
 public:
  FetchServer(Channel& channel, const FetchHooks& hooks, FetchRules rules)
      : channel_(channel), hooks_(hooks), rules_(std::move(rules)), multi_(curl_multi_init()) {}
  FetchServer(const FetchServer&) = delete;
  FetchServer& operator=(const FetchServer&) = delete;
  ~FetchServer();

  int run();

 private:
  IoStatus take_order();
  IoStatus start(const wire::Order& order, UniqueFd output);
  void cancel(std::uint64_t id);
  IoStatus finish_hops();
  IoStatus advance(Transfers::iterator at);
  IoStatus reply(std::uint64_t id, Outcome outcome, std::size_t size_bytes);

  Channel& channel_;
  const FetchHooks& hooks_;
  const FetchRules rules_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  Transfers transfers_;  // ≤ wire::kFetchesMax
};

FetchServer::~FetchServer() {
  for (const auto& [id, transfer] : transfers_) {
    if (transfer->hop() != nullptr) curl_multi_remove_handle(multi_.get(), transfer->hop());
  }
}

int FetchServer::run() {
  if (multi_ == nullptr) return kExitNoLibrary;
  for (;;) {  // bounded by the other side, which closes or kills
    curl_waitfd wait{channel_.fd(), CURL_WAIT_POLLIN, 0};
    if (curl_multi_poll(multi_.get(), &wait, 1, kPollMs, nullptr) != CURLM_OK) {
      return kExitNoLibrary;
    }
    IoStatus status = wait.revents != 0 ? take_order() : IoStatus::kOk;
    int n_running = 0;
    if (status == IoStatus::kOk) {
      curl_multi_perform(multi_.get(), &n_running);
      status = finish_hops();
    }
    if (status == IoStatus::kClosed) return kExitDone;
    if (status != IoStatus::kOk) return kExitProtocol;
  }
}

IoStatus FetchServer::take_order() {
  auto received = channel_.receive<wire::Order>(1);
  if (received.status != IoStatus::kOk) return received.status;
  const wire::Order& order = received.message;
  if (order.header.version != wire::kVersion) return IoStatus::kMalformed;
  if (order.header.kind == wire::Kind::kCancel && received.fds.empty()) {
    cancel(order.header.id);
    return IoStatus::kOk;
  }
  const bool is_fetch = order.header.kind == wire::Kind::kFetch && received.fds.size() == 1 &&
                        !transfers_.contains(order.header.id);
  if (!is_fetch) return IoStatus::kMalformed;
  return start(order, std::move(received.fds.front()));
}

IoStatus FetchServer::start(const wire::Order& order, UniqueFd output) {
  const std::uint64_t id = order.header.id;
  if (transfers_.size() >= wire::kFetchesMax) return reply(id, Outcome::kBusy, 0);
  auto region = sandbox::MappedRegion::map_writable(output.get(), order.bytes_max);
  if (!region) return reply(id, Outcome::kFailed, 0);
  output.reset();  // the mapping is enough
  auto transfer = std::make_unique<Transfer>(rules_, hooks_, order, std::move(*region));
  return advance(transfers_.emplace(id, std::move(transfer)).first);
}

void FetchServer::cancel(std::uint64_t id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return;  // it ended while the message was on its way
  curl_multi_remove_handle(multi_.get(), found->second->hop());
  transfers_.erase(found);
}

/// Starts the next hop, or ends the transfer.
IoStatus FetchServer::advance(Transfers::iterator at) {
  CURL* easy = at->second->start_hop();
  if (easy != nullptr && curl_multi_add_handle(multi_.get(), easy) == CURLM_OK) {
    return IoStatus::kOk;
  }
  const std::uint64_t id = at->first;
  const Outcome outcome = easy != nullptr ? Outcome::kFailed : at->second->outcome();
  transfers_.erase(at);
  return reply(id, outcome, 0);
}

IoStatus FetchServer::finish_hops() {
  int n_left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &n_left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;  // the message dies with the removal
    curl_multi_remove_handle(multi_.get(), easy);
    const auto at = std::ranges::find_if(
        transfers_, [easy](const auto& entry) { return entry.second->hop() == easy; });
    if (at == transfers_.end()) return IoStatus::kFailed;
    IoStatus status = IoStatus::kOk;
    if (at->second->finish_hop(code)) {
      status = advance(at);
    } else {
      const std::uint64_t id = at->first;
      const Outcome outcome = at->second->outcome();
      const std::size_t n_bytes = outcome == Outcome::kFetched ? at->second->size_bytes() : 0;
      transfers_.erase(at);  // unmaps the output before the server hears of it
      status = reply(id, outcome, n_bytes);
    }
    if (status != IoStatus::kOk) return status;
  }
  return IoStatus::kOk;
}

IoStatus FetchServer::reply(std::uint64_t id, Outcome outcome, std::size_t size_bytes) {
  wire::Reply message;
  message.header.id = id;
  message.outcome = outcome;
  message.size_bytes = size_bytes;
  return channel_.send(message, {});
}

}  // namespace

int serve(Channel& channel, const FetchHooks& hooks, const LockDown& lock_down) {
  const auto configured = channel.receive<wire::Configure>(0);
  if (configured.status == IoStatus::kClosed) return kExitDone;
  if (configured.status != IoStatus::kOk) return kExitProtocol;
  const wire::Header& header = configured.message.header;
  if (header.kind != wire::Kind::kConfigure || header.version != wire::kVersion) {
    return kExitProtocol;
  }
  auto rules = from_wire(configured.message);
  if (!rules) return kExitProtocol;
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return kExitNoLibrary;
  if (lock_down && !lock_down(*rules)) return kExitNotConfined;
  return FetchServer(channel, hooks, std::move(*rules)).run();
}

}  // namespace tessera::fetch
