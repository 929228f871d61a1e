#include "cli/stage_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "cli/table_text.h"
#include "core/plan_report.h"

namespace tessera::cli {
namespace {

constexpr std::size_t kStageWidth = 27;
constexpr std::size_t kTimeWidth = 10;
constexpr std::size_t kShareWidth = 8;
constexpr std::size_t kBarWidth = 24;

// A video has many; the table shall fit a screen.
constexpr std::size_t kImagesShownMax = 4;

// Margin, columns, " ms", " %" and the gap before the bar.
constexpr std::size_t kRuleWidth = kStageWidth + kTimeWidth + 3 + kShareWidth + 2 + 2 + kBarWidth;
static_assert(2 + kRuleWidth <= 78);

Stage stage_at(std::size_t i) {
  return static_cast<Stage>(i);
}

std::string milliseconds_text(Duration duration) {
  return decimal(to_seconds(duration) * 1e3, 2);
}

double share(Duration part, Duration whole) {
  return whole > Duration::zero() ? to_seconds(part) / to_seconds(whole) : 0;
}

void print_row(std::ostream& out, const std::string& name, Duration spent, Duration total,
               const std::string& drawn) {
  out << "  " << left_aligned(name, kStageWidth);
  if (spent == Duration::zero()) {
    out << right_aligned("-", kTimeWidth) << "   " << right_aligned("-", kShareWidth) << '\n';
    return;
  }
  out << right_aligned(milliseconds_text(spent), kTimeWidth) << " ms"
      << right_aligned(decimal(share(spent, total) * 100, 1), kShareWidth) << " %";
  if (!drawn.empty()) out << "  " << drawn;
  out << '\n';
}

std::string rate(int n_tokens, Duration spent) {
  if (n_tokens <= 0 || spent <= Duration::zero()) return "-";
  return decimal(n_tokens / to_seconds(spent), 1) + " tokens/s";
}

void print_counts(std::ostream& out, const Trace& trace) {
  const TraceCounts& counts = trace.counts;
  out << "  " << counted(counts.n_images, "image") << ", " << counted(counts.n_tiles, "tile")
      << "; tokens: " << counts.n_visual_tokens << " visual, " << counts.n_text_tokens << " text, ";
  if (counts.n_cached_tokens > 0) out << counts.n_cached_tokens << " of them cached, ";
  out << counts.n_output_tokens << " output\n";

  const int n_prefilled = counts.n_visual_tokens + counts.n_text_tokens - counts.n_cached_tokens;
  const Duration prefill = trace.in(Stage::kPrefillVisual) + trace.in(Stage::kPrefillText);
  out << "  prefill " << rate(n_prefilled, prefill);
  // The first output token comes out of the prefill's last model call.
  out << ", decode " << rate(counts.n_output_tokens - 1, trace.in(Stage::kDecode));
  if (const auto first = trace.time_to_first_token()) {
    out << ", first token after " << milliseconds_text(*first) << " ms";
  }
  out << '\n';
}

void print_images(std::ostream& out, std::span<const ImagePlan> images) {
  for (std::size_t i = 0; i < std::min(images.size(), kImagesShownMax); ++i) {
    out << "  image " << i + 1 << ": " << plan_text(images[i]) << '\n';
  }
  if (images.size() > kImagesShownMax) {
    out << "  … and " << images.size() - kImagesShownMax << " more\n";
  }
}

}  // namespace

std::string stage_table(const Trace& trace) {
  Duration longest{};
  for (std::size_t i = 0; i < kStageCount; ++i) longest = std::max(longest, trace.in(stage_at(i)));

  std::ostringstream out;
  out << "  " << left_aligned("stage", kStageWidth) << right_aligned("time", kTimeWidth) << "   "
      << right_aligned("share", kShareWidth) << '\n'
      << "  " << rule(kRuleWidth) << '\n';
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const Duration spent = trace.in(stage_at(i));
    std::string name(describe(stage_at(i)));
    if (stage_at(i) == Stage::kEncode && spent > Duration::zero()) name += '*';
    print_row(out, name, spent, trace.total(), bar(share(spent, longest), kBarWidth));
  }
  out << "  " << rule(kRuleWidth) << '\n';
  print_row(out, "total", trace.total(), trace.total(), "");
  out << '\n';
  print_images(out, trace.images);
  print_counts(out, trace);
  if (trace.in(Stage::kEncode) > Duration::zero()) {
    out << "  * the library runs the projector inside the encoder and does not split them\n";
  }
  return out.str();
}

nlohmann::ordered_json images_json(std::span<const ImagePlan> images) {
  const auto size_json = [](ImageSize size) {
    nlohmann::ordered_json json;
    json["width"] = size.width;
    json["height"] = size.height;
    return json;
  };
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ImagePlan& image : images) {
    nlohmann::ordered_json row;
    row["source"] = size_json(image.source);
    row["planned"] = size_json(image.planned);
    row["n_tiles"] = image.n_tiles;
    row["n_cached_tiles"] = image.n_cached_tiles;
    row["n_patches"] = image.n_patches;
    row["n_visual_tokens"] = image.n_visual_tokens;
    row["budget"] = nullptr;
    if (image.budget > 0) row["budget"] = image.budget;
    row["summary"] = plan_text(image);
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::ordered_json stage_json(const Trace& trace) {
  nlohmann::ordered_json stages;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    stages[std::string(to_string(stage_at(i)))] = to_seconds(trace.in(stage_at(i)));
  }
  nlohmann::ordered_json json;
  json["stages_seconds"] = std::move(stages);
  json["total_seconds"] = to_seconds(trace.total());
  json["ttft_seconds"] = nullptr;
  if (const auto first = trace.time_to_first_token()) json["ttft_seconds"] = to_seconds(*first);
  json["n_images"] = trace.counts.n_images;
  json["n_tiles"] = trace.counts.n_tiles;
  json["n_cached_tiles"] = trace.counts.n_cached_tiles;
  json["n_visual_tokens"] = trace.counts.n_visual_tokens;
  json["n_text_tokens"] = trace.counts.n_text_tokens;
  json["n_cached_tokens"] = trace.counts.n_cached_tokens;
  json["n_output_tokens"] = trace.counts.n_output_tokens;
  json["images"] = images_json(trace.images);
  json["note"] = "encode holds the projector: the library runs both in one call";
  return json;
}

nlohmann::ordered_json usage_json(const TraceCounts& counts) {
  const int n_prompt_tokens = counts.n_visual_tokens + counts.n_text_tokens;
  nlohmann::ordered_json json;
  json["prompt_tokens"] = n_prompt_tokens;
  json["completion_tokens"] = counts.n_output_tokens;
  json["total_tokens"] = n_prompt_tokens + counts.n_output_tokens;
  json["prompt_tokens_details"]["cached_tokens"] = counts.n_cached_tokens;
  json["prompt_tokens_details"]["text_tokens"] = counts.n_text_tokens;
  json["prompt_tokens_details"]["image_tokens"] = counts.n_visual_tokens;
  return json;
}

}  // namespace tessera::cli
