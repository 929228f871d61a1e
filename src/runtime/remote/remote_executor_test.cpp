#include "runtime/remote/remote_executor.h"

#include <csignal>

#include "runtime/remote/test_engine.h"

namespace tessera::runtime::remote {
namespace {

using RemoteExecutorTest = RemoteEngineTest;

TEST_F(RemoteExecutorTest, SharesCellsAndCountsThemAsTheEngineDoes) {
  ASSERT_TRUE(start());
  Executor& executor = *remote.executor;
  const std::vector<TokenRow> prompt{{SequenceId{0}, 'a', 0, nullptr},
                                     {SequenceId{0}, 'b', 1, nullptr}};
  ASSERT_EQ(executor.decode(prompt, {}, {}).status, DecodeStatus::kOk);
  executor.share(SequenceId{0}, SequenceId{1}, {0, 2, 0, 2});
  executor.remove(SequenceId{0});
  EXPECT_EQ(executor.n_kv_cells_used(), 2);

  // The engine would call this invalid if it had not done both, in this order.
  const std::vector<TokenRow> next{{SequenceId{1}, 'c', 2, nullptr},
                                   {SequenceId{0}, 'a', 0, nullptr}};
  EXPECT_EQ(executor.decode(next, {}, {}).status, DecodeStatus::kOk);
  EXPECT_EQ(executor.n_kv_cells_used(), 4);
}

TEST_F(RemoteExecutorTest, SetsAsideAndBringsBackInTheOrderOfItsCalls) {
  ASSERT_TRUE(start());
  Executor& executor = *remote.executor;
  const std::vector<TokenRow> prompt{{SequenceId{0}, 'a', 0, nullptr},
                                     {SequenceId{0}, 'b', 1, nullptr}};
  ASSERT_EQ(executor.decode(prompt, {}, {}).status, DecodeStatus::kOk);
  executor.share(SequenceId{0}, SequenceId{1}, {0, 2, 0, 2});

  ASSERT_TRUE(executor.set_aside(SequenceId{0}));
  EXPECT_EQ(executor.n_kv_cells_used(), 2);
  executor.remove(SequenceId{1});
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
  ASSERT_TRUE(executor.bring_back(SequenceId{0}));
  EXPECT_EQ(executor.n_kv_cells_used(), 2);

  const std::vector<TokenRow> next{{SequenceId{0}, 'c', 2, nullptr},
                                   {SequenceId{1}, 'a', 0, nullptr}};
  EXPECT_EQ(executor.decode(next, {}, {}).status, DecodeStatus::kOk);
  EXPECT_FALSE(executor.bring_back(SequenceId{1})) << "nothing was set aside";
  EXPECT_EQ(executor.availability(), Availability::kReady);
}

TEST_F(RemoteExecutorTest, WhatDiesBetweenTwoCallsIsLostOnce) {
  ASSERT_TRUE(start());
  Executor& executor = *remote.executor;
  const std::vector<TokenRow> rows{{SequenceId{0}, 'a', 0, nullptr}};
  ASSERT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);
  ::kill(process->pid(), SIGKILL);
  wait_for_death(1);
  wait_until_ready();

  EXPECT_EQ(executor.availability(), Availability::kLost);
  EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kLost);
  EXPECT_EQ(executor.n_kv_cells_used(), 1) << "until it is forgotten";
  executor.forget();

  EXPECT_EQ(executor.availability(), Availability::kReady);
  EXPECT_EQ(executor.n_kv_cells_used(), 0);
  EXPECT_EQ(executor.decode(rows, {}, {}).status, DecodeStatus::kOk);
}

}  // namespace
}  // namespace tessera::runtime::remote
