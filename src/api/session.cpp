#include "api/session.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/read.hpp>
#include <exception>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "api/admin_routes.h"
#include "api/chat_request.h"
#include "api/content_record.h"
#include "core/check.h"

namespace tessera::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// What one read from a socket takes; also the pieces that BodyReader gets.
constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;

// The first read of a request: a usual head fits.
constexpr std::size_t kHeadReadBytes = std::size_t{4} * 1024;

StaticText route_name(Route route) {
  switch (route) {
    case Route::kChat:
      return "chat";
    case Route::kVisualPlan:
      return "visual_plan";
    case Route::kModels:
      return "models";
    case Route::kModel:
      return "model";
    case Route::kFileUpload:
      return "file_upload";
    case Route::kFileList:
      return "file_list";
    case Route::kFile:
      return "file";
    case Route::kFileDelete:
      return "file_delete";
    case Route::kHealth:
      return "health";
    case Route::kReady:
      return "ready";
    case Route::kMetrics:
      return "metrics";
    case Route::kCacheReport:
      return "cache_report";
    case Route::kCachePurge:
      return "cache_purge";
  }
  return "none";
}

/// @param sandbox_level  one of three letters; empty = nobody said
std::string health_json(const std::string& sandbox_level) {
  if (sandbox_level.empty()) return R"({"status":"ok"})";
  return R"({"status":"ok","sandbox_level":")" + sandbox_level + "\"}";
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Counts a chat from its head to its last byte.
class ChatCount {
 public:
  explicit ChatCount(std::atomic<int>& count) : count_(count) { ++count_; }
  ChatCount(const ChatCount&) = delete;
  ChatCount& operator=(const ChatCount&) = delete;
  ~ChatCount() { --count_; }

 private:
  std::atomic<int>& count_;
};

Error malformed_http() {
  return make_error(ErrorCode::kInvalidArgument, "malformed_http",
                    "the request is not valid HTTP/1.1");
}

Error too_many_bodies(int limit) {
  Error error = make_error(ErrorCode::kResourceExhausted, "tenant_busy",
                           "bodies of " + std::to_string(limit) +
                               " requests with this key are arriving, which is the limit; try "
                               "again later");
  error.retry_after = std::chrono::seconds(1);  // a photo at a megabyte a second
  return error;
}

Error body_too_slow() {
  return make_error(ErrorCode::kDeadlineExceeded, "deadline_exceeded",
                    "the body did not arrive within the request's time limit");
}

}  // namespace

Session::Session(asio::ip::tcp::socket socket, ServerContext& context)
    : context_(context),
      stream_(std::move(socket)),
      buffer_(context.options.limits.header_bytes_max + kPieceBytes) {}

Session::~Session() {
  context_.on_session_end(this);
}

void Session::start() {
  asio::co_spawn(
      stream_.get_executor(), [this] { return run(); },
      [self = shared_from_this()](std::exception_ptr thrown) {
        if (thrown != nullptr) TSR_BUG("an exception left a session");
      });
}

void Session::end_soon() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->idle_) self->stream_.close();
  });
}

void Session::end_now() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->ending_ = true;
    if (self->wakeup_ != nullptr) {
      self->wakeup_->notify();  // the answer still says why it ends
    } else {
      self->stream_.close();
    }
  });
}

asio::awaitable<void> Session::run() {
  boost::system::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream_.socket().set_option(asio::socket_base::keep_alive(true), ignored);
  if (const int bytes = context_.options.send_buffer_bytes; bytes > 0) {
    stream_.socket().set_option(asio::socket_base::send_buffer_size(bytes), ignored);
  }
  for (bool is_first = true; usable_ && !lost_ && co_await read_head(is_first); is_first = false) {
    co_await handle();
    parser_.reset();
    buffer_.shrink_to_fit();  // an idle connection holds no buffer
  }
  co_await close();
}

std::optional<std::int64_t> Session::waits_since() const {
  const std::int64_t since = waits_since_;
  return since >= 0 ? std::optional(since) : std::nullopt;
}

bool Session::give_up() {
  std::int64_t since = waits_since_;
  if (since < 0 || !waits_since_.compare_exchange_strong(since, kGivenUp)) return false;
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
  return true;
}

