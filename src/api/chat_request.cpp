#include "api/chat_request.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "api/json_field.h"
#include "core/limits.h"

namespace tessera::api {
namespace {

// OpenAI's own range.
constexpr double kTemperatureMax = 2.0;

// "tessera-file", and one more to tell it from longer ones.
constexpr std::size_t kSchemeBytesMax = 13;

Error invalid_at(const Field& field, std::string reason, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(reason),
                    "'" + field.path() + "': " + std::move(message), field.path());
}

/// Reads messages, and keeps of the body's media those that they mention, in that order.
class MessageReader {
 public:
  MessageReader(ReadBody& body, const MediaSources& sources, Request& request)
      : body_(body), sources_(sources), request_(request) {}

  Result<void> read(const Field& messages) {
    TSR_RETURN_IF_ERROR(messages.expect_array());
    if (messages.size() == 0) {
      return invalid_at(messages, "empty_messages", "a request needs at least one message");
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
      TSR_RETURN_IF_ERROR(read_message(messages.at(i)));
    }
    return {};
  }

 private:
  Result<void> read_message(const Field& field) {
    TSR_RETURN_IF_ERROR(field.expect_object());
    Message message;
    TSR_ASSIGN_OR_RETURN(message.role, read_role(field));
    for (const char* key : {"tool_calls", "function_call", "audio"}) {
      const std::optional<Field> call = field.find(key);
      if (call && !(call->is_array() && call->size() == 0)) {
        return call->unsupported("tool calls and audio");
      }
    }
    TSR_ASSIGN_OR_RETURN(const Field content, field.require("content"));
    if (content.is_string()) {
      message.parts.emplace_back(TextPart{content.string().value()});
    } else if (content.is_array()) {
      if (content.size() == 0) return invalid_at(content, "empty_content", "has no parts");
      for (std::size_t i = 0; i < content.size(); ++i) {
        TSR_ASSIGN_OR_RETURN(ContentPart part, read_part(content.at(i), message.role));
        message.parts.push_back(std::move(part));
      }
    } else {
      return content.wrong_type("a string or an array of parts");
    }
    request_.messages.push_back(std::move(message));
    return {};
  }

  static Result<Role> read_role(const Field& message) {
    TSR_ASSIGN_OR_RETURN(const Field field, message.require("role"));
    TSR_ASSIGN_OR_RETURN(const std::string role, field.string());
    // "developer" is OpenAI's newer word for "system".
    if (role == "system" || role == "developer") return Role::kSystem;
    if (role == "user") return Role::kUser;
    if (role == "assistant") return Role::kAssistant;
    if (role == "tool" || role == "function") return field.unsupported("tool messages");
    return field.wrong_value("one of system, developer, user, assistant");
  }

  Result<ContentPart> read_part(const Field& field, Role role) {
    TSR_RETURN_IF_ERROR(field.expect_object());
    TSR_ASSIGN_OR_RETURN(const Field type_field, field.require("type"));
    TSR_ASSIGN_OR_RETURN(const std::string type, type_field.string());
    if (type == "text") {
      TSR_ASSIGN_OR_RETURN(const Field text, field.require("text"));
      TSR_ASSIGN_OR_RETURN(std::string value, text.string());
      return ContentPart(TextPart{std::move(value)});
    }
    if (type == "image_url" || type == "video_url") {
      if (role != Role::kUser) {
        return invalid_at(type_field, "image_not_allowed",
                          "only user messages may have images and videos");
      }
      return read_image(field, type.c_str());
    }
    for (const char* other : {"input_audio", "audio_url", "file", "refusal"}) {
      if (type == other) {
        return type_field.unsupported("parts other than text, image_url and video_url");
      }
    }
    return type_field.wrong_value("'text', 'image_url' or 'video_url'");
  }

