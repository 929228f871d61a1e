// The JSON of POST /v1/chat/completions → Request.
//
// Fields that this server does not know are ignored, as OpenAI does. A known field of a wrong type
// is an error that names it. What would change the answer's meaning if it were ignored (tools,
// audio, penalties) is refused. Only the shape is judged here; the operator's limits are
// admission's.
#pragma once

#include <string_view>

#include "admission/cache_rules.h"
#include "api/body_reader.h"
#include "core/request.h"
#include "core/result.h"

namespace tessera::api {

/// What a request may name by URL instead of sending it; the operator decides.
struct MediaSources {
  bool remote = false;   // http: and https:
  bool files = false;    // file:
  bool uploads = false;  // tessera-file:
};

struct ChatCall {
  Request request;             // with a CachePolicy that nobody has decided yet
  admission::CacheWish cache;  // what it asks for
  bool stream = false;
  bool include_usage = false;  // stream_options
};

/// @param model_name  what this server serves. A request may name it, or leave `model` out.
/// @errors  invalid_argument (`param` names the field); not_found (model_not_found)
Result<ChatCall> parse_chat_request(ReadBody body, std::string_view model_name,
                                    const MediaSources& sources);

}  // namespace tessera::api
