// The targets whose input is text of a client: base64, JSON bodies, URLs. See targets.h.
// @thread any; no shared state
#pragma once

#include "fuzz/targets.h"

namespace tessera::fuzz {

bool run_base64(Bytes input);
std::vector<media::testing::ByteVector> base64_seeds();

bool run_json_body(Bytes input);
std::vector<media::testing::ByteVector> json_body_seeds();

/// A URL, or the URL of a redirecting host and, behind the first line feed, its Location.
bool run_url(Bytes input);
std::vector<media::testing::ByteVector> url_seeds();

}  // namespace tessera::fuzz
