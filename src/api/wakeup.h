// Wakes one coroutine from any thread: the bridge from a TokenStream's producer to a strand.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace tessera::api {

/// @thread notify from any thread; the rest on the executor's strand
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  explicit Wakeup(boost::asio::any_io_executor strand)
      : strand_(std::move(strand)), timer_(strand_, boost::asio::steady_timer::time_point::max()) {}

  /// Cheap: only the first of several notifications that nobody has seen yet posts anything.
  void notify() {
    if (posted_.exchange(true)) return;
    boost::asio::post(strand_, [self = shared_from_this()] {
      self->posted_ = false;
      self->pending_ = true;
      self->timer_.cancel();
    });
  }

  /// Returns once for any number of notifications since it returned last.
  boost::asio::awaitable<void> wait() {
    while (!pending_) {
      co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    pending_ = false;
  }

  bool client_gone = false;  // seen while waiting
  bool answered = false;     // nobody waits any more

 private:
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer timer_;  // never expires; cancelled to wake
  std::atomic<bool> posted_{false};
  bool pending_ = false;
};

}  // namespace tessera::api