  /// Both kinds of part mean the same: the bytes say what a file is.
  /// @param key  "image_url" or "video_url"
  Result<ContentPart> read_image(const Field& part, const char* key) {
    TSR_ASSIGN_OR_RETURN(const Field image, part.require(key));
    TSR_RETURN_IF_ERROR(image.expect_object());
    TSR_ASSIGN_OR_RETURN(const Field url, image.require("url"));
    ImagePart result;
    if (const std::optional<Field> detail = image.find("detail")) {
      TSR_ASSIGN_OR_RETURN(const std::string word, detail->string());
      if (word == "low") {
        result.detail = ImageDetail::kLow;
      } else if (word == "high") {
        result.detail = ImageDetail::kHigh;
      } else if (word != "auto") {
        return detail->wrong_value("one of auto, low, high");
      }
    }
    if (const std::optional<Field> tokens = image.find("visual_tokens")) {
      TSR_ASSIGN_OR_RETURN(const std::int64_t n_max,
                           tokens->integer(1, std::numeric_limits<int>::max()));
      result.visual_tokens_max = static_cast<int>(n_max);
    }
    TSR_ASSIGN_OR_RETURN(result.media_index, take_media(url));
    if (const std::optional<Field> frames = image.find("frames")) {
      TSR_ASSIGN_OR_RETURN(const std::int64_t n_frames,
                           frames->integer(1, std::numeric_limits<int>::max()));
      request_.media[result.media_index].n_frames = static_cast<int>(n_frames);
    }
    return ContentPart(result);
  }

  Result<std::size_t> take_media(const Field& field) {
    TSR_ASSIGN_OR_RETURN(const std::string url, field.string());
    std::string_view rest = url;
    std::size_t index = 0;
    if (rest.starts_with(body_.media_mark)) {
      rest.remove_prefix(body_.media_mark.size());
      const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      if (end.ec == std::errc() && index < body_.media.size() && body_.media[index].fd) {
        request_.media.push_back(std::move(body_.media[index]));
        request_.media.back().field = field.path();
        return request_.media.size() - 1;
      }
    }
    return take_url(field, url);
  }

  /// An image that the request names by URL: its bytes come later.
  Result<std::size_t> take_url(const Field& field, const std::string& url) {
    const std::string scheme = scheme_of(url);
    const bool is_remote = scheme == "http" || scheme == "https";
    if (is_remote && !sources_.remote) {
      return invalid_at(field, "remote_media_disabled",
                        "this server does not fetch remote images; send the image itself as "
                        "data:image/jpeg;base64,…");
    }
    const bool is_known = is_remote || (scheme == "file" && sources_.files) ||
                          (scheme == "tessera-file" && sources_.uploads);
    if (!is_known) {
      return invalid_at(field, "invalid_image_url", "must be a data URI: data:image/jpeg;base64,…");
    }
    request_.pending.push_back({request_.media.size(), RedactedUrl(url)});
    request_.media.push_back({UniqueFd(), 0, field.path()});
    return request_.media.size() - 1;
  }

  /// In lower case; empty when there is none.
  static std::string scheme_of(std::string_view url) {
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos) return {};
    std::string scheme(url.substr(0, std::min(colon, kSchemeBytesMax)));
    std::ranges::transform(scheme, scheme.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return scheme;
  }

