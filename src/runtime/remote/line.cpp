#include "runtime/remote/line.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera::runtime::remote {
namespace {

using sandbox::IoStatus;

constexpr std::uint32_t kVersion = 1;

/// Descriptors of one message: those of all lines, or a parcel.
constexpr std::size_t kFdsMax = 32;

struct Header {
  std::uint32_t version = kVersion;
  Call call{};
  std::uint64_t number = 0;
  std::uint64_t n_bytes = 0;  // of the parcel; > kInlineBytesMax = it is in the first descriptor
};

/// What both sides rely on: the bytes neither change nor go away.
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

Result<UniqueFd> sealed_file(std::span<const std::byte> bytes) {
  TSR_ASSIGN_OR_RETURN(UniqueFd file, sandbox::create_memfd("parcel", bytes.size()));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        ::pwrite(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return make_error(ErrorCode::kUnavailable, "internal_error", "no memory for a parcel");
    }
    done += static_cast<std::size_t>(n);
  }
  TSR_RETURN_IF_ERROR(sandbox::add_seals(file.get(), kSeals));
  return file;
}

Result<sandbox::MappedRegion> map_sealed(int file, std::size_t n_bytes) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return make_error(ErrorCode::kInternal, "internal_error", "a parcel that is not sealed");
  }
  return sandbox::MappedRegion::map_readonly(file, n_bytes);
}

}  // namespace

bool Line::send(Call call, std::uint64_t number, std::span<const std::byte> parcel,
                std::span<const int> fds) {
  const Header header{kVersion, call, number, parcel.size()};
  std::vector<std::byte> message(sizeof(header));
  std::memcpy(message.data(), &header, sizeof(header));
  std::vector<int> all_fds;
  UniqueFd file;
  if (parcel.size() <= kInlineBytesMax) {
    message.insert(message.end(), parcel.begin(), parcel.end());
  } else {
    if (parcel.size() > kParcelBytesMax) return false;
    auto sealed = sealed_file(parcel);
    if (!sealed) return false;
    file = *std::move(sealed);
    all_fds.push_back(file.get());
  }
  all_fds.insert(all_fds.end(), fds.begin(), fds.end());
  return channel_.send_packet(message, all_fds) == IoStatus::kOk;
}

IoStatus Line::receive(Incoming& incoming, const sandbox::WaitLimits& wait) {
  std::array<std::byte, sizeof(Header) + kInlineBytesMax> buffer;
  sandbox::ReceivedPacket packet = channel_.receive_packet(buffer, kFdsMax, wait);
  if (packet.status != IoStatus::kOk) return packet.status;
  Header header;
  if (packet.n_bytes < sizeof(header)) return IoStatus::kMalformed;
  std::memcpy(&header, buffer.data(), sizeof(header));
  if (header.version != kVersion || header.call > Call::kStop) return IoStatus::kMalformed;
  incoming.call = header.call;
  incoming.number = header.number;
  incoming.parcel = {};
  const auto rest = std::span(buffer).first(packet.n_bytes).subspan(sizeof(header));
  if (header.n_bytes <= kInlineBytesMax) {
    if (rest.size() != header.n_bytes) return IoStatus::kMalformed;
    incoming.parcel.inline_.assign(rest.begin(), rest.end());
  } else {
    if (!rest.empty() || header.n_bytes > kParcelBytesMax || packet.fds.empty()) {
      return IoStatus::kMalformed;
    }
    auto region = map_sealed(packet.fds.front().get(), static_cast<std::size_t>(header.n_bytes));
    if (!region) return IoStatus::kMalformed;
    incoming.parcel.region_ = *std::move(region);
    packet.fds.erase(packet.fds.begin());
  }
  incoming.fds = std::move(packet.fds);
  return IoStatus::kOk;
}

std::optional<Parcel> Line::call(Call call, const ParcelWriter& arguments, const ShouldStop& stop,
                                 std::span<const int> fds, TimePoint deadline) {
  const std::uint64_t number = ++number_;
  if (!send(call, number, arguments.bytes(), fds)) return std::nullopt;
  bool told = false;
  for (;;) {
    sandbox::WaitLimits wait{deadline, nullptr};
    const bool looks = stop && !told;
    if (looks) wait.deadline = std::min(deadline, std::chrono::steady_clock::now() + kStopLook);
    Incoming incoming;
    const IoStatus status = receive(incoming, wait);
    if (status == IoStatus::kTimeout) {
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      told = stop();
      if (told && !send(Call::kStop, number, {}, {})) return std::nullopt;
      continue;
    }
    const bool is_answer = status == IoStatus::kOk && incoming.number == number &&
                           incoming.call == call && incoming.fds.empty();
    if (!is_answer) return std::nullopt;
    return std::move(incoming.parcel);
  }
}

std::optional<Line::Incoming> Line::next_call() {
  for (;;) {
    Incoming incoming;
    if (receive(incoming, {}) != IoStatus::kOk) return std::nullopt;
    if (incoming.call == Call::kStop) continue;  // came after the answer
    number_ = incoming.number;
    stop_asked_ = false;
    return incoming;
  }
}

bool Line::answer(const Incoming& call, const ParcelWriter& value) {
  return send(call.call, call.number, value.bytes(), {});
}

bool Line::stop_asked() {
  const TimePoint now = std::chrono::steady_clock::now();
  if (stop_asked_ || now < next_look_) return stop_asked_;
  next_look_ = now + kStopLook;
  pollfd entry{channel_.fd(), POLLIN, 0};
  if (::poll(&entry, 1, 0) <= 0) return false;
  Incoming incoming;
  const bool is_message = receive(incoming, {}) == IoStatus::kOk;
  stop_asked_ = !is_message || (incoming.call == Call::kStop && incoming.number == number_);
  return stop_asked_;
}

}  // namespace tessera::runtime::remote
