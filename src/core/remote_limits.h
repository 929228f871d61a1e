// Ceilings for media that a request names by URL. Operators may change them; a request may not.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/limits.h"

namespace tessera {

struct RemoteLimits {
  int urls_max = 8;                           // of one request; more media belongs into the body
  int fetches_per_request = 4;                // at once: what a browser opens to one host, less two
  int fetches_per_tenant = 8;                 // at once: two requests' worth, others keep the rest
  std::size_t item_bytes_max = 20 * kMiB;     // as one in a body
  std::size_t request_bytes_max = 64 * kMiB;  // as one body

  std::size_t header_bytes_max = kMiB / 32;  // per hop; ten times what large sites send
  int redirects_max = 3;                     // short link → site → object store

  std::chrono::milliseconds connect_timeout{3000};  // TCP and TLS; two lost packets
  std::chrono::milliseconds total_timeout{15'000};  // all hops: the largest item at 1.4 MB/s
  std::size_t low_speed_bytes_per_second = 10'240;  // a mobile uplink; below is a slow-loris
  std::chrono::seconds low_speed_time{5};           // for so long
};

}  // namespace tessera
