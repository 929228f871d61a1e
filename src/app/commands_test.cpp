#include "app/commands.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tessera::app {
namespace {

/// Runs a command line as main() does.
struct Outcome {
  cli::ExitCode code{};
  std::string out;
  std::string err;
};

Outcome run(std::vector<std::string> arguments) {
  SignalWatcher signals;
  std::ostringstream out;
  std::ostringstream err;
  const cli::Terminal terminal{out, err};
  const auto command = cli::parse_command_line(arguments);
  Outcome result;
  result.code = command ? run_command(*command, signals, terminal)
                        : cli::print_error(command.error(), false, terminal);
  result.out = out.str();
  result.err = err.str();
  return result;
}

TEST(Commands, VersionAndHelpSucceed) {
  EXPECT_EQ(run({"version"}).code, cli::ExitCode::kOk);
  EXPECT_EQ(run({"--help"}).code, cli::ExitCode::kOk);
}

TEST(Commands, PrintConfigNeedsNoModel) {
  const Outcome result = run({"serve", "--print-config", "--model", "missing.gguf"});

  EXPECT_EQ(result.code, cli::ExitCode::kOk);
  EXPECT_NE(result.out.find("missing.gguf"), std::string::npos);
}

TEST(Commands, UnknownOptionIsAUsageError) {
  EXPECT_EQ(run({"serve", "--no-such-option"}).code, cli::ExitCode::kUsage);
}

TEST(Commands, AskWithoutAMediaWorkerFails) {
  const Outcome result = run({"ask", "--media-worker", "/nonexistent/worker", "hello"});

  EXPECT_NE(result.code, cli::ExitCode::kOk);
  EXPECT_NE(result.err.find("/nonexistent/worker"), std::string::npos);
}

}  // namespace
}  // namespace tessera::app
