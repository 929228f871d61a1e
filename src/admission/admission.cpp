#include "admission/admission.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

namespace tessera::admission {
namespace {

/// Of `Retry-After`. The header has no less than a second; and after a minute things are otherwise.
constexpr std::chrono::seconds kRetryAfterMin{1};
constexpr std::chrono::seconds kRetryAfterMax{60};

/// How many requests the mean of their times goes back: the load of the last while.
constexpr int kRecentRequests = 16;

// The emitter holds back up to this many bytes of a stream; a stop string is a word or a tag.
constexpr std::size_t kStopBytesMax = 256;

Error above(ErrorCode code, std::string reason, std::string what, std::size_t value,
            std::size_t limit, std::string param) {
  return make_error(code, std::move(reason),
                    std::move(what) + ": " + std::to_string(value) + " exceeds the limit of " +
                        std::to_string(limit),
                    std::move(param));
}

Error out_of_range(std::string param, const std::string& range) {
  return make_error(ErrorCode::kInvalidArgument, "invalid_value", param + " must be " + range,
                    param);
}

Error busy(std::string reason, const std::string& what, int n, int limit,
           std::chrono::seconds retry_after) {
  Error error = make_error(ErrorCode::kResourceExhausted, std::move(reason),
                           std::to_string(n) + " " + what + ", the limit is " +
                               std::to_string(limit) + "; try again later");
  error.retry_after = retry_after;
  return error;
}

Result<void> check_messages(const Request& request, const Limits& limits) {
  if (request.messages.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "empty_messages",
                      "a request needs at least one message", "messages");
  }
  const auto images_max = static_cast<std::size_t>(limits.images_max);
  if (request.media.size() > images_max) {
    return above(ErrorCode::kTooLarge, "too_many_images", "images in one request",
                 request.media.size(), images_max, "messages");
  }
  for (std::size_t i = 0; i < request.media.size(); ++i) {
    if (request.media[i].size_bytes > media_bytes_max(limits)) {
      return above(ErrorCode::kTooLarge, "image_too_large",
                   "bytes of image " + std::to_string(i + 1), request.media[i].size_bytes,
                   media_bytes_max(limits), "messages");
    }
    const int n_frames = request.media[i].n_frames.value_or(1);
    if (n_frames < 1) return out_of_range("frames", "≥ 1");
    if (n_frames > limits.frames_max) {
      return above(ErrorCode::kTooLarge, "too_many_frames",
                   "frames of image " + std::to_string(i + 1), static_cast<std::size_t>(n_frames),
                   static_cast<std::size_t>(limits.frames_max), request.media[i].field);
    }
  }
  std::size_t text_bytes = 0;
  for (const Message& message : request.messages) {
    for (const ContentPart& part : message.parts) {
      if (const auto* text = std::get_if<TextPart>(&part)) text_bytes += text->text.size();
    }
  }
  if (text_bytes > limits.text_bytes_max) {
    return above(ErrorCode::kTooLarge, "text_too_large", "bytes of text", text_bytes,
                 limits.text_bytes_max, "messages");
  }
  return {};
}

Result<void> check_sampling(const SamplingOptions& sampling) {
  // Written so that a NaN fails, too.
  if (!(sampling.temperature >= 0.F && std::isfinite(sampling.temperature))) {
    return out_of_range("temperature", "a finite number ≥ 0");
  }
  if (!(sampling.top_p > 0.F && sampling.top_p <= 1.F)) {
    return out_of_range("top_p", "above 0 and at most 1");
  }
  if (sampling.top_k < 0) return out_of_range("top_k", "≥ 0");
  return {};
}

Result<void> check_stop(const std::vector<std::string>& stop) {
  if (stop.size() > kStopStringsMax) {
    return above(ErrorCode::kInvalidArgument, "too_many_stop_strings", "stop strings", stop.size(),
                 kStopStringsMax, "stop");
  }
  for (const std::string& text : stop) {
    if (text.empty()) return out_of_range("stop", "free of empty strings");
    if (text.size() > kStopBytesMax) {
      return above(ErrorCode::kInvalidArgument, "stop_string_too_long", "bytes of a stop string",
                   text.size(), kStopBytesMax, "stop");
    }
  }
  return {};
}

}  // namespace

