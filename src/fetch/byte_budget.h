// Bytes that all requests together may hold, reserved before they are there.
// @thread all methods are thread-safe; a Reservation is owned by one thread at a time
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace tessera::fetch {

class ByteBudget {
 public:
  /// Gives its bytes back when it is destroyed. May outlive the budget.
  class Reservation {
   public:
    Reservation(std::shared_ptr<std::atomic<std::size_t>> left, std::size_t n_bytes)
        : left_(std::move(left)), n_bytes_(n_bytes) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { *left_ += n_bytes_; }

    /// Keeps n_bytes of them, if there are more.
    void shrink_to(std::size_t n_bytes);

   private:
    const std::shared_ptr<std::atomic<std::size_t>> left_;
    std::size_t n_bytes_;
  };

  explicit ByteBudget(std::size_t bytes_max)
      : left_(std::make_shared<std::atomic<std::size_t>>(bytes_max)) {}

  /// Null when fewer are left.
  std::shared_ptr<Reservation> try_reserve(std::size_t n_bytes);

 private:
  const std::shared_ptr<std::atomic<std::size_t>> left_;
};

}  // namespace tessera::fetch
