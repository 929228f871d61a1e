#include "runtime/remote/connection.h"

#include <sys/socket.h>

#include "core/check.h"

namespace tessera::runtime::remote {

Connection::Connection(sandbox::Channel control, std::vector<Line> lines)
    : control_(std::move(control)),
      encode_line_(std::move(lines.at(0))),
      decode_line_(std::move(lines.at(1))) {
  TSR_CHECK(lines.size() == kLines);
  MutexLock lock(mutex_);
  for (std::size_t i = 2; i < lines.size(); ++i) {
    free_lines_.push_back(std::make_unique<Line>(std::move(lines[i])));
  }
}

void Connection::lose() {
  alive_.store(false, std::memory_order_release);
  // Not closed, for the keeper may be reading from it: it sees the end of the conversation.
  ::shutdown(control_.fd(), SHUT_RDWR);
}

void Connection::drop_set(std::uint64_t set) {
  MutexLock lock(mutex_);
  if (is_alive()) dropped_sets_.push_back(set);
}

void Connection::drop_sampler(std::uint64_t sampler) {
  MutexLock lock(mutex_);
  if (is_alive()) dropped_samplers_.push_back(sampler);
}

std::vector<std::uint64_t> Connection::take_dropped_sets() {
  MutexLock lock(mutex_);
  return std::exchange(dropped_sets_, {});
}

std::vector<std::uint64_t> Connection::take_dropped_samplers() {
  MutexLock lock(mutex_);
  return std::exchange(dropped_samplers_, {});
}

std::unique_ptr<Line> Connection::take_line() {
  MutexLock lock(mutex_);
  while (free_lines_.empty()) line_is_free_.wait(mutex_, {});
  std::unique_ptr<Line> line = std::move(free_lines_.back());
  free_lines_.pop_back();
  return line;
}

void Connection::give_back(std::unique_ptr<Line> line) {
  {
    MutexLock lock(mutex_);
    free_lines_.push_back(std::move(line));
  }
  line_is_free_.notify_one();
}

}  // namespace tessera::runtime::remote
