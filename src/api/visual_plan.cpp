// With the part of a session that answers /v1/visual/plan: a chat that ends before its first pixel.
#include "api/visual_plan.h"

#include <cmath>
#include <optional>

#include "api/session.h"

namespace tessera::api {

namespace asio = boost::asio;

namespace {

void write_size(JsonWriter& json, std::string_view key, ImageSize size) {
  json.key(key).begin_object();
  json.key("width").number(size.width).key("height").number(size.height).end_object();
}

void write_seconds(JsonWriter& json, std::string_view key, std::optional<double> seconds) {
  json.key(key);
  if (seconds) {
    json.seconds(*seconds);
  } else {
    json.null();
  }
}

}  // namespace

void write_images(JsonWriter& json, std::span<const ImagePlan> images) {
  json.begin_array();
  for (const ImagePlan& image : images) {
    json.begin_object();
    write_size(json, "source", image.source);
    write_size(json, "planned", image.planned);
    json.key("n_tiles").number(image.n_tiles);
    json.key("n_cached_tiles").number(image.n_cached_tiles);
    json.key("n_patches").number(image.n_patches);
    json.key("n_visual_tokens").number(image.n_visual_tokens);
    json.key("budget");
    if (image.budget > 0) {
      json.number(image.budget);
    } else {
      json.null();
    }
    json.key("summary").text(plan_text(image));
    json.end_object();
  }
  json.end_array();
}

std::string visual_plan_json(std::string_view model_name, const PlanReport& plan) {
  JsonWriter json;
  json.begin_object().key("object").text("visual.plan").key("model").text(model_name);
  json.key("images");
  write_images(json, plan.images);
  json.key("n_text_tokens").number(plan.n_text_tokens);
  json.key("n_visual_tokens").number(plan.n_visual_tokens);
  json.key("encode_flops").number(std::llround(plan.encode_flops));
  json.key("prefill_flops").number(std::llround(plan.prefill_flops));
  json.key("kv_bytes").number(std::llround(plan.kv_bytes));
  json.key("estimated_seconds").begin_object();
  write_seconds(json, "media_decode", plan.media_decode_seconds);
  write_seconds(json, "encode", plan.encode_seconds);
  write_seconds(json, "prefill", plan.prefill_seconds);
  json.end_object().end_object();
  return std::move(json).take();
}

asio::awaitable<void> Session::answer_plan(Exchange& exchange) {
  const std::shared_ptr<Wakeup> wakeup = begin_answer();
  std::optional<StreamEvent> event;
  while (!(event = (*reader_)->try_pop())) {
    cancel_if_unwanted(*wakeup, 0);
    co_await wakeup->wait();
  }
  end_answer(*wakeup);
  auto& end = std::get<StreamEnd>(*event);  // a plan has no other events
  std::optional<Error> error;
  if (end.error) error = final_error(*end.error);
  co_await write_whole(exchange, end.trace, std::move(error),
                       [&] { return visual_plan_json(context_.model_name, *end.plan); });
}

}  // namespace tessera::api
