#include "runtime/llama/overview_cut.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tessera::runtime::llama {
namespace {

constexpr const char* kOverviewStart = "<fake_token_around_image><global-img>";
constexpr std::string_view kTileStart = "<fake_token_around_image><row_1_col_1>";

std::vector<TokenId> special_tokens_of(const llama_vocab* vocabulary, std::string_view text) {
  std::vector<TokenId> tokens(text.size());
  const int n = llama_tokenize(vocabulary, text.data(), static_cast<std::int32_t>(text.size()),
                               tokens.data(), static_cast<std::int32_t>(tokens.size()),
                               /*add_special=*/false, /*parse_special=*/true);
  tokens.resize(static_cast<std::size_t>(std::max(n, 0)));
  return tokens;
}

}  // namespace

OverviewCut::OverviewCut(std::string_view projector, const llama_vocab* vocabulary) {
  if (projector == "idefics3") tile_start_ = special_tokens_of(vocabulary, kTileStart);
}

std::vector<Run> OverviewCut::mark(std::vector<Run> runs,
                                   std::span<const ImageInput> images) const {
  if (!is_possible()) return runs;
  std::vector<Run> marked;
  for (Run& run : runs) {
    if (run.kind == Run::Kind::kMedia && images[run.image_index].overview_only) {
      marked.push_back({Run::Kind::kSpecial, kOverviewStart, 0});
    }
    marked.push_back(std::move(run));
  }
  return marked;
}

bool OverviewCut::drop_tile_start(Prompt& prompt) const {
  auto* text =
      prompt.segments.empty() ? nullptr : std::get_if<TextSegment>(&prompt.segments.back());
  if (text == nullptr || text->tokens.size() < tile_start_.size()) return false;
  const auto start = text->tokens.end() - static_cast<std::ptrdiff_t>(tile_start_.size());
  if (!std::equal(start, text->tokens.end(), tile_start_.begin())) return false;
  text->tokens.erase(start, text->tokens.end());
  prompt.n_text_tokens -= static_cast<int>(tile_start_.size());
  prompt.n_positions -= static_cast<Position>(tile_start_.size());
  return true;
}

}  // namespace tessera::runtime::llama
