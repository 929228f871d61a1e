#include "tidy/size_rules.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "tidy/source_text.h"

namespace tessera::tidy {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  return std::ranges::any_of(identifiers(text), [word](const Word& w) { return w.text == word; });
}

/// The identifier before the first parenthesis, with its class.
std::string name_of(std::string_view signature) {
  const std::size_t end = signature.find('(');
  std::size_t begin = end;
  while (begin > 0) {
    const char c = signature[begin - 1];
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != ':' && c != '~') break;
    --begin;
  }
  return std::string(signature.substr(begin, end - begin));
}

/// Walks over code by its braces. A brace that opens a body has a blank before it and no "=".
class BraceWalk {
 public:
  explicit BraceWalk(std::string_view code) : code_(code) {}

  std::vector<Function> walk() && {
    for (at_ = 0; at_ < code_.size(); ++at_) step(code_[at_]);
    return std::move(functions_);
  }

 private:
  enum class Kind { kScope, kFunction, kInside, kValue };
  struct Open {
    Kind kind;
    std::size_t function_begin = 0;
  };

  void step(char c) {
    if (c == '#' && at_line_start()) {
      skip_directive();
    } else if (c == '(') {
      ++parentheses_;
    } else if (c == ')') {
      --parentheses_;
    } else if (c == '{') {
      open();
    } else if (c == '}') {
      close();
    } else if (c == ';' && parentheses_ == 0) {
      begin_ = at_ + 1;
    } else if (c == ':' && is_access_label()) {
      begin_ = at_ + 1;
    }
  }

  bool at_line_start() const { return at_ == 0 || code_[at_ - 1] == '\n'; }

  void skip_directive() {
    while (at_ < code_.size() && code_[at_] != '\n') {
      at_ += code_[at_] == '\\' ? 2 : 1;
    }
    begin_ = at_ + 1;
  }

  std::string_view statement() const { return trimmed(code_.substr(begin_, at_ - begin_)); }

  bool is_access_label() const {
    const std::string_view text = statement();
    return text == "public" || text == "protected" || text == "private";
  }

  Kind kind_of_brace() const {
    const bool inside = !open_.empty() && open_.back().kind != Kind::kScope;
    if (inside) return Kind::kInside;
    const std::string_view text = statement();
    const bool opens_body = at_ > 0 && is_space(code_[at_ - 1]) && !text.ends_with('=');
    if (parentheses_ > 0 || !opens_body) return Kind::kValue;
    if (text.find('(') == std::string_view::npos) return Kind::kScope;
    // "class TSR_CAPABILITY(…) Mutex {": a scope whose head has parentheses.
    const std::string_view head = text.substr(0, text.find('('));
    const bool scope = (has_word(head, "class") || has_word(head, "struct")) &&
                       !has_word(head, "template") && text.back() != ')';
    return scope ? Kind::kScope : Kind::kFunction;
  }

  void open() {
    const Kind kind = kind_of_brace();
    std::size_t begin = begin_;
    while (begin < at_ && is_space(code_[begin])) ++begin;
    open_.push_back({kind, begin});
    if (kind == Kind::kScope) begin_ = at_ + 1;
  }

  void close() {
    if (open_.empty()) return;
    const Open opened = open_.back();
    open_.pop_back();
    if (opened.kind == Kind::kFunction) {
      const int first = line_at(code_, opened.function_begin);
      const int last = line_at(code_, at_);
      const std::string_view head =
          code_.substr(opened.function_begin, at_ - opened.function_begin);
      functions_.push_back({name_of(head), first, last - first + 1});
    }
    if (opened.kind == Kind::kFunction || opened.kind == Kind::kScope) begin_ = at_ + 1;
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the statement that is being read
  int parentheses_ = 0;
  std::vector<Open> open_;
  std::vector<Function> functions_;
};

}  // namespace

std::vector<Function> functions_of(std::string_view text) {
  const SourceText parts = take_apart(text);
  return BraceWalk(parts.code).walk();
}

Findings check_sizes(const SourceFile& file) {
  Findings findings;
  const auto report = [&](int line, const std::string& what, std::size_t value, int limit) {
    findings.push_back({file.path, line,
                        what + ": " + std::to_string(value) + " exceeds " + std::to_string(limit)});
  };
  const bool is_cmake = file.path.ends_with(".cmake") || file.path.ends_with("CMakeLists.txt");
  if (!is_cpp(file.path) && !is_cmake) return findings;

  const auto lines = lines_of(file.text);
  const int lines_max = is_header(file.path) ? kHeaderLinesMax : kFileLinesMax;
  if (lines.size() > static_cast<std::size_t>(lines_max)) {
    report(0, is_header(file.path) ? "lines of a header" : "lines of a file", lines.size(),
           lines_max);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t columns = columns_of(lines[i]);
    if (columns > kColumnsMax) report(static_cast<int>(i) + 1, "columns", columns, kColumnsMax);
  }
  if (!is_cpp(file.path)) return findings;
  for (const Function& function : functions_of(file.text)) {
    if (function.n_lines > kFunctionLinesMax) {
      report(function.line, "lines of " + function.name + "()",
             static_cast<std::size_t>(function.n_lines), kFunctionLinesMax);
    }
  }
  return findings;
}

Findings check_header_start(const SourceFile& file) {
  if (!is_header(file.path)) return {};
  Findings findings;
  if (!file.text.starts_with("// ")) {
    findings.push_back({file.path, 1, "a header starts with a comment that says what it is for"});
  }
  if (file.text.find("\n#pragma once\n") == std::string::npos) {
    findings.push_back({file.path, 0, "a header has #pragma once"});
  }
  return findings;
}

}  // namespace tessera::tidy
