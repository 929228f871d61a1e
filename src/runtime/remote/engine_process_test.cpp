#include "runtime/remote/engine_process.h"

#include <algorithm>
#include <csignal>
#include <fstream>

#include "runtime/remote/test_engine.h"

namespace tessera::runtime::remote {
namespace {

using EngineProcessTest = RemoteEngineTest;

TEST_F(EngineProcessTest, AnEngineThatDoesNotLoadSaysWhy) {
  const auto refused = start("refuse");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "model_not_found");

  const auto died = start("load");
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().reason, "engine_start_failed");

  EngineProcessOptions nowhere;
  nowhere.program = "/nonexistent/tessera-engine";
  EXPECT_FALSE(EngineProcess::start(nowhere));
}

/// In whichever call the engine dies, that call is engine_lost, and the next life answers.
class DeathIn : public RemoteEngineTest, public testing::WithParamInterface<const char*> {};

TEST_P(DeathIn, IsOneLostCallAndAnotherLife) {
  ASSERT_TRUE(start(GetParam(), true));

  const auto lost = ask(remote, "say:hello");

  ASSERT_FALSE(lost);
  EXPECT_TRUE(is_engine_lost(lost.error())) << lost.error().reason;
  wait_for_death(1);
  EXPECT_EQ(last_signal, SIGABRT);
  wait_until_ready();
  EXPECT_EQ(remote.executor->availability(), Availability::kLost) << "its KV cache is gone";
  remote.executor->forget();
  EXPECT_EQ(remote.executor->availability(), Availability::kReady);
  EXPECT_EQ(remote.executor->n_kv_cells_used(), 0);
  EXPECT_EQ(*ask(remote, "say:hello"), "hello");
  EXPECT_EQ(n_deaths, 1);
}

INSTANTIATE_TEST_SUITE_P(Calls, DeathIn,
                         testing::Values("template 1", "tokenize 1", "prepare 1", "encode 1",
                                         "decode_tokens 1", "decode_tokens 3", "decode_visual 1",
                                         "make_sampler 1", "sample 2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST_F(EngineProcessTest, AnEngineThatDoesNotComeBackHasFailedAndIsTriedAgain) {
  ASSERT_TRUE(start("refuse 1 2 40", true));

  ::kill(process->pid(), SIGKILL);

  while (!process->has_failed()) std::this_thread::yield();
  EXPECT_EQ(process->wait_until_ready({}).error().reason, "engine_unavailable");
  EXPECT_EQ(remote.executor->availability(), Availability::kLost);
  remote.executor->forget();
  EXPECT_EQ(remote.executor->availability(), Availability::kFailed);
  EXPECT_TRUE(is_engine_lost(remote.model->apply_chat_template({}).error()));
  std::ofstream(lives_file()) << 40;
  while (process->has_failed()) std::this_thread::yield();
  wait_until_ready();
  EXPECT_EQ(remote.executor->availability(), Availability::kReady);
  EXPECT_EQ(*ask(remote, "say:again"), "again");
}

TEST_F(EngineProcessTest, AModelThatWasReplacedDoesNotStart) {
  const std::string projector = own_file("projector");
  std::ofstream(projector) << "one";
  ASSERT_TRUE(start("", false, projector));
  std::ofstream(projector) << "another";

  ::kill(process->pid(), SIGKILL);

  while (!process->has_failed()) std::this_thread::yield();
  EXPECT_EQ(process->connection(), nullptr);
  std::remove(projector.c_str());
}

TEST_F(EngineProcessTest, TheServerGoesOnWhenTheEngineIsKilledAgainAndAgain) {
  ASSERT_TRUE(start());
  for (int i = 1; i <= 10; ++i) {
    ::kill(process->pid(), SIGKILL);
    wait_for_death(i);
    wait_until_ready();
    remote.executor->forget();
    ASSERT_EQ(remote.executor->availability(), Availability::kReady);
    ASSERT_EQ(*ask(remote, "say:hello"), "hello") << i;
  }
}

TEST_F(EngineProcessTest, TheEngineEndsWithItsServer) {
  ASSERT_TRUE(start());
  const pid_t pid = process->pid();

  remote = {};
  process.reset();

  EXPECT_NE(::kill(pid, 0), 0) << "it was reaped";
}

TEST_F(EngineProcessTest, SaysWhatAProgramComputesWith) {
  EXPECT_EQ(*EngineProcess::describe(TESSERA_FAKE_ENGINE, {}), "fake");
  EXPECT_EQ(EngineProcess::describe("/nonexistent", {}).error().reason, "engine_not_found");
}

TEST_F(EngineProcessTest, WhoWaitsForItMayGiveUp) {
  ASSERT_TRUE(start("refuse 1 2 40", true));
  ::kill(process->pid(), SIGKILL);
  wait_for_death(1);
  int n_asked = 0;

  // Either it was seen to fail, or the wait ended because it was to.
  const auto waited = process->wait_until_ready([&] { return ++n_asked > 0; });
  EXPECT_TRUE(waited || waited.error().reason == "engine_unavailable");
}

}  // namespace
}  // namespace tessera::runtime::remote
