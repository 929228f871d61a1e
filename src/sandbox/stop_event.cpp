#include "sandbox/stop_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "sandbox/system_error.h"

namespace tessera::sandbox {

Result<std::unique_ptr<StopEvent>> StopEvent::create(std::stop_token stop) {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return system_error("eventfd", errno);
  return std::unique_ptr<StopEvent>(new StopEvent(std::move(fd), std::move(stop)));
}

void StopEvent::Notify::operator()() const noexcept {
  const std::uint64_t one = 1;
  // Cannot fail in a way that matters: a full counter is readable already.
  [[maybe_unused]] const ssize_t n_written = ::write(fd, &one, sizeof(one));
}

}  // namespace tessera::sandbox
