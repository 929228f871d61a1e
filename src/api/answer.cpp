// The writing half of a session: replies, and token events of one chat → bytes of its answer.
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <utility>
#include <variant>
#include <vector>

#include "api/session.h"

namespace tessera::api {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// Events that pile up while a client is slow go out together, up to this size.
constexpr std::size_t kWriteBytesMax = std::size_t{64} * 1024;

// One read while lingering.
constexpr std::size_t kPieceBytes = std::size_t{16} * 1024;

// After an early refusal the client may still be sending. Reading on for a moment lets it see the
// answer instead of a reset connection; a client that never stops is cut off. The bytes of a body
// that is far too large pass in that time where the network is fast.
constexpr std::size_t kLingerBytesMax = std::size_t{256} << 20U;
constexpr std::chrono::milliseconds kLingerTime{1000};

/// One chunk of HTTP's chunked coding.
std::string in_chunk(const std::string& bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string size;
  for (std::size_t rest = bytes.size(); rest > 0; rest >>= 4U) size.insert(0, 1, kHex[rest & 0xFU]);
  return size + "\r\n" + bytes + "\r\n";
}

/// Moves what is there from the stream to the answer, until that has enough for one write.
/// @return  the terminal event, once it came
template <typename Answer>
std::optional<StreamEnd> take_events(const StreamReader& reader, Answer& answer) {
  while (answer.ready_bytes() < kWriteBytesMax) {
    std::optional<StreamEvent> event = reader->try_pop();
    if (!event) break;
    if (auto* token = std::get_if<TokenDelta>(&*event)) {
      answer.add(std::move(*token));
    } else if (const auto* end = std::get_if<ChoiceEnd>(&*event)) {
      answer.add(*end);
    } else {
      return std::get<StreamEnd>(std::move(*event));
    }
  }
  return std::nullopt;
}

}  // namespace

Error Session::client_gone() {
  return make_error(ErrorCode::kCancelled, "client_disconnected",
                    "the client closed the connection or became too slow");
}

asio::awaitable<void> Session::write_reply(Exchange& exchange, Reply reply) {
  // A body that was not read to its end makes the rest of the connection unreadable.
  const bool body_is_left = parser_ && parser_->is_header_done() && !parser_->is_done();
  unread_body_ = unread_body_ || body_is_left;
  usable_ = usable_ && exchange.keep_alive && !reply.close && !unread_body_ && !context_.stopping;
  exchange.status = reply.status;
  if (reply.error) exchange.error = reply.error->code;

  http::response<http::string_body> response(static_cast<http::status>(reply.status),
                                             exchange.http_version);
  response.set(http::field::server, "tessera");
  response.set(http::field::content_type,
               beast::string_view(reply.content_type.data(), reply.content_type.size()));
  response.set("x-request-id", "req_" + std::string(exchange.id.view()));
  if (!reply.allow.empty()) {
    response.set(http::field::allow, beast::string_view(reply.allow.data(), reply.allow.size()));
  }
  if (reply.retry_after.count() > 0) {
    response.set(http::field::retry_after, std::to_string(reply.retry_after.count()));
  }
  if (reply.status == 401) response.set(http::field::www_authenticate, "Bearer");
  response.keep_alive(usable_);
  response.content_length(reply.body.size());
  if (!exchange.is_head) response.body() = std::move(reply.body);
  stream_.expires_after(context_.options.timeouts.write);
  const auto [error, n] = co_await http::async_write(stream_, response, kTuple);
  if (error) lost_ = true;
}

asio::awaitable<bool> Session::write_bytes(std::string bytes) {
  stream_.expires_after(context_.options.timeouts.write);
  const auto [error, n] = co_await asio::async_write(stream_, asio::buffer(bytes), kTuple);
  if (error) lost_ = true;
  co_return !error;
}

asio::awaitable<void> Session::close() {
  boost::system::error_code ignored;
  if (lost_) {
    stream_.close();
    co_return;
  }
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (unread_body_) {
    stream_.expires_after(kLingerTime);
    std::vector<char> discarded(kPieceBytes);
    for (std::size_t n_read = 0; n_read < kLingerBytesMax && !ending_;) {
      const auto [error, n] = co_await stream_.async_read_some(asio::buffer(discarded), kTuple);
      if (error) break;
      n_read += n;
    }
  }
  stream_.close();
}

std::shared_ptr<Wakeup> Session::begin_answer() {
  too_long_ = false;
  wakeup_ = std::make_shared<Wakeup>(stream_.get_executor());
  (*reader_)->set_waker([wakeup = wakeup_] { wakeup->notify(); });
  asio::co_spawn(
      stream_.get_executor(),
      [self = shared_from_this(), wakeup = wakeup_] { return self->watch_client(wakeup); },
      asio::detached);
  return wakeup_;
}

void Session::end_answer(Wakeup& wakeup) {
  wakeup.answered = true;
  wakeup_.reset();
  boost::system::error_code ignored;
  if (stream_.socket().is_open()) stream_.socket().cancel(ignored);  // only the watcher waits now
}

asio::awaitable<void> Session::watch_client(std::shared_ptr<Wakeup> wakeup) {
  const auto self = shared_from_this();
  while (!wakeup->answered && stream_.socket().is_open()) {
    const auto [error] =
        co_await stream_.socket().async_wait(asio::ip::tcp::socket::wait_read, kTuple);
    if (wakeup->answered) co_return;
    char byte = 0;
    const ssize_t n =
        error ? 0 : ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    // The next request is here already. Should its client go away, a write will show it.
    if (n > 0) co_return;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    // A client that only shuts its sending side down counts as gone, as with most servers.
    wakeup->client_gone = true;
    wakeup->notify();
    co_return;
  }
}