Admission::Ticket& Admission::Ticket::operator=(Ticket&& other) noexcept {
  // What this ticket held is released when `other` is destroyed.
  std::swap(books_, other.books_);
  std::swap(place_, other.place_);
  std::swap(begin_, other.begin_);
  return *this;
}

Admission::Ticket::~Ticket() {
  if (books_ == nullptr) return;
  const Duration time = clock_->now() - begin_;
  MutexLock lock(books_->mutex);
  --books_->n_admitted;
  const Duration mean = books_->time.value_or(time);
  books_->time = mean + (time - mean) / kRecentRequests;
}

Admission::Admission(const Limits& limits, const Clock& clock)
    : requests_max_(limits.requests_max),
      tenant_requests_max_(limits.tenant_requests_max),
      clock_(clock),
      tenants_(static_cast<std::size_t>(limits.tenant_requests_max)),
      books_(std::make_shared<Books>()) {}

Result<Admission::Ticket> Admission::admit(TenantId tenant) {
  MutexLock lock(books_->mutex);
  if (books_->n_admitted >= requests_max_) {
    return busy("server_busy", "requests are running", books_->n_admitted, requests_max_,
                time_to_a_place(requests_max_));
  }
  auto place = tenants_.try_take(tenant);
  if (!place) {
    return busy("tenant_busy", "requests with this key are running", tenant_requests_max_,
                tenant_requests_max_, time_to_a_place(tenant_requests_max_));
  }
  ++books_->n_admitted;
  return Ticket(books_, *std::move(place), clock_);
}

int Admission::n_admitted() const {
  MutexLock lock(books_->mutex);
  return books_->n_admitted;
}

/// Of so many that run, one ends each so many-th of the time that they take.
std::chrono::seconds Admission::time_to_a_place(int n_taken) const {
  const Duration time = books_->time.value_or(Duration::zero()) / std::max(n_taken, 1);
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(time), kRetryAfterMin, kRetryAfterMax);
}

Result<void> check_request(const Request& request, const Limits& limits) {
  TSR_RETURN_IF_ERROR(check_messages(request, limits));
  TSR_RETURN_IF_ERROR(check_sampling(request.sampling));
  TSR_RETURN_IF_ERROR(check_stop(request.stop));
  if (request.n_choices < 1 || request.n_choices > limits.choices_max) {
    return out_of_range("n", "between 1 and " + std::to_string(limits.choices_max) + ", not " +
                                 std::to_string(request.n_choices));
  }
  if (request.max_output_tokens &&
      (*request.max_output_tokens < 1 || *request.max_output_tokens > limits.output_tokens_max)) {
    return out_of_range(std::string(request.output_tokens_name),
                        "between 1 and " + std::to_string(limits.output_tokens_max) + ", not " +
                            std::to_string(*request.max_output_tokens));
  }
  if (request.deadline && *request.deadline > limits.request_timeout) {
    return make_error(ErrorCode::kInvalidArgument, "limit_not_lower",
                      "tessera.deadline_ms: " + std::to_string(request.deadline->count()) +
                          " exceeds this server's " +
                          std::to_string(limits.request_timeout.count()) +
                          " ms (limits.request_timeout); a request may lower a limit, not raise it",
                      "tessera.deadline_ms");
  }
  if (request.n_top_logprobs < 0 || request.n_top_logprobs > kTopLogprobsMax) {
    return out_of_range("top_logprobs", "between 0 and " + std::to_string(kTopLogprobsMax) +
                                            ", not " + std::to_string(request.n_top_logprobs));
  }
  return {};
}

}  // namespace tessera::admission
