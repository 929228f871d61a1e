// The secret that the disk tier's keys and names come from: a file of at least 32 bytes that nobody
// else may read. Made at random when it is missing.
// @thread any
#pragma once

#include <string>

#include "cache/secret_key.h"
#include "core/result.h"

namespace tessera::cache {

/// @errors  invalid_argument (`cache_secret_unusable`: cannot be opened or made, is no regular
///          file, is too short or too long, or others may read or change it)
Result<SecretKey> load_or_make_secret(const std::string& path);

/// The same, but a missing one is an error.
Result<SecretKey> load_secret(const std::string& path);

}  // namespace tessera::cache
