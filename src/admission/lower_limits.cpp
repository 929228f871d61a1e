#include "admission/lower_limits.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

namespace tessera::admission {
namespace {

/// Row of a plain number of Limits.
template <auto kMember>
constexpr LowerableLimit number(std::string_view name) {
  return {name, [](const Limits& limits) { return static_cast<std::int64_t>(limits.*kMember); },
          [](Limits& limits, std::int64_t value) {
            using Number = std::remove_reference_t<decltype(limits.*kMember)>;
            limits.*kMember = static_cast<Number>(value);
          }};
}

constexpr std::array kLowerable = std::to_array<LowerableLimit>({
    number<&Limits::image_bytes_max>("image_bytes_max"),
    number<&Limits::images_max>("images_max"),
    number<&Limits::image_pixels_max>("image_pixels_max"),
    number<&Limits::request_pixels_max>("request_pixels_max"),
    number<&Limits::image_side_max>("image_side_max"),
    number<&Limits::image_aspect_max>("image_aspect_max"),
    number<&Limits::image_scans_max>("image_scans_max"),
    number<&Limits::frames_max>("frames_max"),
    number<&Limits::file_frames_max>("file_frames_max"),
    number<&Limits::video_bytes_max>("video_bytes_max"),
    number<&Limits::videos_max>("videos_max"),
    number<&Limits::video_seconds_max>("video_seconds_max"),
    number<&Limits::video_frames_max>("video_frames_max"),
    number<&Limits::video_pixels_max>("video_pixels_max"),
    number<&Limits::image_visual_tokens_max>("image_visual_tokens_max"),
    number<&Limits::visual_tokens_max>("visual_tokens_max"),
    number<&Limits::output_tokens_max>("output_tokens_max"),
});

std::string known_names() {
  std::string names;
  for (const LowerableLimit& limit : kLowerable) {
    if (!names.empty()) names += ", ";
    names += limit.name;
  }
  return names;
}

}  // namespace

std::span<const LowerableLimit> lowerable_limits() {
  return kLowerable;
}

Result<Limits> lower_limits(const Limits& limits, std::span<const LimitWish> wishes) {
  Limits lowered = limits;
  for (const LimitWish& wish : wishes) {
    const auto limit = std::ranges::find(kLowerable, wish.name, &LowerableLimit::name);
    if (limit == kLowerable.end()) {
      return make_error(ErrorCode::kInvalidArgument, "unknown_limit",
                        "a request can lower these limits: " + known_names(), "tessera.limits");
    }
    const std::string param = "tessera.limits." + std::string(limit->name);
    if (wish.value < 0) {
      return make_error(ErrorCode::kInvalidArgument, "invalid_value", param + " must be ≥ 0",
                        param);
    }
    const std::int64_t ceiling = limit->get(limits);
    if (wish.value > ceiling) {
      return make_error(ErrorCode::kInvalidArgument, "limit_not_lower",
                        param + ": " + std::to_string(wish.value) + " exceeds this server's " +
                            std::to_string(ceiling) + "; a request may lower a limit, not raise it",
                        param);
    }
    limit->set(lowered, wish.value);
  }
  // Otherwise the default of a lowered output limit would itself be refused.
  lowered.output_tokens_default =
      std::min(lowered.output_tokens_default, lowered.output_tokens_max);
  return lowered;
}

}  // namespace tessera::admission