  ReadBody& body_;
  const MediaSources& sources_;
  Request& request_;
};

Result<void> read_sampling(const Field& body, SamplingOptions& sampling) {
  if (const std::optional<Field> field = body.find("temperature")) {
    TSR_ASSIGN_OR_RETURN(const double value, field->number());
    if (!(value >= 0 && value <= kTemperatureMax)) return field->wrong_value("between 0 and 2");
    sampling.temperature = static_cast<float>(value);
  }
  if (const std::optional<Field> field = body.find("top_p")) {
    TSR_ASSIGN_OR_RETURN(const double value, field->number());
    // OpenAI takes 0 as well, and means by it what the smallest positive number means.
    if (!(value >= 0 && value <= 1)) return field->wrong_value("between 0 and 1");
    sampling.top_p = std::max(static_cast<float>(value), std::numeric_limits<float>::min());
  }
  if (const std::optional<Field> field = body.find("top_k")) {
    // −1 is a common spelling of "off".
    TSR_ASSIGN_OR_RETURN(const std::int64_t value,
                         field->integer(-1, std::numeric_limits<int>::max()));
    sampling.top_k = static_cast<int>(std::max<std::int64_t>(value, 0));
  }
  if (const std::optional<Field> field = body.find("seed")) {
    TSR_ASSIGN_OR_RETURN(const std::int64_t value,
                         field->integer(std::numeric_limits<std::int64_t>::min()));
    sampling.seed = static_cast<std::uint64_t>(value);
  }
  return {};
}

Result<void> read_stop(const Field& body, std::vector<std::string>& stop) {
  const std::optional<Field> field = body.find("stop");
  if (!field) return {};
  if (field->is_string()) {
    stop.push_back(field->string().value());
  } else if (field->is_array()) {
    if (field->size() > kStopStringsMax) {
      return field->wrong_value("at most " + std::to_string(kStopStringsMax) + " strings, not " +
                                std::to_string(field->size()));
    }
    for (std::size_t i = 0; i < field->size(); ++i) {
      TSR_ASSIGN_OR_RETURN(std::string text, field->at(i).string());
      stop.push_back(std::move(text));
    }
  } else {
    return field->wrong_type("a string or an array of strings");
  }
  if (std::any_of(stop.begin(), stop.end(), [](const auto& text) { return text.empty(); })) {
    return field->wrong_value("free of empty strings");
  }
  return {};
}

Result<void> read_output_size(const Field& body, Request& request) {
  constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
  // The newer name wins, as with OpenAI's own models.
  for (const char* key : {"max_tokens", "max_completion_tokens"}) {
    const std::optional<Field> field = body.find(key);
    if (!field) continue;
    TSR_ASSIGN_OR_RETURN(const std::int64_t value,
                         field->integer(1, std::numeric_limits<std::int64_t>::max()));
    request.max_output_tokens = static_cast<int>(std::min(value, kIntMax));
    request.output_tokens_name = key;
  }
  if (const std::optional<Field> field = body.find("n")) {
    TSR_ASSIGN_OR_RETURN(const std::int64_t value, field->integer(1));
    request.n_choices = static_cast<int>(std::min(value, kIntMax));
  }
  return {};
}

/// {"limits": {"images_max": 2}}
Result<void> read_limit_wishes(const Field& ours, std::vector<LimitWish>& wishes) {
  const std::optional<Field> limits = ours.find("limits");
  if (!limits) return {};
  TSR_RETURN_IF_ERROR(limits->expect_object());
  if (limits->size() > kLimitWishesMax) {
    return limits->wrong_value("at most " + std::to_string(kLimitWishesMax) + " limits");
  }
  for (const auto& member : limits->json().items()) {
    // A name that is none of ours is not repeated in an error; admission refuses it.
    const Field value(member.value(), "tessera.limits");
    TSR_ASSIGN_OR_RETURN(const std::int64_t number, value.integer(0));
    wishes.push_back({member.key(), number});
  }
  return {};
}

/// {"visual_tokens": {"max": 512}}
Result<void> read_visual_tokens(const Field& ours, std::optional<int>& n_max) {
  const std::optional<Field> tokens = ours.find("visual_tokens");
  if (!tokens) return {};
  TSR_RETURN_IF_ERROR(tokens->expect_members({"max"}));
  if (const std::optional<Field> max = tokens->find("max")) {
    TSR_ASSIGN_OR_RETURN(const std::int64_t value,
                         max->integer(1, std::numeric_limits<int>::max()));
    n_max = static_cast<int>(value);
  }
  return {};
}

/// {"cache": {"scope": "tenant", "tier": "memory", "ttl_seconds": 600}}
Result<void> read_cache_wish(const Field& ours, admission::CacheWish& wish) {
  const std::optional<Field> cache = ours.find("cache");
  if (!cache) return {};
  TSR_RETURN_IF_ERROR(cache->expect_members({"scope", "tier", "ttl_seconds"}));
  if (const std::optional<Field> scope = cache->find("scope")) {
    TSR_ASSIGN_OR_RETURN(const std::string word, scope->string());
    if (word == "tenant") {
      wish.scope = CachePolicy::Scope::kTenant;
    } else if (word == "request") {
      wish.scope = CachePolicy::Scope::kRequest;
    } else if (word == "none") {
      wish.scope = CachePolicy::Scope::kNone;
    } else {
      return scope->wrong_value("'tenant', 'request' or 'none'");
    }
  }
  if (const std::optional<Field> tier = cache->find("tier")) {
    TSR_ASSIGN_OR_RETURN(const std::string word, tier->string());
    if (word != "memory" && word != "all") return tier->wrong_value("'memory' or 'all'");
    wish.tier = word == "memory" ? CachePolicy::Tier::kMemory : CachePolicy::Tier::kAll;
  }
  if (const std::optional<Field> ttl = cache->find("ttl_seconds")) {
    TSR_ASSIGN_OR_RETURN(const std::int64_t seconds,
                         ttl->integer(1, admission::kCacheTimeMax.count()));
    wish.time_to_live = std::chrono::seconds(seconds);
  }
  return {};
}

/// {"deadline_ms": 5000}
Result<void> read_deadline(const Field& ours, Request& request) {
  const std::optional<Field> deadline = ours.find("deadline_ms");
  if (!deadline) return {};
  TSR_ASSIGN_OR_RETURN(const std::int64_t value,
                       deadline->integer(1, std::numeric_limits<int>::max()));
  request.deadline = std::chrono::milliseconds(value);
  return {};
}

/// What OpenAI's requests do not have.
Result<void> read_ours(const Field& body, ChatCall& call) {
  const std::optional<Field> ours = body.find("tessera");
  if (!ours) return {};
  TSR_RETURN_IF_ERROR(ours->expect_members({"limits", "cache", "visual_tokens", "deadline_ms"}));
  TSR_RETURN_IF_ERROR(read_limit_wishes(*ours, call.request.limit_wishes));
  TSR_RETURN_IF_ERROR(read_visual_tokens(*ours, call.request.visual_tokens_max));
  TSR_RETURN_IF_ERROR(read_deadline(*ours, call.request));
  return read_cache_wish(*ours, call.cache);
}

Result<void> read_logprobs(const Field& body, Request& request) {
  if (const std::optional<Field> field = body.find("logprobs")) {
    TSR_ASSIGN_OR_RETURN(request.logprobs, field->boolean());
  }
  if (const std::optional<Field> field = body.find("top_logprobs")) {
    TSR_ASSIGN_OR_RETURN(const std::int64_t value, field->integer(0, kTopLogprobsMax));
    if (!request.logprobs) return field->wrong_value("used together with 'logprobs': true");
    request.n_top_logprobs = static_cast<int>(value);
  }
  return {};
}

Result<void> read_stream(const Field& body, ChatCall& call) {
  if (const std::optional<Field> field = body.find("stream")) {
    TSR_ASSIGN_OR_RETURN(call.stream, field->boolean());
  }
  if (const std::optional<Field> field = body.find("stream_options")) {
    TSR_RETURN_IF_ERROR(field->expect_object());
    if (!call.stream) return field->wrong_value("used together with 'stream': true");
    if (const std::optional<Field> usage = field->find("include_usage")) {
      TSR_ASSIGN_OR_RETURN(call.include_usage, usage->boolean());
    }
  }
  return {};
}

Result<void> read_format(const Field& body, const std::string& media_mark, ResponseFormat& format) {
  const std::optional<Field> field = body.find("response_format");
  if (!field) return {};
  TSR_RETURN_IF_ERROR(field->expect_object());
  TSR_ASSIGN_OR_RETURN(const Field type_field, field->require("type"));
  TSR_ASSIGN_OR_RETURN(const std::string type, type_field.string());
  if (type == "text") return {};
  if (type == "json_object") {
    format.kind = ResponseFormat::Kind::kJsonObject;
    return {};
  }
  if (type != "json_schema") {
    return type_field.wrong_value("one of text, json_object, json_schema");
  }
  TSR_ASSIGN_OR_RETURN(const Field json_schema, field->require("json_schema"));
  TSR_RETURN_IF_ERROR(json_schema.expect_object());
  TSR_ASSIGN_OR_RETURN(const Field name, json_schema.require("name"));
  TSR_RETURN_IF_ERROR(name.string());
  // Every schema is held to strictly; the flag only has to be well formed.
  if (const std::optional<Field> strict = json_schema.find("strict")) {
    TSR_RETURN_IF_ERROR(strict->boolean());
  }
  TSR_ASSIGN_OR_RETURN(const Field schema, json_schema.require("schema"));
  TSR_RETURN_IF_ERROR(schema.expect_object());
  format.kind = ResponseFormat::Kind::kJsonSchema;
  format.json_schema = schema.json().dump();
  if (format.json_schema.find(media_mark) != std::string::npos) {
    return schema.wrong_value("free of image data");
  }
  return {};
}

bool is_neutral(const Json& value) {
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_array() || value.is_object()) return value.empty();
  return value.is_boolean() && !value.get<bool>();
}

