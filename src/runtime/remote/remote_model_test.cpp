#include "runtime/remote/remote_model.h"

#include <csignal>

#include "runtime/fake/fake_runtime.h"
#include "runtime/remote/test_engine.h"

namespace tessera::runtime::remote {
namespace {

using RemoteModelTest = RemoteEngineTest;

TEST_F(RemoteModelTest, AnswersAsTheSameModelInThisProcess) {
  ASSERT_TRUE(start());
  LoadedModel local = std::move(fake::load({})).value();

  EXPECT_EQ(remote.model->info().name, local.model->info().name);
  EXPECT_EQ(remote.model->info().n_vocabulary, local.model->info().n_vocabulary);
  EXPECT_EQ(remote.executor->n_sequences_max(), local.executor->n_sequences_max());
  EXPECT_EQ(remote.executor->n_kv_cells(), local.executor->n_kv_cells());
  EXPECT_EQ(remote.executor->can_mix(), local.executor->can_mix());
  EXPECT_EQ(*ask(remote, "what?"), *ask(local, "what?"));
  EXPECT_EQ(*ask(remote, "say:hello"), "hello");
  EXPECT_EQ(remote.executor->n_kv_cells_used(), 0);
}

TEST_F(RemoteModelTest, ErrorsComeAsTheyAre) {
  ASSERT_TRUE(start());

  const auto strip = remote.model->tokenize(std::vector<PromptPart>{MediaPlace{0}},
                                            std::vector<ImageInput>{{{28 * 400, 28}}});

  ASSERT_FALSE(strip);
  EXPECT_EQ(strip.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(process->connection()->is_alive());
}

TEST_F(RemoteModelTest, WhatWasMadeInOneLifeIsNothingToTheNext) {
  ASSERT_TRUE(start());
  const auto tiles = remote.model->prepare(some_image());
  const auto sampler = remote.model->make_sampler({});
  ASSERT_TRUE(tiles);
  ASSERT_TRUE(sampler);

  ::kill(process->pid(), SIGKILL);
  wait_for_death(1);
  wait_until_ready();

  EXPECT_EQ(last_signal, SIGKILL);
  EXPECT_TRUE(is_engine_lost(remote.encoder->encode(*tiles->front(), {}).error()));
  remote.executor->forget();
  ASSERT_EQ(remote.executor->availability(), Availability::kReady);
  const std::vector<TokenRow> rows{{SequenceId{0}, 'a', 0, sampler->get()}};
  EXPECT_EQ(remote.executor->decode(rows, {}, {}).status, DecodeStatus::kLost);
  EXPECT_TRUE(process->connection()->is_alive()) << "nobody asked it for what it does not have";
}

}  // namespace
}  // namespace tessera::runtime::remote