asio::awaitable<bool> Session::read_head(bool is_first) {
  waits_since_ = context_.clock.now().time_since_epoch() / std::chrono::nanoseconds(1);
  const bool has_come = co_await wait_for_head(is_first);
  const bool was_given_up = waits_since_.exchange(kServing) == kGivenUp;
  co_return has_come && !was_given_up;
}

asio::awaitable<bool> Session::wait_for_head(bool is_first) {
  if (context_.stopping) co_return false;
  const HttpTimeouts& timeouts = context_.options.timeouts;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(context_.options.limits.header_bytes_max));
  parser_->body_limit(boost::none);  // refuse_body() and read_body() say it better
  if (buffer_.size() == 0) {
    stream_.expires_after(is_first ? timeouts.header : timeouts.idle);
    idle_ = true;
    const auto [error, n] =
        co_await stream_.async_read_some(buffer_.prepare(kHeadReadBytes), kTuple);
    idle_ = false;
    if (error) co_return false;
    buffer_.commit(n);
  }
  stream_.expires_after(timeouts.header);
  const auto [error, n] = co_await http::async_read_header(stream_, buffer_, *parser_, kTuple);
  if (!error) co_return true;

  // Only the parser's own errors get an answer; after the others nobody is there to read it.
  const beast::error_code end = http::error::end_of_stream;
  if (error.category() != end.category() || error == end || error == http::error::partial_message) {
    co_return false;
  }
  Exchange exchange(context_.clock.now());
  const bool too_large =
      error == http::error::header_limit || error == http::error::buffer_overflow;
  Reply reply =
      too_large
          ? error_reply(
                make_error(ErrorCode::kTooLarge, "header_too_large",
                           "the request's head has more than " +
                               std::to_string(context_.options.limits.header_bytes_max) + " bytes"),
                431)
          : error_reply(malformed_http());
  reply.close = true;
  unread_body_ = true;
  co_await write_reply(exchange, std::move(reply));
  co_return false;
}

Session::Exchange Session::begin_exchange() {
  const auto& fields = parser_->get();
  Exchange exchange(context_.clock.now());
  exchange.http_version = fields.version();
  exchange.keep_alive = parser_->keep_alive();
  exchange.is_head = fields.method() == http::verb::head;
  exchange.with_trace = view(fields["X-Tessera-Trace"]) == "1";
  const auto [first, last] = fields.equal_range(http::field::cache_control);
  exchange.no_store = std::any_of(
      first, last, [](const auto& field) { return says_no_store(view(field.value())); });
  return exchange;
}

asio::awaitable<void> Session::handle() {
  Exchange exchange = begin_exchange();
  co_await dispatch(exchange);
  const double seconds = to_seconds(context_.clock.now() - exchange.trace.arrival());
  if (exchange.error) {
    log(LogLevel::kInfo, "http_request",
        {{"request", exchange.id},
         {"route", exchange.route},
         {"status", exchange.status},
         {"tenant", exchange.tenant},
         {"seconds", seconds},
         {"error", *exchange.error}});
  } else {
    log(LogLevel::kInfo, "http_request",
        {{"request", exchange.id},
         {"route", exchange.route},
         {"status", exchange.status},
         {"tenant", exchange.tenant},
         {"seconds", seconds}});
  }
}

asio::awaitable<void> Session::dispatch(Exchange& exchange) {
  const auto& fields = parser_->get();
  const std::string_view target = view(fields.target());
  if (needs_key(target)) {
    // The head is enough to refuse a stranger: nothing of the body is read.
    const auto key = bearer_key(view(fields[http::field::authorization]));
    const Result<TenantId> tenant = context_.options.keys.authenticate(key);
    if (!tenant) {
      co_await write_reply(exchange, error_reply(tenant.error()));
      co_return;
    }
    exchange.tenant = *tenant;
  }
  if (needs_admin_key(target)) {
    const auto key = bearer_key(view(fields[http::field::authorization]));
    if (auto refusal = refuse_admin(context_.options.admin_keys, key)) {
      co_await write_reply(exchange, std::move(*refusal));
      co_return;
    }
  }
  auto matched = match_route(view(fields.method_string()), target);
  if (auto* reply = std::get_if<Reply>(&matched)) {
    co_await write_reply(exchange, std::move(*reply));
    co_return;
  }
  const auto& route = std::get<MatchedRoute>(matched);
  exchange.route = route_name(route.route);
  switch (route.route) {
    case Route::kChat:
      co_await chat(exchange, false);
      co_return;
    case Route::kVisualPlan:
      co_await chat(exchange, true);
      co_return;
    case Route::kFileUpload:
    case Route::kFileList:
    case Route::kFile:
    case Route::kFileDelete:
      co_await files(exchange, route);
      co_return;
    case Route::kCacheReport:
    case Route::kCachePurge:
      co_await write_reply(exchange, admin_reply(context_.service, route));
      co_return;
    case Route::kModels:
    case Route::kModel:
    case Route::kHealth:
    case Route::kReady:
    case Route::kMetrics:
      co_await write_reply(exchange, simple_reply(route));
  }
}