/// Refuses what would change the answer's meaning if it were ignored, unless it asks for nothing.
Result<void> refuse_unsupported(const Field& body) {
  struct Unsupported {
    const char* key;
    const char* what;
  };
  constexpr Unsupported kUnsupported[] = {
      {"tools", "tools"},
      {"functions", "functions"},
      {"function_call", "functions"},
      {"audio", "audio"},
      {"logit_bias", "logit biases"},
      {"presence_penalty", "penalties"},
      {"frequency_penalty", "penalties"},
      {"web_search_options", "web search"},
  };
  for (const Unsupported& row : kUnsupported) {
    const std::optional<Field> field = body.find(row.key);
    if (!field || is_neutral(field->json())) continue;
    if (field->is_string() && field->string().value() == "none") continue;  // function_call
    return field->unsupported(row.what);
  }
  if (const std::optional<Field> field = body.find("tool_choice")) {
    const bool asks_for_none =
        field->is_string() && (field->json() == "none" || field->json() == "auto");
    if (!asks_for_none) return field->unsupported("tools");
  }
  if (const std::optional<Field> field = body.find("modalities")) {
    TSR_RETURN_IF_ERROR(field->expect_array());
    for (std::size_t i = 0; i < field->size(); ++i) {
      if (field->at(i).json() != "text") return field->at(i).unsupported("modalities but text");
    }
  }
  return {};
}

}  // namespace

