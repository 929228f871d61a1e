#include "runtime/llama/random_model/vocabulary.h"

#include <algorithm>
#include <utility>

namespace tessera::runtime::llama::random_model {
namespace {

constexpr std::string_view kEnd = "<|im_end|>";
constexpr std::string_view kStart = "<|endoftext|>";
constexpr std::string_view kTemplate =
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Grids of at most this many rows and columns have a token for each tile: what Idefics 3 and
/// LFM2-VL, the two families with such tokens, can come to.
constexpr int kGridSideMax = 10;

// libllama's numbers of token kinds, as files have them.
constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kControl = 3;

std::string utf8(int code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | (code_point >> 6)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

/// GPT-2's spelling: printable bytes of Latin-1 stand for themselves, the others for characters
/// from U+0100 on.
std::vector<std::string> spelled_bytes() {
  std::vector<std::string> spelled;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    spelled.push_back(utf8(printable ? byte : next++));
  }
  return spelled;
}

/// Words in order of length, each one letter longer than one before it.
void add_words(Vocabulary& vocabulary, const std::string& space, std::int64_t n) {
  vocabulary.first_word = static_cast<std::int64_t>(vocabulary.tokens.size());
  vocabulary.n_words = n;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t parent = i / 26 - 1;
    const std::string stem =
        parent < 0 ? space
                   : vocabulary.tokens[static_cast<std::size_t>(vocabulary.first_word + parent)];
    const std::string letter(1, static_cast<char>('a' + i % 26));
    std::string merge = stem;
    merge += ' ';
    merge += letter;
    vocabulary.merges.push_back(std::move(merge));
    vocabulary.tokens.push_back(stem + letter);
  }
}

}  // namespace

std::vector<std::string> all_special_tokens() {
  std::vector<std::string> specials{"<|im_start|>",
                                    "<|vision_start|>",
                                    "<|vision_end|>",
                                    "<|image_pad|>",
                                    "<|video_pad|>",
                                    "<fake_token_around_image>",
                                    "<global-img>",
                                    "<image>",
                                    "</image>",
                                    "<slice>",
                                    "</slice>",
                                    "<start_of_image>",
                                    "<end_of_image>",
                                    "[IMG]",
                                    "[IMG_BREAK]",
                                    "[IMG_END]",
                                    "<img>",
                                    "</img>",
                                    "<|image_start|>",
                                    "<|image_end|>",
                                    "<|img_thumbnail|>",
                                    "<im_start>",
                                    "<im_end>",
                                    "<patch_start>",
                                    "<patch_end>",
                                    "<patch_newline>",
                                    "<|media_start|>",
                                    "<|media_end|>",
                                    "<|media_begin|>",
                                    "<|img|>",
                                    "<|endofimg|>",
                                    "<|begin_of_image|>",
                                    "<|end_of_image|>",
                                    "<|IMAGE_START|>",
                                    "<|IMAGE_END|>",
                                    "<|image>",
                                    "<image|>",
                                    "<vision>",
                                    "</vision>",
                                    "]<]start of image[>[",
                                    "]<]end of image[>[",
                                    "<｜hy_place▁holder▁no▁100｜>",
                                    "<｜hy_place▁holder▁no▁101｜>"};
  for (int row = 1; row <= kGridSideMax; ++row) {
    for (int column = 1; column <= kGridSideMax; ++column) {
      const std::string place = std::to_string(row) + "_col_" + std::to_string(column);
      specials.push_back("<row_" + place + ">");
      specials.push_back("<|img_row_" + place + "|>");
    }
  }
  specials.emplace_back(kStart);
  specials.emplace_back(kEnd);
  return specials;
}

Vocabulary make_vocabulary(std::int64_t size, std::span<const std::string> specials) {
  Vocabulary vocabulary;
  vocabulary.tokens = spelled_bytes();
  const std::string line = vocabulary.tokens['\n'];
  const std::string space = vocabulary.tokens[' '];
  // Idefics 3 looks it up.
  vocabulary.merges.push_back(line + " " + line);
  vocabulary.tokens.push_back(line + line);
  const auto n_taken = static_cast<std::int64_t>(vocabulary.tokens.size() + specials.size());
  add_words(vocabulary, space, std::max<std::int64_t>(size - n_taken, 0));
  vocabulary.tokens.insert(vocabulary.tokens.end(), specials.begin(), specials.end());
  return vocabulary;
}

void add_vocabulary(ModelFile& file, const Vocabulary& vocabulary, std::string_view rule) {
  const auto n_plain = static_cast<std::size_t>(vocabulary.first_word + vocabulary.n_words);
  std::vector<std::int32_t> kinds(vocabulary.tokens.size(), kControl);
  std::fill_n(kinds.begin(), n_plain, kNormal);
  const auto id = [&vocabulary](std::string_view token) {
    return static_cast<std::uint32_t>(std::ranges::find(vocabulary.tokens, token) -
                                      vocabulary.tokens.begin());
  };
  file.set("tokenizer.ggml.model", "gpt2");
  file.set("tokenizer.ggml.pre", rule);
  file.set("tokenizer.ggml.tokens", vocabulary.tokens);
  file.set("tokenizer.ggml.token_type", kinds);
  file.set("tokenizer.ggml.merges", vocabulary.merges);
  file.set("tokenizer.ggml.bos_token_id", id(kStart));
  file.set("tokenizer.ggml.eos_token_id", id(kEnd));
  file.set("tokenizer.ggml.padding_token_id", id(kEnd));
  file.set("tokenizer.ggml.add_bos_token", false);
  file.set("tokenizer.chat_template", kTemplate);
}

}  // namespace tessera::runtime::llama::random_model
