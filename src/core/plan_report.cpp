#include "core/plan_report.h"

namespace tessera {
namespace {

std::string size_text(ImageSize size) {
  return std::to_string(size.width) + "×" + std::to_string(size.height);
}

}  // namespace

std::string plan_text(const ImagePlan& image) {
  std::string text = size_text(image.source) + " → " + size_text(image.planned) + ", ";
  if (image.n_tiles > 1) text += std::to_string(image.n_tiles) + " tiles, ";
  text += std::to_string(image.n_visual_tokens) + " tokens";
  if (image.budget > 0) text += ", budget " + std::to_string(image.budget);
  if (image.n_cached_tiles > 0 && image.n_cached_tiles == image.n_tiles) text += ", cached";
  return text;
}

}  // namespace tessera
