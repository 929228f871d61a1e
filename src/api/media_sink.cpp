#include "api/media_sink.h"

#include <chrono>
#include <utility>

namespace tessera::api {
namespace {

Error no_room() {
  Error error = make_error(ErrorCode::kResourceExhausted, "server_busy",
                           "the server has no room for another image now; try again later");
  error.retry_after = std::chrono::seconds(1);  // running requests give their memory back
  return error;
}

}  // namespace

Result<void> MediaSink::write(std::string& bytes) {
  if (bytes.size() > bytes_max_ - file_.size_bytes()) {
    return make_error(ErrorCode::kTooLarge, "image_too_large",
                      "the image has more than " + std::to_string(bytes_max_) + " bytes");
  }
  if (!file_.write(bytes)) return no_room();
  bytes.clear();
  return {};
}

Result<EncodedMedia> MediaSink::finish() {
  if (file_.size_bytes() == 0) {
    return make_error(ErrorCode::kInvalidArgument, "image_empty", "the image has no bytes");
  }
  auto media = file_.finish();
  if (!media) return no_room();
  return *std::move(media);
}

}  // namespace tessera::api
