// One API call as plain values: what stage 1 makes and every later stage reads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/redacted_url.h"
#include "core/unique_fd.h"

namespace tessera {

enum class Role { kSystem, kUser, kAssistant };

/// How much of an image's detail the model should see; OpenAI's `detail`.
enum class ImageDetail { kAuto, kLow, kHigh };

/// The bytes of one image or video file as they were sent, in a memfd. Untrusted.
struct EncodedMedia {
  UniqueFd fd;
  std::size_t size_bytes = 0;
  std::string field = {};  // where the request has it; for errors' `param`; may be empty
  // to take of a picture that moves, spread over all that it has; unset = one of an image,
  // kVideoFramesDefault of a video
  std::optional<int> n_frames = {};
};

/// An item of Request::media whose bytes are not here yet: the request names them by a URL of any
/// scheme (https:, file:, tessera-file:).
struct PendingMedia {
  std::size_t media_index = 0;  // of an item without a descriptor
  RedactedUrl url;
};

struct TextPart {
  std::string text;  // UTF-8
};

struct ImagePart {
  std::size_t media_index = 0;  // into Request::media
  ImageDetail detail = ImageDetail::kAuto;
  std::optional<int> visual_tokens_max = {};  // of each image that it becomes
};

using ContentPart = std::variant<TextPart, ImagePart>;

struct Message {
  Role role = Role::kUser;
  std::vector<ContentPart> parts;
};

struct SamplingOptions {
  float temperature = 1.0F;  // 0 = greedy
  float top_p = 1.0F;        // (0, 1]
  int top_k = 0;             // 0 = off
  std::optional<std::uint64_t> seed;
};

struct ResponseFormat {
  enum class Kind { kText, kJsonObject, kJsonSchema };
  Kind kind = Kind::kText;
  std::string json_schema;  // JSON text; only for kJsonSchema
};

/// Who may use the features of a request's images, where they are kept, and how long.
struct CachePolicy {
  enum class Scope {
    kTenant,   // requests of the tenant share them
    kRequest,  // images of the request share them
    kNone,     // each mention of an image is computed
  };
  enum class Tier { kMemory, kAll };
  Scope scope = Scope::kTenant;
  Tier tier = Tier::kAll;
  std::optional<std::chrono::seconds> time_to_live;  // from when they were made; unset = no end
};

/// One member of `tessera.limits`: a limit that the request wants lower than the operator's.
struct LimitWish {
  std::string name;
  std::int64_t value = 0;
};

struct Request {
  std::string model;
  std::vector<Message> messages;
  std::vector<EncodedMedia> media;
  std::vector<PendingMedia> pending;  // in the order of media
  SamplingOptions sampling;
  ResponseFormat response_format;
  std::optional<int> max_output_tokens;                // per choice; unset = the server's default
  std::string_view output_tokens_name = "max_tokens";  // what the client calls it; a literal
  std::vector<std::string> stop;                       // ≤ kStopStringsMax, none empty
  int n_choices = 1;
  std::optional<std::chrono::milliseconds> deadline;  // from its arrival; unset = the server's
  bool logprobs = false;
  int n_top_logprobs = 0;
  std::optional<int> visual_tokens_max;  // of all images together
  bool plan_only = false;                // ends with StreamEnd::plan instead of an answer
  std::vector<LimitWish> limit_wishes;   // ≤ kLimitWishesMax
  CachePolicy cache;
};

}  // namespace tessera
