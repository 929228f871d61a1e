// One connection: reads requests one after the other and writes their answers. A coroutine on a
// strand of its own, so that nothing here needs a lock.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/body_reader.h"
#include "api/chat_answer.h"
#include "api/http_rules.h"
#include "api/server_context.h"
#include "api/wakeup.h"
#include "core/byte_budget.h"
#include "core/ids.h"
#include "core/log.h"
#include "core/public_id.h"
#include "core/token_stream.h"

namespace tessera::api {

/// @thread its strand, unless said otherwise
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, ServerContext& context);
  ~Session();

  /// Runs until the connection ends; keeps itself alive.
  void start();

  /// No further request; an idle connection closes. @thread any
  void end_soon();
  /// When this connection began to wait for a request; nothing while it serves one. @thread any
  std::optional<std::int64_t> waits_since() const;
  /// Ends a connection that waits, to make room for another. False when its request has come.
  /// @thread any
  bool give_up();
  /// Cancels what runs. @thread any
  void end_now();
  /// Drops the request that runs. @thread any, when no HTTP thread runs any more
  void abandon() { reader_.reset(); }

 private:
  template <typename T>
  using Awaitable = boost::asio::awaitable<T>;

  /// One request and its answer, as HTTP sees them.
  struct Exchange {
    explicit Exchange(TimePoint arrival) : trace(arrival) {}
    const PublicId id = PublicId::make();
    Trace trace;
    TenantId tenant;
    std::shared_ptr<ByteBudget::Reservation> held;  // of what came in the body
    unsigned http_version = 11;
    bool keep_alive = false;
    bool is_head = false;
    bool with_trace = false;
    bool no_store = false;  // Cache-Control: no-store
    int status = 0;         // that was sent
    std::optional<ErrorCode> error;
    StaticText route = "none";
    std::vector<std::string> answers;  // texts of the choices; only for the content log
  };

  // session.cpp: requests
  Awaitable<void> run();
  Awaitable<bool> read_head(bool is_first);
  Awaitable<bool> wait_for_head(bool is_first);
  Awaitable<void> handle();
  Exchange begin_exchange();
  Awaitable<void> dispatch(Exchange& exchange);
  Reply simple_reply(const MatchedRoute& matched) const;
  BodyHead body_head() const;
  /// Answers `Expect: 100-continue`; a lost client shows in the next read.
  Awaitable<void> confirm_expectation(const Exchange& exchange);
  /// Feeds the body to `feed` while it arrives. Empty when the connection was lost.
  Awaitable<std::optional<Result<void>>> read_pieces(
      Exchange& exchange, std::size_t bytes_max,
      std::function<Result<void>(std::string_view)> feed);
  /// @param plan_only  the answer is what the request would cost
  Awaitable<void> chat(Exchange& exchange, bool plan_only);
  Awaitable<void> answer_chat(Exchange& exchange, ChatCall call);
  /// Ends a chat that never became a request of the pipeline.
  Awaitable<void> refuse_chat(Exchange& exchange, Reply reply);
  /// Empty when the connection was lost.
  Awaitable<std::optional<Result<ReadBody>>> read_body(Exchange& exchange);

  // visual_plan.cpp: /v1/visual/plan
  Awaitable<void> answer_plan(Exchange& exchange);

  // upload.cpp: /v1/files
  Awaitable<void> files(Exchange& exchange, const MatchedRoute& matched);
  Awaitable<void> upload(Exchange& exchange, uploads::UploadStore& store);
  static std::int64_t unix_seconds();

  // answer.cpp: answers
  Awaitable<void> write_reply(Exchange& exchange, Reply reply);
  Awaitable<void> close();
  Awaitable<void> answer_whole(Exchange& exchange, AnswerHead head, AnswerOptions options);
  Awaitable<void> answer_stream(Exchange& exchange, AnswerHead head, AnswerOptions options);
  Awaitable<bool> write_stream_head(Exchange& exchange);
  Awaitable<bool> write_bytes(std::string bytes);
  Awaitable<void> watch_client(std::shared_ptr<Wakeup> wakeup);
  std::shared_ptr<Wakeup> begin_answer();
  void end_answer(Wakeup& wakeup);
  /// @param n_bytes  of the answer so far
  void cancel_if_unwanted(const Wakeup& wakeup, std::size_t n_bytes);
  /// The end of an answer that is one reply: it, or why there is none, and the account of both.
  /// @param error  of the answer, apart from a client that is gone
  Awaitable<void> write_whole(Exchange& exchange, Trace& trace, std::optional<Error> error,
                              std::function<std::string()> body);
  static Error client_gone();
  Error final_error(const Error& error) const;
  void account(Trace& trace, const std::optional<Error>& error);

  // What waits_since_ may be but a time.
  static constexpr std::int64_t kServing = -1;
  static constexpr std::int64_t kGivenUp = -2;

  ServerContext& context_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;

  bool usable_ = true;        // the connection may carry another request
  bool lost_ = false;         // nothing can be written any more
  bool unread_body_ = false;  // the client may still be sending
  bool idle_ = false;         // waits for the first byte of a request
  bool ending_ = false;       // end_now() was called
  bool too_long_ = false;     // the answer passed limits.answer_bytes_max

  std::atomic<std::int64_t> waits_since_{kServing};  // steady time in ns

  std::optional<StreamReader> reader_;  // of the request that runs
  std::shared_ptr<Wakeup> wakeup_;      // of the answer that is waited for
};

}  // namespace tessera::api
