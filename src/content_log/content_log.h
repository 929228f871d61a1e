// The one place where what people send, and what the model answers, is written down: a file of the
// operator's, off unless two settings ask for it. It shares nothing with core/log, whose lines hold
// no content and cannot be made to.
//
//   any thread ──try_append──▶ bounded queue ──▶ the owner thread ──▶ PATH, and PATH.1 before it
//                   └─ full, too large: lost and counted; nobody waits
//
// Failure: a line that cannot be written whole is taken back, lost and counted; the next is tried
// anew. The server goes on.
// @thread try_append, n_lost from any thread; construction and destruction by the owner
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/bounded_queue.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::content_log {

/// Of one file; a full one becomes PATH.1 and replaces the one before. A day of some ten thousand
/// chats; nobody wanted to fill a disk.
inline constexpr std::size_t kFileBytesMax = std::size_t{64} << 20U;

/// Of one line. Above the text of a request and the longest answers of a real model; below a file.
inline constexpr std::size_t kLineBytesMax = std::size_t{16} << 20U;

/// Lines that wait for the disk, and their bytes together: a disk that stalls for seconds loses
/// nothing, one that is gone costs no more memory than this.
inline constexpr std::size_t kQueuedLinesMax = 256;
inline constexpr std::size_t kQueuedBytesMax = std::size_t{32} << 20U;

struct ContentLogOptions {
  std::string path;
  std::function<void()> on_lost = {};  // for a counter; called on any thread
  std::size_t file_bytes_max = kFileBytesMax;
};

class ContentLog {
 public:
  /// Opens the file to append, or makes it with mode 0600. Follows no symbolic link at its end.
  /// @errors  invalid_argument (`content_log_unusable`: cannot be opened, is no regular file, or
  ///          others may read or write it)
  static Result<std::unique_ptr<ContentLog>> open(ContentLogOptions options);

  /// Writes what is queued, then closes.
  ~ContentLog();
  ContentLog(const ContentLog&) = delete;
  ContentLog& operator=(const ContentLog&) = delete;

  /// Queues one line. Never waits.
  /// @param line  without its line feed, and with none inside
  /// @return      false when it is lost
  bool try_append(std::string line);

  std::uint64_t n_lost() const { return n_lost_.load(std::memory_order_relaxed); }

 private:
  ContentLog(ContentLogOptions options, UniqueFd file, std::size_t size_bytes);

  void run(const std::stop_token& stop);
  bool write(const std::string& line);
  bool rotate();
  void lose();

  const ContentLogOptions options_;
  std::atomic<std::uint64_t> n_lost_{0};
  std::atomic<std::size_t> n_queued_bytes_{0};
  BoundedQueue<std::string> queue_{kQueuedLinesMax};

  // The thread's alone.
  UniqueFd file_;
  std::size_t size_bytes_;  // of the file

  std::jthread thread_;
};

}  // namespace tessera::content_log
