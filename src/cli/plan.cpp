#include "cli/plan.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "cli/stage_table.h"
#include "cli/table_text.h"

namespace tessera::cli {
namespace {

constexpr std::size_t kRuleWidth = 66;

std::string size_cell(ImageSize size, std::size_t width) {
  // "×" takes two bytes and one column.
  const std::string text = std::to_string(size.width) + "×" + std::to_string(size.height);
  return right_aligned(text, width + 1);
}

std::string number_cell(std::int64_t number, std::size_t width) {
  return right_aligned(number == 0 ? "-" : std::to_string(number), width);
}

void print_row(std::ostream& out, const std::string& name, const std::string& sizes,
               std::int64_t n_tiles, std::int64_t n_patches, std::int64_t n_visual_tokens) {
  out << "  " << left_aligned(name, 7) << sizes << number_cell(n_tiles, 7)
      << number_cell(n_patches, 10) << number_cell(n_visual_tokens, 16) << '\n';
}

/// Of the images that were made smaller; a video has many that are alike.
void print_budgets(std::ostream& out, const std::vector<ImagePlan>& images) {
  constexpr int kShownMax = 4;
  int n_shown = 0;
  for (std::size_t i = 0; i < images.size() && n_shown < kShownMax; ++i) {
    if (images[i].budget == 0) continue;
    out << "  image " << i + 1 << " was made smaller to fit "
        << counted(images[i].budget, "visual token") << '\n';
    ++n_shown;
  }
}

std::string plan_json(const PlanReport& report) {
  nlohmann::ordered_json json;
  json["images"] = images_json(report.images);
  json["n_text_tokens"] = report.n_text_tokens;
  json["n_visual_tokens"] = report.n_visual_tokens;
  json["encode_flops"] = report.encode_flops;
  json["prefill_flops"] = report.prefill_flops;
  json["kv_bytes"] = std::llround(report.kv_bytes);
  return json.dump(2) + "\n";
}

}  // namespace

ExitCode run_plan(const PlanOptions& options, std::vector<EncodedMedia> media,
                  pipeline::Service& service, const Terminal& terminal, const Clock& clock,
                  const std::stop_token& stop) {
  Request request;
  request.model = service.model().name;
  Message message{Role::kUser, {}};
  for (std::size_t i = 0; i < media.size(); ++i) {
    message.parts.emplace_back(ImagePart{i, options.images.detail});
  }
  request.messages.push_back(std::move(message));
  request.media = std::move(media);

  request.visual_tokens_max = options.images.visual_tokens_max;
  request.plan_only = true;

  auto reader = service.submit(std::move(request), TenantId{}, Trace(clock.now()));
  if (!reader) return print_error(reader.error(), options.json, terminal);
  const auto event = (*reader)->pop(stop);
  const auto* end = event ? std::get_if<StreamEnd>(&*event) : nullptr;
  if (end == nullptr) return print_error(interrupted_error(), options.json, terminal);
  if (end->error) return print_error(*end->error, options.json, terminal);
  terminal.out << (options.json ? plan_json(*end->plan) : plan_table(*end->plan)) << std::flush;
  return terminal.out ? ExitCode::kOk : ExitCode::kFailed;
}

std::string plan_table(const PlanReport& report) {
  std::ostringstream out;
  out << "  image  " << right_aligned("source", 13) << right_aligned("planned", 13)
      << right_aligned("tiles", 7) << right_aligned("patches", 10)
      << right_aligned("visual tokens", 16) << '\n'
      << "  " << rule(kRuleWidth) << '\n';
  std::int64_t n_tiles = 0;
  std::int64_t n_patches = 0;
  for (std::size_t i = 0; i < report.images.size(); ++i) {
    const ImagePlan& image = report.images[i];
    print_row(out, std::to_string(i + 1),
              size_cell(image.source, 13) + size_cell(image.planned, 13), image.n_tiles,
              image.n_patches, image.n_visual_tokens);
    n_tiles += image.n_tiles;
    n_patches += image.n_patches;
  }
  if (report.images.size() > 1) {
    out << "  " << rule(kRuleWidth) << '\n';
    print_row(out, "total", std::string(26, ' '), n_tiles, n_patches, report.n_visual_tokens);
  }
  print_budgets(out, report.images);
  const int n_tokens = report.n_visual_tokens + report.n_text_tokens;
  out << "\n  prompt     " << counted(n_tokens, "token") << ": " << report.n_visual_tokens
      << " visual, " << report.n_text_tokens << " text\n"
      << "  encode     " << left_aligned(with_prefix(report.encode_flops, "FLOP"), 14)
      << "vision tower, all tiles\n"
      << "  prefill    " << left_aligned(with_prefix(report.prefill_flops, "FLOP"), 14)
      << "language model, all prompt tokens\n"
      << "  KV memory  " << left_aligned(bytes_text(report.kv_bytes), 14)
      << "keys and values of the prompt, as f16\n";
  return out.str();
}

}  // namespace tessera::cli