Result<ChatCall> parse_chat_request(ReadBody body, std::string_view model_name,
                                    const MediaSources& sources) {
  TSR_ASSIGN_OR_RETURN(const Json json, parse_json(body.json));
  std::string().swap(body.json);  // the tree replaces the text
  const Field root(json, "");
  TSR_RETURN_IF_ERROR(root.expect_object());

  ChatCall call;
  Request& request = call.request;
  request.model = std::string(model_name);
  if (const std::optional<Field> field = root.find("model")) {
    TSR_ASSIGN_OR_RETURN(const std::string model, field->string());
    if (!model.empty() && model != model_name) {
      return make_error(
          ErrorCode::kNotFound, "model_not_found",
          "this server serves the model '" + std::string(model_name) + "' and no other",
          field->path());
    }
  }
  TSR_RETURN_IF_ERROR(refuse_unsupported(root));
  TSR_RETURN_IF_ERROR(read_sampling(root, request.sampling));
  TSR_RETURN_IF_ERROR(read_stop(root, request.stop));
  TSR_RETURN_IF_ERROR(read_output_size(root, request));
  TSR_RETURN_IF_ERROR(read_logprobs(root, request));
  TSR_RETURN_IF_ERROR(read_ours(root, call));
  TSR_RETURN_IF_ERROR(read_stream(root, call));
  TSR_RETURN_IF_ERROR(read_format(root, body.media_mark, request.response_format));
  TSR_ASSIGN_OR_RETURN(const Field messages, root.require("messages"));
  TSR_RETURN_IF_ERROR(MessageReader(body, sources, request).read(messages));
  return call;
}

}  // namespace tessera::api
