#include "tidy/source_text.h"

#include <algorithm>
#include <cctype>

namespace tessera::tidy {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Walks over a text once and copies each character to the view it belongs to.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {
    out_.code.assign(text.size(), ' ');
    out_.comments.assign(text.size(), ' ');
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') out_.code[i] = out_.comments[i] = '\n';
    }
  }

  SourceText split() && {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) {
      comment(2, text_.find('\n', at_), 0);
    } else if (rest.starts_with("/*")) {
      comment(2, text_.find("*/", at_ + 2), 2);
    } else if (rest[0] == '"' || rest[0] == '\'') {
      quoted(rest[0]);
    } else if (is_digit(rest[0])) {
      // A number is one token, so that its digit separators do not look like quotes.
      copy_while([](char c) { return is_word(c) || c == '\'' || c == '.'; });
    } else if (is_word(rest[0])) {
      const std::size_t begin = at_;
      copy_while(is_word);
      const bool raw = text_.substr(begin, at_ - begin).ends_with('R');
      if (raw && at_ < text_.size() && text_[at_] == '"') raw_string();
    } else {
      out_.code[at_] = rest[0];
      ++at_;
    }
  }

  template <typename Predicate>
  void copy_while(Predicate belongs) {
    for (; at_ < text_.size() && belongs(text_[at_]); ++at_) out_.code[at_] = text_[at_];
  }

  void comment(std::size_t opening, std::size_t end, std::size_t closing) {
    end = std::min(end, text_.size());
    for (at_ += opening; at_ < end; ++at_) {
      if (text_[at_] != '/' && text_[at_] != '*') out_.comments[at_] = text_[at_];
    }
    at_ = std::min(end + closing, text_.size());
  }

  void quoted(char quote) {
    out_.code[at_++] = quote;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ < text_.size() && text_[at_] == quote) out_.code[at_++] = quote;
  }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = text_.size();
      return;
    }
    const std::string closing = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    out_.code[at_] = '"';
    const std::size_t end = text_.find(closing, open);
    at_ = end == std::string_view::npos ? text_.size() : end + closing.size();
    out_.code[at_ - 1] = '"';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SourceText out_;
};

}  // namespace

SourceText take_apart(std::string_view text) {
  return Splitter(text).split();
}

std::vector<Word> identifiers(std::string_view text) {
  std::vector<Word> words;
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      if (text[i] == '\n') ++line;
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && is_word(text[i])) ++i;
    if (is_digit(text[begin])) continue;
    const std::string_view before = text.substr(0, begin);
    const bool is_member = before.ends_with('.') || before.ends_with("->");
    words.push_back({std::string(text.substr(begin, i - begin)), line, is_member});
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> words_of(std::string_view identifier) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&words, &word] {
    if (!word.empty() && word != "k") words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < identifier.size(); ++i) {
    const char c = identifier[i];
    // "KVCache": a capital starts a word when the one before or the one after it is no capital.
    const bool starts = is_upper(c) && i > 0 &&
                        (!is_upper(identifier[i - 1]) ||
                         (i + 1 < identifier.size() && std::islower(identifier[i + 1]) != 0));
    if (c == '_' || starts) flush();
    if (c != '_') word += lower(c);
  }
  flush();
  return words;
}

std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace tessera::tidy
