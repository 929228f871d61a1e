#include "core/trace.h"

namespace tessera {
namespace {

struct StageName {
  std::string_view name;
  std::string_view description;
};

constexpr std::array<StageName, kStageCount> kStageNames{{
    {"read", "read request"},
    {"fetch_wait", "wait: fetch queue"},
    {"fetch", "fetch media"},
    {"media_wait", "wait: media queue"},
    {"media_decode", "media decode"},
    {"plan", "plan + tokenize"},
    {"resize", "resize / tile"},
    {"encode_wait", "wait: encode queue"},
    {"encode", "vision encode + projector"},
    {"schedule_wait", "wait: other sequences"},
    {"prefill_visual", "prefill, visual tokens"},
    {"prefill_text", "prefill, text tokens"},
    {"decode", "decode"},
    {"emit", "emit"},
}};

}  // namespace

std::string_view to_string(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)].name;
}

std::string_view describe(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)].description;
}

void Trace::enter(Stage stage, TimePoint now) {
  if (finished_) return;
  spent_[static_cast<std::size_t>(stage_)] += now - entered_;
  entered_ = now;
  stage_ = stage;
}

void Trace::mark_first_token(TimePoint now) {
  if (!first_token_) first_token_ = now - arrival_;
}

void Trace::finish(TimePoint now) {
  enter(stage_, now);
  finished_ = true;
}

}  // namespace tessera
