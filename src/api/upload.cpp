// The part of a session that takes a file: a form's bytes go from the socket through the parser
// into a memfd while they arrive.
#include <chrono>
#include <utility>

#include "api/files_routes.h"
#include "api/session.h"
#include "uploads/multipart.h"

namespace tessera::api {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// What is kept of a form, once it is here.
Result<uploads::UploadInfo> keep(uploads::UploadStore& store, TenantId tenant,
                                 Result<uploads::UploadForm> form) {
  if (!form) return std::move(form).error();
  TSR_RETURN_IF_ERROR(check_purpose(form->purpose));
  return store.add(tenant, std::move(form->file));
}

}  // namespace

std::int64_t Session::unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

asio::awaitable<void> Session::files(Exchange& exchange, const MatchedRoute& matched) {
  uploads::UploadStore* const store = context_.options.uploads;
  if (store == nullptr) {
    co_await write_reply(exchange, unknown_path());
  } else if (matched.route == Route::kFileUpload) {
    co_await upload(exchange, *store);
  } else {
    co_await write_reply(exchange, files_reply(*store, matched, exchange.tenant, unix_seconds()));
  }
}

asio::awaitable<void> Session::upload(Exchange& exchange, uploads::UploadStore& store) {
  const BodyHead head = body_head();
  const auto origin = parser_->get()[http::field::origin];
  if (auto refusal = refuse_upload(head, {origin.data(), origin.size()}, store.file_bytes_max())) {
    co_await write_reply(exchange, std::move(*refusal));
    co_return;
  }
  const auto boundary = uploads::multipart_boundary(head.content_type);
  if (!boundary) {
    co_await write_reply(exchange, error_reply(boundary.error()));
    co_return;
  }
  co_await confirm_expectation(exchange);
  uploads::MultipartParser parser(*boundary, store.file_bytes_max());
  const auto read =
      co_await read_pieces(exchange, store.file_bytes_max() + kFormBytesMax,
                           [&parser](std::string_view piece) { return parser.feed(piece); });
  if (!read) {
    lost_ = true;
    exchange.status = error_reply(client_gone()).status;
    exchange.error = client_gone().code;
    co_return;
  }
  const auto info = keep(store, exchange.tenant,
                         *read ? parser.finish() : Result<uploads::UploadForm>(read->error()));
  Reply reply = info ? Reply() : error_reply(info.error());
  if (info) reply.body = file_json(*info, unix_seconds());
  co_await write_reply(exchange, std::move(reply));
}

}  // namespace tessera::api
