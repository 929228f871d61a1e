#include "cli/command_help.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace tessera::cli {
namespace {

// 78 columns leave room for the margin of an 80-column terminal.
constexpr std::size_t kWidth = 78;

constexpr std::array<CommandHelp, 7> kCommands{{
    {"", "tessera COMMAND [OPTIONS]",
     "Answers questions about images with vision-language models, and shows what each stage of the "
     "work cost. `tessera COMMAND --help` explains each command.",
     "tessera ask cat.jpg \"What is the cat doing?\""},
    {"ask", "tessera ask [OPTIONS] [IMAGE...] QUESTION",
     "Answers one question, about images or about none. The answer goes to standard output as it "
     "is "
     "generated, the table of stages to standard error. The last argument is the question; `--` "
     "before it allows one that starts with a dash.",
     "tessera ask cat.jpg dog.png \"Which of the two is asleep?\" --max-tokens 60"},
    {"serve", "tessera serve [OPTIONS]",
     "Answers over HTTP, as OpenAI's chat completions do, until it is interrupted. Each option can "
     "also be set in the environment or in a file: docs/configuration.md.",
     "tessera serve --model own.gguf --mmproj own-mmproj.gguf --port 9000"},
    {"plan", "tessera plan [OPTIONS] IMAGE...",
     "Shows what images would cost, without running the model: size as sent and as planned, tiles, "
     "visual tokens, and estimates of computation and KV memory.",
     "tessera plan receipt.jpg chart.png --json"},
    {"cache", "tessera cache stats|list|purge [OPTIONS]",
     "Shows or empties the cache of image features. `stats`: how full each tier is and what it "
     "saved. `list`: what each tenant has in it. `purge`: makes what one tenant or everybody has "
     "unreadable at once, in memory and on disk. It asks a running server, with the operator's "
     "key, "
     "or works on the folder of one that has stopped.",
     "tessera cache purge --tenant alice --admin-key-file admin-key"},
    {"simulate", "tessera simulate [OPTIONS]",
     "Shows how long requests would wait under a load, without a model: the scheduler of the "
     "server "
     "on a virtual clock and a machine as docs/scheduling.md describes it. The same seed gives the "
     "same figures.",
     "tessera simulate --load 0.2 --policy count"},
    {"version", "tessera version [OPTIONS]", "Says what runs: version and runtime.",
     "tessera version --json"},
}};

void print_wrapped(std::ostream& out, std::string_view text, std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::size_t column = indent;
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > kWidth) {
      out << '\n' << std::string(indent, ' ');
      column = indent;
      first = true;
    }
    out << (first ? "" : " ") << word;
    column += word.size() + (first ? 0 : 1);
  }
  out << '\n';
}

struct Row {
  std::string left;
  std::string right;
};

void print_rows(std::ostream& out, std::string_view title, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  out << '\n' << title << ":\n";
  std::size_t column = 0;
  for (const Row& row : rows) column = std::max(column, row.left.size() + 4);
  for (const Row& row : rows) {
    std::string left = "  " + row.left;
    left.resize(column, ' ');
    out << left;
    print_wrapped(out, row.right, column);
  }
}

Row option_row(const CLI::Option& option) {
  std::string name = option.get_name(false, true);  // "--help,-h" as given, without positionals
  if (const auto comma = name.find(','); comma != std::string::npos) {
    const bool short_first = name.size() > 1 && name[1] != '-';
    const std::string first = name.substr(0, comma);
    const std::string second = name.substr(comma + 1);
    name = short_first ? first + ", " + second : second + ", " + first;
  }
  const std::string type = option.get_type_name();
  return {type.empty() ? name : name + " " + type, option.get_description()};
}

}  // namespace

const CommandHelp& command_help(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandHelp::name);
  return found == kCommands.end() ? kCommands.front() : *found;
}

std::string help_text(const CLI::App& command) {
  const bool is_program = command.get_parent() == nullptr;
  const CommandHelp& help = command_help(is_program ? "" : command.get_name());
  std::ostringstream out;
  out << "usage: " << help.usage << "\n\n";
  print_wrapped(out, help.description, 0);

  std::vector<Row> commands;
  for (const CLI::App* sub : command.get_subcommands({})) {
    const std::string_view text = command_help(sub->get_name()).description;
    commands.push_back({sub->get_name(), std::string(text.substr(0, text.find_first_of(".:,")))});
  }
  print_rows(out, "commands", commands);

  std::vector<std::string> groups;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    if (std::ranges::find(groups, option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  for (const std::string& group : groups) {
    std::vector<Row> rows;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional() || option->get_group() != group) continue;
      rows.push_back(option_row(*option));
    }
    print_rows(out, group, rows);
  }

  out << "\nexample:\n  " << help.example << '\n';
  std::vector<Row> codes;
  for (const ExitCodeMeaning& row : kExitCodes) {
    codes.push_back({std::to_string(static_cast<int>(row.code)), std::string(row.meaning)});
  }
  print_rows(out, "exit codes", codes);
  return out.str();
}

}  // namespace tessera::cli
