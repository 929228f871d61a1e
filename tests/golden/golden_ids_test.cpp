// Greedy answers of the bundled model are, id for id, those of the pinned llama.cpp's own
// llama-mtmd-cli (reference_ids.jsonl, written by ./x reference), however prefill is cut and
// whatever else is in the batch. Here through runtime/llama alone; the engine and the server have
// their own tests.
#include <gtest/gtest.h>
#include <png.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/llama/greedy_run.h"

namespace tessera::runtime::llama {
namespace {

struct Expected {
  std::string image;
  std::string question;
  std::string category;
  std::string text;
  std::vector<TokenId> ids;
};

std::vector<Expected> read_reference() {
  std::vector<Expected> items;
  std::istringstream lines(read_file(TESSERA_SOURCE_DIR "/tests/golden/reference_ids.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    items.push_back({json.at("image"), json.at("question"), json.at("category"), json.at("text"),
                     json.at("ids")});
  }
  return items;
}

const std::vector<Expected>& reference() {
  static const std::vector<Expected> items = read_reference();
  return items;
}

Image read_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  Image image;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0) {
    ADD_FAILURE() << path << ": " << png.message;
    return image;
  }
  png.format = PNG_FORMAT_RGB;
  image.size = {static_cast<int>(png.width), static_cast<int>(png.height)};
  image.rgb.resize(PNG_IMAGE_SIZE(png));
  EXPECT_NE(png_image_finish_read(&png, nullptr, image.rgb.data(), 0, nullptr), 0) << path;
  return image;
}

const std::vector<ReadyPrompt>& prompts() {
  static const std::vector<ReadyPrompt> ready = [] {
    std::vector<ReadyPrompt> made;
    for (const Expected& item : reference()) {
      const std::vector<Image> images{read_png(TESSERA_SOURCE_DIR "/" + item.image)};
      made.push_back(make_ready(bundled(), user_says(item.question, 1), images));
    }
    return made;
  }();
  return ready;
}

void expect_reference(std::size_t item, const GreedyAnswer& answer) {
  const Expected& expected = reference()[item];
  EXPECT_EQ(answer.ids, expected.ids) << expected.image << ": " << expected.question << "\n  here "
                                      << answer.text << "\n  there " << expected.text;
  EXPECT_EQ(answer.text, expected.text);
}

TEST(GoldenIds, CoverEveryCategory) {
  std::set<std::string> categories;
  for (const Expected& item : reference()) categories.insert(item.category);

  EXPECT_GE(reference().size(), 48U);
  EXPECT_EQ(categories.size(), 7U);
}

class Alone : public testing::TestWithParam<int> {};

TEST_P(Alone, AnswersHaveTheReferencesIds) {
  for (std::size_t i = 0; i < prompts().size(); ++i) {
    expect_reference(i, run_greedy(bundled(), std::span(&prompts()[i], 1), GetParam()).front());
  }
}

INSTANTIATE_TEST_SUITE_P(SliceRows, Alone, testing::Values(1, 64, 512));

class Together : public testing::TestWithParam<int> {};

TEST_P(Together, AnswersHaveTheReferencesIds) {
  const auto n_sequences = static_cast<std::size_t>(bundled().executor->n_sequences_max());
  const std::span all(prompts());
  for (std::size_t first = 0; first < all.size(); first += n_sequences) {
    const auto some = all.subspan(first, std::min(n_sequences, all.size() - first));
    const auto answers = run_greedy(bundled(), some, GetParam());
    for (std::size_t i = 0; i < answers.size(); ++i) expect_reference(first + i, answers[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(SliceRows, Together, testing::Values(1, 7, 64));

// In the middle of prompts, images and answers.
TEST(SetAside, AnswersHaveTheReferencesIds) {
  const auto n_sequences = static_cast<std::size_t>(bundled().executor->n_sequences_max());
  ASSERT_GE(n_sequences, 8U);
  const std::span all(prompts());
  for (std::size_t first = 0; first < all.size(); first += n_sequences) {
    const auto some = all.subspan(first, std::min(n_sequences, all.size() - first));
    const auto answers =
        run_greedy(bundled(), some, 17, /*mixes=*/false, /*n_ids_max=*/64, /*aside=*/2);
    for (std::size_t i = 0; i < answers.size(); ++i) expect_reference(first + i, answers[i]);
  }
}

}  // namespace
}  // namespace tessera::runtime::llama
