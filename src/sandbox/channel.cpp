#include "sandbox/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "sandbox/system_error.h"

namespace tessera::sandbox {
namespace {

constexpr std::size_t kControlBytesMax = CMSG_SPACE(kFdsPerMessageMax * sizeof(int));

struct ControlBuffer {
  alignas(cmsghdr) std::array<char, kControlBytesMax> bytes{};
};

timespec until(TimePoint deadline) {
  using std::chrono::nanoseconds;
  const auto left = std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(
                                                 deadline - std::chrono::steady_clock::now()));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return timespec{static_cast<time_t>(seconds.count()),
                  static_cast<long>((left - seconds).count())};  // NOLINT(google-runtime-int)
}

/// Waits until the socket may be read or written. A stop request wins over a ready socket, and a
/// passed deadline too: a peer that floods must not keep us here.
IoStatus wait_ready(int socket, short events,
                    const WaitLimits& wait) {  // NOLINT(google-runtime-int)
  const bool has_deadline = wait.deadline != TimePoint::max();
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{socket, events, 0},
                                  pollfd{wait.stop != nullptr ? wait.stop->fd() : -1, POLLIN, 0}};
    const timespec timeout = has_deadline ? until(wait.deadline) : timespec{};
    const int n_ready =
        ::ppoll(entries.data(), entries.size(), has_deadline ? &timeout : nullptr, nullptr);
    if (n_ready < 0 && errno != EINTR) return IoStatus::kFailed;
    if (n_ready > 0 && entries[1].revents != 0) return IoStatus::kStopped;
    if (has_deadline && std::chrono::steady_clock::now() >= wait.deadline) {
      return IoStatus::kTimeout;
    }
    if (n_ready > 0) return IoStatus::kOk;
  }
}

/// Takes ownership of every descriptor that came, also of those that make the message malformed.
std::vector<UniqueFd> take_fds(msghdr& header) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t n_fds = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n_fds; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

bool is_gone(int code) {
  return code == EPIPE || code == ECONNRESET || code == ENOTCONN;
}

}  // namespace

Result<std::pair<Channel, Channel>> Channel::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error("socketpair", errno);
  }
  return std::pair(Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1])));
}

IoStatus Channel::send_bytes(std::span<const std::byte> message, std::span<const int> fds,
                             const WaitLimits& wait) {
  TSR_CHECK(fds.size() <= kFdsPerMessageMax);
  iovec body{const_cast<std::byte*>(message.data()), message.size()};  // sendmsg only reads it
  ControlBuffer control;
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  for (;;) {
    const IoStatus status = wait_ready(socket_.get(), POLLOUT, wait);
    if (status != IoStatus::kOk) return status;
    const ssize_t n_sent = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n_sent >= 0) return IoStatus::kOk;
    if (errno == EAGAIN || errno == EINTR) continue;
    return is_gone(errno) ? IoStatus::kClosed : IoStatus::kFailed;
  }
}

ReceivedPacket Channel::receive_packet(std::span<std::byte> buffer, std::size_t n_fds_max,
                                       const WaitLimits& wait) {
  TSR_CHECK(n_fds_max <= kFdsPerMessageMax);
  for (;;) {
    const IoStatus status = wait_ready(socket_.get(), POLLIN, wait);
    if (status != IoStatus::kOk) return {status, 0, {}};
    iovec body{buffer.data(), buffer.size()};
    ControlBuffer control;
    msghdr header{};
    header.msg_iov = &body;
    header.msg_iovlen = 1;
    header.msg_control = n_fds_max > 0 ? control.bytes.data() : nullptr;
    header.msg_controllen = n_fds_max > 0 ? CMSG_LEN(n_fds_max * sizeof(int)) : 0;
    const ssize_t n_received = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n_received < 0) {
      if (errno == EAGAIN || errno == EINTR) continue;
      return {is_gone(errno) ? IoStatus::kClosed : IoStatus::kFailed, 0, {}};
    }
    std::vector<UniqueFd> taken = take_fds(header);
    if (n_received == 0) return {IoStatus::kClosed, 0, {}};
    const bool truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    if (truncated || taken.size() > n_fds_max) return {IoStatus::kMalformed, 0, {}};
    return {IoStatus::kOk, static_cast<std::size_t>(n_received), std::move(taken)};
  }
}

}  // namespace tessera::sandbox
