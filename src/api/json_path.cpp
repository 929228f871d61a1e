#include "api/json_path.h"

#include <algorithm>

namespace tessera::api {
namespace {

bool is_word(const std::string& key) {
  return !key.empty() && key.size() <= kJsonKeyBytesMax &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

bool JsonPath::open(Container container) {
  if (frames_.size() == kJsonDepthMax) return false;
  const bool is_object = container == Container::kObject;
  frames_.push_back({is_object, is_object, 0, {}});
  return true;
}

void JsonPath::close() {
  if (!frames_.empty()) frames_.pop_back();
}

std::size_t JsonPath::next() {
  if (frames_.empty()) return 0;
  Frame& frame = frames_.back();
  frame.expects_key = frame.is_object;
  return ++frame.index;
}

void JsonPath::colon() {
  if (!frames_.empty()) frames_.back().expects_key = false;
}

void JsonPath::set_key(const std::string& key) {
  if (!frames_.empty()) frames_.back().key = key;
}

const std::string& JsonPath::key() const {
  static const std::string kNone;
  return frames_.empty() || !frames_.back().is_object ? kNone : frames_.back().key;
}

std::string JsonPath::text() const {
  std::string text;
  for (const Frame& frame : frames_) {
    if (!frame.is_object) {
      text += '[' + std::to_string(frame.index) + ']';
      continue;
    }
    if (!text.empty()) text += '.';
    text += is_word(frame.key) ? frame.key : "?";
  }
  return text;
}

}  // namespace tessera::api
