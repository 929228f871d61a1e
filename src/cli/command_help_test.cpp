#include "cli/command_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "metrics/golden_file.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

std::string help_of(const std::string& name) {
  std::vector<std::string> arguments{name, "--help"};
  if (name.empty()) arguments.erase(arguments.begin());
  const auto command = parse_command_line(arguments);
  return command ? std::get<HelpOptions>(*command).text : command.error().message;
}

class CommandHelpOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CommandHelpOf, IsAsCommitted) {
  const std::string name = GetParam().empty() ? "tessera" : GetParam();

  test_support::expect_matches_file(help_of(GetParam()), "src/cli/testdata/help_" + name + ".txt");
}

TEST_P(CommandHelpOf, FitsATerminal) {
  std::istringstream lines(help_of(GetParam()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 78U) << line;
}

TEST_P(CommandHelpOf, HasAnExampleAndTheExitCodes) {
  const std::string text = help_of(GetParam());

  EXPECT_THAT(text, HasSubstr("\nexample:\n  tessera "));
  for (const ExitCodeMeaning& row : kExitCodes)
    EXPECT_THAT(text, HasSubstr(std::string(row.meaning)));
}

INSTANTIATE_TEST_SUITE_P(All, CommandHelpOf,
                         ::testing::Values("", "ask", "serve", "plan", "cache", "simulate",
                                           "version"),
                         [](const auto& info) {
                           return info.param.empty() ? "tessera" : info.param;
                         });

TEST(CommandHelp, ExamplesCanBeParsed) {
  for (const char* name : {"ask", "serve", "plan", "cache", "simulate", "version"}) {
    // Split as a shell would: at blanks, quotes keep together.
    std::vector<std::string> arguments;
    std::istringstream words{std::string(command_help(name).example)};
    for (std::string word; words >> std::quoted(word);) arguments.push_back(word);
    arguments.erase(arguments.begin());

    EXPECT_TRUE(parse_command_line(arguments)) << name;
  }
}

}  // namespace
}  // namespace tessera::cli