Reply Session::simple_reply(const MatchedRoute& matched) const {
  Reply reply;
  switch (matched.route) {
    case Route::kModels:
      reply.body = models_json(context_.model_name, context_.started_seconds);
      break;
    case Route::kModel:
      if (matched.id != context_.model_name) {
        return error_reply(make_error(ErrorCode::kNotFound, "model_not_found",
                                      "this server has no such model", "model"));
      }
      reply.body = model_json(context_.model_name, context_.started_seconds);
      break;
    case Route::kHealth:
      reply.body = health_json(context_.options.sandbox_level);
      break;
    case Route::kReady:
      if (context_.stopping || !context_.service.ready()) {
        return error_reply(
            make_error(ErrorCode::kUnavailable, "not_ready", "the server is starting or stopping"));
      }
      reply.body = R"({"status":"ready"})";
      break;
    case Route::kMetrics:
      reply.body = context_.metrics_text ? context_.metrics_text() : std::string();
      reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
      break;
    case Route::kChat:
    case Route::kVisualPlan:
    case Route::kFileUpload:
    case Route::kFileList:
    case Route::kFile:
    case Route::kFileDelete:
    case Route::kCacheReport:
    case Route::kCachePurge:
      break;
  }
  return reply;
}

BodyHead Session::body_head() const {
  const auto& fields = parser_->get();
  BodyHead head;
  if (const auto length = parser_->content_length()) head.content_length = *length;
  head.chunked = parser_->chunked();
  const auto codings = fields.equal_range(http::field::transfer_encoding);
  const auto n_codings = std::distance(codings.first, codings.second);
  head.other_transfer_encoding =
      n_codings > 1 || (n_codings == 1 && !beast::iequals(codings.first->value(), "chunked"));
  head.content_type = view(fields[http::field::content_type]);
  head.content_encoding = view(fields[http::field::content_encoding]);
  return head;
}

