#include "cli/media_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "cli/setting_value.h"
#include "core/media_writer.h"

namespace tessera::cli {
namespace {

Error unreadable(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, "image_unreadable", std::move(message));
}

Error no_memory() {
  return make_error(ErrorCode::kUnavailable, "no_memory", "no memory to read the file into");
}

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    switch (errno) {
      case ENOENT:
      case ENOTDIR:
        return make_error(ErrorCode::kNotFound, "image_not_found", "no such file");
      case EACCES:
        return unreadable("no permission to read the file");
      default:
        return unreadable("the file cannot be opened");
    }
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return unreadable("the file cannot be opened");
  if (S_ISDIR(status.st_mode)) return unreadable("is a directory, not a file");
  return file;
}

}  // namespace

Result<EncodedMedia> load_media_file(const std::string& path, const Limits& limits) {
  TSR_ASSIGN_OR_RETURN(const UniqueFd file, open_file(path));
  MediaWriter media;
  std::array<char, std::size_t{64} * 1024> buffer;  // what a pipe holds
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable("the file cannot be read");
    if (n == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    if (media.size_bytes() + bytes.size() > media_bytes_max(limits)) {
      return make_error(ErrorCode::kTooLarge, "image_too_large",
                        "more than " + size_text(media_bytes_max(limits)) +
                            ", the limit of limits.image_bytes_max and limits.video_bytes_max");
    }
    if (!media.write(bytes)) return no_memory();
  }
  if (media.size_bytes() == 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_empty", "the file is empty");
  }
  auto sealed = media.finish();
  if (!sealed) return no_memory();
  return *std::move(sealed);
}

Result<std::vector<EncodedMedia>> load_media_files(std::span<const std::string> paths,
                                                   std::optional<int> n_frames,
                                                   const Limits& limits) {
  if (paths.size() > static_cast<std::size_t>(limits.images_max)) {
    return make_error(ErrorCode::kTooLarge, "too_many_images",
                      std::to_string(paths.size()) + " images exceed " +
                          std::to_string(limits.images_max) + ", the limit of limits.images_max");
  }
  std::vector<EncodedMedia> media;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto loaded = load_media_file(paths[i], limits);
    if (!loaded) {
      Error error = std::move(loaded).error();
      error.message = "image " + std::to_string(i + 1) + " (" + paths[i] + "): " + error.message;
      return error;
    }
    media.push_back(std::move(loaded).value());
    media.back().n_frames = n_frames;
  }
  return media;
}

}  // namespace tessera::cli
