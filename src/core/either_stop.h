// One stop token out of two: work that ends when its request is given up or its stage shuts down.
#pragma once

#include <stop_token>
#include <utility>

namespace tessera {

/// @thread construct, use and destroy on one thread; the two sources may stop from any
class EitherStop {
 public:
  EitherStop(std::stop_token one, std::stop_token other)
      : on_one_(std::move(one), Forward{&either_}),
        on_other_(std::move(other), Forward{&either_}) {}
  EitherStop(const EitherStop&) = delete;
  EitherStop& operator=(const EitherStop&) = delete;

  /// May outlive this object, and then never stops.
  std::stop_token token() const { return either_.get_token(); }

 private:
  struct Forward {
    std::stop_source* to;
    void operator()() const { to->request_stop(); }
  };

  std::stop_source either_;  // before the callbacks, which use it
  std::stop_callback<Forward> on_one_;
  std::stop_callback<Forward> on_other_;
};

}  // namespace tessera
