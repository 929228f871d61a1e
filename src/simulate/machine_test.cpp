#include "simulate/machine.h"

#include <gtest/gtest.h>

namespace tessera::simulate {
namespace {

TEST(SimulatedMachine, ACallTakesItsRowsAndTheirCells) {
  Machine machine;
  machine.call_seconds = 1;
  machine.row_seconds = 0.1;
  machine.row_cell_seconds = 0.001;

  EXPECT_DOUBLE_EQ(call_seconds(machine, 0, 1000), 1);
  EXPECT_DOUBLE_EQ(call_seconds(machine, 4, 100), 1 + 0.4 + 0.4);
}

TEST(SimulatedMachine, CountsTokensAndTheEnd) {
  SimulationResult result;
  SimulatedRequest request;
  request.arrival = 10;
  request.n_output_tokens = 3;
  Clocked output;

  for (const double now : {12.0, 12.5, 14.0}) output.token(request, now, result);

  const KindResult& kind = result.kinds[0];
  EXPECT_EQ(kind.n_ended, 1U);
  EXPECT_DOUBLE_EQ(kind.first_token.largest(), 2);
  EXPECT_DOUBLE_EQ(kind.inter_token.largest(), 1.5);
  EXPECT_DOUBLE_EQ(kind.total.largest(), 4);
  EXPECT_EQ(result.inter_token.count(), 2U);
}

}  // namespace
}  // namespace tessera::simulate
