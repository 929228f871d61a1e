#include "runtime/llama/special_tokens.h"

#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama {
namespace {

using Kind = Run::Kind;

std::vector<Run> split(const std::vector<PromptPart>& parts) {
  return SpecialTokens(bundled_model().vocabulary()).split(parts);
}

/// "plain text|<special>|…": kinds and texts in one line.
std::string drawn(const std::vector<Run>& runs) {
  std::string line;
  for (const Run& run : runs) {
    if (!line.empty()) line += '|';
    if (run.kind == Kind::kSpecial) line += "special:";
    if (run.kind == Kind::kMedia) line += "media:" + std::to_string(run.image_index);
    line += run.text;
  }
  return line;
}

std::vector<TokenId> tokenize(const llama_vocab* vocabulary, const std::string& text,
                              bool special) {
  std::vector<TokenId> tokens(text.size() + 8);
  const int n =
      llama_tokenize(vocabulary, text.data(), static_cast<std::int32_t>(text.size()), tokens.data(),
                     static_cast<std::int32_t>(tokens.size()), /*add_special=*/false, special);
  tokens.resize(static_cast<std::size_t>(std::max(n, 0)));
  return tokens;
}

std::vector<TokenId> tokenize_runs(const llama_vocab* vocabulary, const std::vector<Run>& runs) {
  std::vector<TokenId> tokens;
  for (const Run& run : runs) {
    const auto more = tokenize(vocabulary, run.text, run.kind == Kind::kSpecial);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  return tokens;
}

/// The bundled vocabulary with a few more control tokens, under a name or tokenizer for which
/// libllama makes some of them swallow the white space beside them.
class OtherVocabulary {
 public:
  OtherVocabulary(const char* model_name, const char* tokenizer) {
    gguf_context* gguf =
        gguf_init_from_file(bundled_options().model_path.c_str(), {/*no_alloc=*/true, nullptr});
    const std::int64_t tokens_key = gguf_find_key(gguf, "tokenizer.ggml.tokens");
    const std::int64_t types_key = gguf_find_key(gguf, "tokenizer.ggml.token_type");
    const std::size_t n = gguf_get_arr_n(gguf, tokens_key);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < n; ++i) texts.emplace_back(gguf_get_arr_str(gguf, tokens_key, i));
    const auto* type = static_cast<const std::int32_t*>(gguf_get_arr_data(gguf, types_key));
    std::vector<std::int32_t> types(type, type + n);
    for (const char* added : {"<unk>", "<s>", "</s>", "<mask>", "<|end|>", "<|endoftext|>"}) {
      if (std::ranges::find(texts, added) != texts.end()) continue;
      texts.emplace_back(added);
      types.push_back(LLAMA_TOKEN_TYPE_CONTROL);
    }
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
    gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(),
                      types.size());
    gguf_set_val_str(gguf, "general.name", model_name);
    gguf_set_val_str(gguf, "tokenizer.ggml.pre", tokenizer);
    const std::string path = temporary_path("vocabulary.gguf");
    gguf_write_to_file(gguf, path.c_str(), /*only_meta=*/true);
    gguf_free(gguf);
    // No weights are read, but they must lie within the file.
    std::filesystem::resize_file(path,
                                 std::filesystem::file_size(bundled_options().model_path) * 2);

    bundled();  // starts the library
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    model_.reset(llama_model_load_from_file(path.c_str(), params));
    std::remove(path.c_str());
  }

  const llama_vocab* get() const { return llama_model_get_vocab(model_.get()); }

 private:
  ModelHandle model_;
};

TEST(SpecialTokens, TakesThemFromTemplateTextOnly) {
  const auto runs = split({TemplateText{"<|im_start|>user\n"},
                           UserText{"<|im_end|> and <|im_start|>"}, TemplateText{"<|im_end|>\n"}});

  EXPECT_EQ(drawn(runs),
            "special:<|im_start|>|user\n<|im_end|> and <|im_start|>|special:<|im_end|>|\n");
}

TEST(SpecialTokens, JoinsPlainTextAcrossParts) {
  const auto runs =
      split({TemplateText{"user\n"}, UserText{"one"}, UserText{" two"}, TemplateText{" three"}});

  EXPECT_EQ(drawn(runs), "user\none two three");
}

TEST(SpecialTokens, SeesNoTokenThatABorderCompletes) {
  const auto runs = split(
      {TemplateText{"<|im_"}, UserText{"end|>"}, TemplateText{"<|im_"}, TemplateText{"end|>"}});

  EXPECT_EQ(drawn(runs), "<|im_end|><|im_end|>");
}

TEST(SpecialTokens, KeepsImagesInTheirPlaces) {
  const auto runs = split({MediaPlace{0}, UserText{"a"}, MediaPlace{1}, MediaPlace{2}});

  EXPECT_EQ(drawn(runs), "media:0|a|media:1|media:2");
}

TEST(SpecialTokens, MakesNoEmptyRuns) {
  EXPECT_EQ(drawn(split({TemplateText{""}, UserText{""}})), "");
  EXPECT_EQ(drawn(split({TemplateText{"<|im_start|><|im_end|>"}, UserText{""}})),
            "special:<|im_start|>|special:<|im_end|>");
}

TEST(SpecialTokens, FindsNoneWithoutAVocabulary) {
  const std::vector<PromptPart> parts{TemplateText{"<|im_start|>"}};

  EXPECT_EQ(drawn(SpecialTokens().split(parts)), "<|im_start|>");
}

TEST(SpecialTokens, TokenizesTemplatesAsTheLibraryDoes) {
  const llama_vocab* vocabulary = bundled_model().vocabulary();
  for (const std::string text :
       {"<|im_start|>user\nHow many?<|im_end|>\n<|im_start|>assistant\n", " <|im_end|> x",
        "<|im_start|<|im_start|>", "<|vision_start|><|image_pad|><|vision_end|>", "a<|b|>c"}) {
    const auto runs = split({TemplateText{text}});

    EXPECT_EQ(tokenize_runs(vocabulary, runs), tokenize(vocabulary, text, /*special=*/true));
  }
}

TEST(SpecialTokens, SwallowsWhiteSpaceAfterATokenThatStripsRight) {
  const OtherVocabulary other("phi-3", "qwen2");
  ASSERT_NE(other.get(), nullptr);
  const SpecialTokens specials(other.get());
  for (const std::string text :
       {"<|end|>\n  hello", "<|end|> \n <|end|>\n", "a <|end|>", "<|end|>", "<s> a<|end|> \n b"}) {
    const std::vector<PromptPart> parts{TemplateText{text}};

    EXPECT_EQ(tokenize_runs(other.get(), specials.split(parts)),
              tokenize(other.get(), text, /*special=*/true))
        << text;
  }
  const std::vector<PromptPart> parts{TemplateText{"<|end|>\n"}, UserText{"  hello"}};
  EXPECT_EQ(drawn(specials.split(parts)), "special:<|end|>|hello");
}

TEST(SpecialTokens, SwallowsWhiteSpaceBeforeATokenThatStripsLeft) {
  const OtherVocabulary other("mask", "jina-v2-de");
  ASSERT_NE(other.get(), nullptr);
  const SpecialTokens specials(other.get());
  for (const std::string text : {"hello \n <mask> x", "<s>  <mask>", "  <mask>", "<mask> <mask>"}) {
    const std::vector<PromptPart> parts{TemplateText{text}};

    EXPECT_EQ(tokenize_runs(other.get(), specials.split(parts)),
              tokenize(other.get(), text, /*special=*/true))
        << text;
  }
}

}  // namespace
}  // namespace tessera::runtime::llama
