// For tests: the bundled model, loaded once for a whole test program.
//
// One thread, because two pinned pools that meet another program on a core wait for it in every
// barrier. Not thread-safe, as tests are not.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/llama/llama_model.h"
#include "runtime/llama/llama_runtime.h"

namespace tessera::runtime::llama {

inline std::string bundled_path(std::string_view name) {
  return std::string(TESSERA_SOURCE_DIR "/models/tessera-tiny/").append(name);
}

inline LoadOptions bundled_options() {
  LoadOptions options;
  options.model_path = bundled_path("tessera-tiny-f16.gguf");
  options.mmproj_path = bundled_path("mmproj-tessera-tiny-f16.gguf");
  options.n_threads = 1;
  options.n_sequences_max = 8;
  options.n_kv_cells = 4096;
  return options;
}

/// Leaves a failed load to the caller's assertions on the null pointers inside.
inline LoadedModel load_or_fail(const LoadOptions& options) {
  Result<LoadedModel> loaded = load(options);
  if (loaded) return std::move(loaded).value();
  ADD_FAILURE() << loaded.error().message;
  return {};
}

/// The shared one. A test gives back every KV cell that it took.
inline LoadedModel& bundled() {
  static LoadedModel loaded = load_or_fail(bundled_options());
  return loaded;
}

inline const LlamaModel& bundled_model() {
  return static_cast<const LlamaModel&>(*bundled().model);
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string temporary_path(std::string_view name) {
  // Tests run as programs of their own, at the same time.
  return testing::TempDir() + "tessera-" + std::to_string(::getpid()) + "-" + std::string(name);
}

/// One user message: `n_images` images, then the text.
inline std::vector<Message> user_says(std::string text, std::size_t n_images = 0) {
  Message message;
  for (std::size_t i = 0; i < n_images; ++i) message.parts.emplace_back(ImagePart{i, {}});
  message.parts.emplace_back(TextPart{std::move(text)});
  std::vector<Message> messages;
  messages.push_back(std::move(message));
  return messages;
}

struct Colour {
  std::uint8_t red, green, blue;
};
inline constexpr Colour kRed{220, 40, 40};
inline constexpr Colour kGreen{40, 170, 60};
inline constexpr Colour kBlue{40, 80, 220};

/// A white picture with one disc for each colour, from left to right: what the model was trained to
/// count and name.
inline Image picture_of_discs(std::span<const Colour> colours, ImageSize size = {224, 224}) {
  constexpr int kRadius = 18;
  Image image;
  image.size = size;
  image.rgb.assign(static_cast<std::size_t>(size.pixels()) * 3, 255);
  const int step = size.width / static_cast<int>(colours.size() + 1);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (std::size_t i = 0; i < colours.size(); ++i) {
        const int dx = x - step * static_cast<int>(i + 1);
        const int dy = y - size.height / 2;
        if (dx * dx + dy * dy > kRadius * kRadius) continue;
        auto* pixel = image.rgb.data() + static_cast<std::size_t>(y * size.width + x) * 3;
        pixel[0] = colours[i].red;
        pixel[1] = colours[i].green;
        pixel[2] = colours[i].blue;
      }
    }
  }
  return image;
}

/// Something to encode where nobody asks what it shows.
inline Image drawn_image(ImageSize size) {
  return picture_of_discs(std::array{kRed}, size);
}

/// Tokens of a prompt's text segments, joined.
inline std::vector<TokenId> text_tokens(const Prompt& prompt) {
  std::vector<TokenId> tokens;
  for (const Segment& segment : prompt.segments) {
    if (const auto* text = std::get_if<TextSegment>(&segment)) {
      tokens.insert(tokens.end(), text->tokens.begin(), text->tokens.end());
    }
  }
  return tokens;
}

}  // namespace tessera::runtime::llama
