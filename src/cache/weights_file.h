// The identity of a file of weights: SHA-256 of its content. Size and time are no identity: a file
// that is copied over another can have both.
//
// Opened before the runtime loads the file and read afterwards, it also notices when the file was
// replaced or written to meanwhile, so that features are never named after weights that did not
// make them.
// @thread one
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/digest.h"
#include "core/result.h"
#include "core/unique_fd.h"

namespace tessera::cache {

class WeightsFile {
 public:
  /// @errors  not_found (`weights_unreadable`)
  static Result<WeightsFile> open(const std::string& path);

  /// Reads the whole file, at 0.5 to 1.5 GB a second.
  /// @errors  unavailable (`weights_unreadable`, `weights_changed`)
  Result<Digest> digest() const;

 private:
  WeightsFile(std::string path, UniqueFd file, const struct stat& status)
      : path_(std::move(path)), file_(std::move(file)), status_(status) {}

  std::string path_;
  UniqueFd file_;
  struct stat status_;
};

}  // namespace tessera::cache
