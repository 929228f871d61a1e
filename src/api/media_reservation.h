// Bytes of a body that is being read, counted against the server's total until the request is
// answered.
// @thread one; the total is shared
#pragma once

#include <atomic>
#include <cstddef>

namespace tessera::api {

class MediaReservation {
 public:
  explicit MediaReservation(std::atomic<std::size_t>& total) : total_(total) {}
  MediaReservation(const MediaReservation&) = delete;
  MediaReservation& operator=(const MediaReservation&) = delete;
  ~MediaReservation() { total_ -= n_bytes; }

  std::size_t n_bytes = 0;

 private:
  std::atomic<std::size_t>& total_;
};

}  // namespace tessera::api
