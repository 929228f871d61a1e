#include "content_log/content_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace tessera::content_log {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

struct OpenedFile {
  UniqueFd fd;
  std::size_t size_bytes = 0;
};

Error unusable(std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, "content_log_unusable",
                    "the file of content_log " + std::string(why), "content_log");
}

Result<OpenedFile> open_file(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold up the start; a regular file does not know it.
  OpenedFile file{
      UniqueFd(::open(path.c_str(),
                      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                      kOwnerOnly)),
      0};
  if (!file.fd) return unusable("cannot be opened, or is a symbolic link");
  struct stat status{};
  if (::fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return unusable("is no regular file");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return unusable("may be read or written by others; it needs mode 0600");
  }
  file.size_bytes = static_cast<std::size_t>(status.st_size);
  return file;
}

}  // namespace

Result<std::unique_ptr<ContentLog>> ContentLog::open(ContentLogOptions options) {
  TSR_ASSIGN_OR_RETURN(OpenedFile file, open_file(options.path));
  return std::unique_ptr<ContentLog>(
      new ContentLog(std::move(options), std::move(file.fd), file.size_bytes));
}

ContentLog::ContentLog(ContentLogOptions options, UniqueFd file, std::size_t size_bytes)
    : options_(std::move(options)),
      file_(std::move(file)),
      size_bytes_(size_bytes),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ContentLog::~ContentLog() {
  queue_.close();
  thread_.join();
}

bool ContentLog::try_append(std::string line) {
  const std::size_t n_bytes = line.size();
  const bool fits =
      n_bytes <= kLineBytesMax && n_queued_bytes_.fetch_add(n_bytes) + n_bytes <= kQueuedBytesMax;
  if (fits && queue_.try_push(std::move(line))) return true;
  if (n_bytes <= kLineBytesMax) n_queued_bytes_ -= n_bytes;
  lose();
  return false;
}

void ContentLog::lose() {
  n_lost_.fetch_add(1, std::memory_order_relaxed);
  if (options_.on_lost) options_.on_lost();
}

void ContentLog::run(const std::stop_token& stop) {
  while (auto line = queue_.pop(stop)) {
    const std::size_t n_bytes = line->size();
    line->push_back('\n');
    if (!write(*line)) lose();
    n_queued_bytes_ -= n_bytes;
  }
}

/// Whole or not at all.
bool ContentLog::write(const std::string& line) {
  const bool full = size_bytes_ > 0 && size_bytes_ + line.size() > options_.file_bytes_max;
  if ((full || !file_) && !rotate()) return false;
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = ::write(file_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      (void)!::ftruncate(file_.get(), static_cast<off_t>(size_bytes_));
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  size_bytes_ += line.size();
  return true;
}

/// The file becomes PATH.1, and a new one takes its place.
bool ContentLog::rotate() {
  const std::string before = options_.path + ".1";
  if (file_ && std::rename(options_.path.c_str(), before.c_str()) != 0) return false;
  file_.reset();
  auto opened = open_file(options_.path);
  if (!opened) return false;
  file_ = std::move(opened->fd);
  size_bytes_ = opened->size_bytes;
  return true;
}

}  // namespace tessera::content_log