void Session::cancel_if_unwanted(const Wakeup& wakeup, std::size_t n_bytes) {
  if (wakeup.client_gone) lost_ = true;
  if (n_bytes > context_.options.limits.answer_bytes_max) too_long_ = true;
  if (lost_ || ending_ || too_long_) (*reader_)->cancel();
}

Error Session::final_error(const Error& error) const {
  if (error.code != ErrorCode::kCancelled) return error;
  if (too_long_) {
    return make_error(ErrorCode::kTooLarge, "answer_too_large",
                      "the answer has more than " +
                          std::to_string(context_.options.limits.answer_bytes_max) + " bytes");
  }
  return ending_ ? shutting_down_error() : error;
}

void Session::account(Trace& trace, const std::optional<Error>& error) {
  trace.finish(context_.clock.now());
  context_.service.account(trace, error);
}

asio::awaitable<void> Session::answer_whole(Exchange& exchange, AnswerHead head,
                                            AnswerOptions options) {
  WholeAnswer answer(std::move(head), std::move(options));
  const std::shared_ptr<Wakeup> wakeup = begin_answer();
  std::optional<StreamEnd> end;
  while (!(end = take_events(*reader_, answer))) {
    // A stop string may end every choice before the engine knows.
    if (answer.complete()) (*reader_)->cancel();
    cancel_if_unwanted(*wakeup, answer.n_bytes());
    co_await wakeup->wait();
  }
  end_answer(*wakeup);

  std::optional<Error> error;
  if (end->error && !answer.complete()) error = final_error(*end->error);
  co_await write_whole(exchange, end->trace, std::move(error), [&] {
    // What the client reads of its own stages ends here; the server's account ends with the last
    // byte.
    Trace reported = end->trace;
    reported.finish(context_.clock.now());
    return answer.body(reported);
  });
  if (context_.options.content_log != nullptr) exchange.answers = answer.take_texts();
}

asio::awaitable<void> Session::write_whole(Exchange& exchange, Trace& trace,
                                           std::optional<Error> error,
                                           std::function<std::string()> body) {
  if (lost_) error = client_gone();
  exchange.status = 499;
  if (error) exchange.error = error->code;
  if (!lost_) {
    Reply reply;
    if (error) {
      reply = error_reply(*error);
    } else {
      reply.body = body();
    }
    co_await write_reply(exchange, std::move(reply));
    if (lost_ && !error) error = client_gone();
  }
  account(trace, error);
}

asio::awaitable<bool> Session::write_stream_head(Exchange& exchange) {
  usable_ = usable_ && exchange.keep_alive && exchange.http_version >= 11 && !context_.stopping;
  exchange.status = 200;
  http::response<http::empty_body> response(http::status::ok, exchange.http_version);
  response.set(http::field::server, "tessera");
  response.set(http::field::content_type, "text/event-stream; charset=utf-8");
  response.set(http::field::cache_control, "no-cache");
  response.set("X-Accel-Buffering", "no");  // proxies must not collect events
  response.set("x-request-id", "req_" + std::string(exchange.id.view()));
  response.keep_alive(usable_);
  if (exchange.http_version >= 11) response.chunked(true);  // HTTP/1.0 ends with the connection
  http::response_serializer<http::empty_body> serializer(response);
  stream_.expires_after(context_.options.timeouts.write);
  const auto [error, n] = co_await http::async_write_header(stream_, serializer, kTuple);
  if (error) lost_ = true;
  co_return !error;
}

asio::awaitable<void> Session::answer_stream(Exchange& exchange, AnswerHead head,
                                             AnswerOptions options) {
  StreamedAnswer answer(std::move(head), std::move(options));
  const std::shared_ptr<Wakeup> wakeup = begin_answer();
  std::optional<StreamEnd> end;
  std::optional<Error> error;
  bool began = false;  // the head was sent: an error is an event from now on
  exchange.status = 499;
  while (!end) {
    end = take_events(*reader_, answer);
    if (answer.complete()) (*reader_)->cancel();
    cancel_if_unwanted(*wakeup, answer.n_bytes());
    if (end && end->error && !answer.complete()) {
      error = final_error(*end->error);
      if (!began) break;
      answer.fail(*error);
    } else if (end) {
      Trace reported = end->trace;  // see answer_whole()
      reported.finish(context_.clock.now());
      answer.finish(reported);
    }
    const std::string bytes = answer.take();
    if (bytes.empty()) {
      if (!end) co_await wakeup->wait();
      continue;
    }
    if (lost_) continue;  // read on to the terminal event
    if (!began && !co_await write_stream_head(exchange)) continue;
    began = true;
    if (exchange.http_version < 11) {
      co_await write_bytes(bytes);
    } else {
      co_await write_bytes(in_chunk(bytes) + (end ? "0\r\n\r\n" : ""));
    }
  }
  end_answer(*wakeup);

  exchange.answers = answer.take_texts();
  if (lost_) error = client_gone();
  if (error) exchange.error = error->code;
  if (error && !began && !lost_) co_await write_reply(exchange, error_reply(*error));
  account(end->trace, error);
}

}  // namespace tessera::api