asio::awaitable<void> Session::confirm_expectation(const Exchange& exchange) {
  const std::string_view expected = view(parser_->get()[http::field::expect]);
  if (exchange.http_version >= 11 &&
      beast::iequals({expected.data(), expected.size()}, "100-continue")) {
    co_await write_bytes("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

asio::awaitable<void> Session::chat(Exchange& exchange, bool plan_only) {
  const ChatCount count(context_.n_chats);
  if (auto refusal = refuse_body(body_head(), context_.options.limits)) {
    co_await refuse_chat(exchange, std::move(*refusal));
    co_return;
  }
  co_await confirm_expectation(exchange);
  std::optional<Result<ReadBody>> body = co_await read_body(exchange);
  if (!body) {
    lost_ = true;
    co_await refuse_chat(exchange, error_reply(client_gone()));
    co_return;
  }
  auto call = *body ? parse_chat_request(std::move(**body), context_.model_name,
                                         context_.options.media_sources)
                    : Result<ChatCall>((*body).error());
  if (!call) {
    co_await refuse_chat(exchange, error_reply(call.error()));
    co_return;
  }

  const HttpOptions& options = context_.options;
  const auto policy = admission::apply_cache_rules(
      options.keys.cache_rules(exchange.tenant, options.cache_rules), call->cache);
  if (!policy) {
    co_await refuse_chat(exchange, error_reply(policy.error()));
    co_return;
  }
  CachePolicy& cache = call->request.cache = *policy;
  if (exchange.no_store && cache.scope == CachePolicy::Scope::kTenant) {
    cache.scope = CachePolicy::Scope::kRequest;
  }
  call->request.plan_only = plan_only;
  content_log::ContentLog* log = context_.options.content_log;
  if (log == nullptr || plan_only) {
    co_await answer_chat(exchange, *std::move(call));
    co_return;
  }
  const ContentRecord record("req_" + std::string(exchange.id.view()), exchange.tenant,
                             unix_seconds(), call->request);
  co_await answer_chat(exchange, *std::move(call));
  log->try_append(record.finish(exchange.answers, exchange.error));
}

asio::awaitable<void> Session::answer_chat(Exchange& exchange, ChatCall call) {
  AnswerHead head{"chatcmpl-" + std::string(exchange.id.view()), unix_seconds(),
                  context_.model_name};
  AnswerOptions options{call.request.n_choices, call.request.stop,
                        call.request.logprobs,  call.include_usage,
                        exchange.with_trace,    context_.options.content_log != nullptr};
  const bool plan_only = call.request.plan_only;
  auto submitted =
      context_.service.submit(std::move(call.request), exchange.tenant, exchange.trace);
  if (!submitted) {
    co_await refuse_chat(exchange, error_reply(submitted.error()));
    co_return;
  }
  reader_.emplace(std::move(submitted).value());
  if (plan_only) {
    co_await answer_plan(exchange);
  } else if (call.stream) {
    co_await answer_stream(exchange, std::move(head), std::move(options));
  } else {
    co_await answer_whole(exchange, std::move(head), std::move(options));
  }
  reader_.reset();
}

asio::awaitable<void> Session::refuse_chat(Exchange& exchange, Reply reply) {
  const std::optional<Error> error = reply.error;
  if (lost_) {
    exchange.status = reply.status;
    exchange.error = error->code;
  } else {
    co_await write_reply(exchange, std::move(reply));
  }
  account(exchange.trace, error);
}

asio::awaitable<std::optional<Result<ReadBody>>> Session::read_body(Exchange& exchange) {
  const Limits& limits = context_.options.limits;
  BodyReader reader(limits);
  const auto read =
      co_await read_pieces(exchange, limits.body_bytes_max,
                           [&reader](std::string_view piece) { return reader.feed(piece); });
  if (!read) co_return std::nullopt;
  if (!*read) co_return Result<ReadBody>(read->error());
  co_return reader.finish();
}

asio::awaitable<std::optional<Result<void>>> Session::read_pieces(
    Exchange& exchange, std::size_t bytes_max, std::function<Result<void>(std::string_view)> feed) {
  const HttpOptions& options = context_.options;
  const auto place = context_.arriving.try_take(exchange.tenant);
  if (!place) co_return Result<void>(too_many_bodies(options.limits.tenant_requests_max));
  exchange.held = context_.held.open(exchange.tenant);
  const TimePoint deadline = exchange.trace.arrival() + options.limits.request_timeout;
  std::vector<char> piece(kPieceBytes);
  std::uint64_t n_read = 0;
  while (!parser_->is_done()) {
    const Duration left = deadline - context_.clock.now();
    if (left <= Duration::zero()) co_return Result<void>(body_too_slow());
    auto& body = parser_->get().body();
    body.data = piece.data();
    body.size = piece.size();
    stream_.expires_after(std::min<Duration>(options.timeouts.body_piece, left));
    const auto [error, n_ignored] = co_await http::async_read(stream_, buffer_, *parser_, kTuple);
    if (error && error != http::error::need_buffer) {
      const beast::error_code end = http::error::end_of_stream;
      const bool is_malformed = error.category() == end.category() && error != end &&
                                error != http::error::partial_message;
      if (!is_malformed) co_return std::nullopt;
      co_return Result<void>(malformed_http());
    }
    const std::size_t n = piece.size() - body.size;
    n_read += n;
    context_.n_body_bytes_read += n;
    if (auto grown = exchange.held->grow(n); !grown) co_return grown;
    if (n_read > bytes_max) {
      co_return Result<void>(
          make_error(ErrorCode::kTooLarge, "body_too_large",
                     "the body has more than " + std::to_string(bytes_max) + " bytes"));
    }
    if (auto fed = feed({piece.data(), n}); !fed) co_return fed;
  }
  co_return Result<void>();
}

}  // namespace tessera::api
