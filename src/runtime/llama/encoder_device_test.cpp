#include "runtime/llama/encoder_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::runtime::llama {
namespace {

class EncoderDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    device.attach(params);
    // Freed by the mtmd_context in the product, by us here.
    backend = ggml_backend_dev_init(static_cast<ggml_backend_dev_t>(params.device), nullptr);
    ASSERT_NE(backend, nullptr);
  }
  void TearDown() override { ggml_backend_free(backend); }

  /// Asks about `n` nodes; true for those after which the scheduler should stop and call back.
  std::vector<bool> ask(int n) {
    std::vector<bool> answers;
    for (int i = 0; i < n; ++i) {
      answers.push_back(params.cb_eval(nullptr, /*ask=*/true, params.cb_eval_user_data));
    }
    return answers;
  }
  bool goes_on() { return params.cb_eval(nullptr, /*ask=*/false, params.cb_eval_user_data); }

  static bool read_flag(const void* flag) { return *static_cast<const bool*>(flag); }

  CoreShare cores{1};
  EncoderDevice device{cores};
  mtmd_context_params params = mtmd_context_params_default();
  ggml_backend_t backend = nullptr;
  bool stopped = false;
};

TEST_F(EncoderDeviceTest, LooksLikeTheCpu) {
  auto* native = static_cast<ggml_backend_dev_t>(params.device);

  EXPECT_TRUE(params.use_gpu);
  EXPECT_EQ(ggml_backend_dev_type(native), GGML_BACKEND_DEVICE_TYPE_CPU);
  EXPECT_TRUE(ggml_backend_is_cpu(backend));
}

TEST_F(EncoderDeviceTest, IsAskedBetweenGroupsOfNodesOnly) {
  device.begin(&read_flag, &stopped);

  const std::vector<bool> answers = ask(64);

  EXPECT_EQ(std::count(answers.begin(), answers.end(), true), 4);
  EXPECT_FALSE(answers.front());
  EXPECT_FALSE(device.end());
}

TEST_F(EncoderDeviceTest, StopsAtTheNextGroupAndSaysSo) {
  device.begin(&read_flag, &stopped);
  EXPECT_TRUE(goes_on());

  stopped = true;

  EXPECT_FALSE(goes_on());
  EXPECT_TRUE(device.end());
}

TEST_F(EncoderDeviceTest, ForgetsAStopAtTheNextEncode) {
  stopped = true;
  device.begin(&read_flag, &stopped);
  EXPECT_FALSE(goes_on());
  EXPECT_TRUE(device.end());

  stopped = false;
  device.begin(&read_flag, &stopped);

  EXPECT_TRUE(goes_on());
  EXPECT_FALSE(device.end());
}

TEST_F(EncoderDeviceTest, TellsTheLanguageModelThatAnEncodeRuns) {
  ManualClock clock;
  CoreShare all(0, clock);
  EncoderDevice other(all);
  mtmd_context_params other_params = mtmd_context_params_default();
  other.attach(other_params);
  ggml_backend_t other_backend =
      ggml_backend_dev_init(static_cast<ggml_backend_dev_t>(other_params.device), nullptr);

  other.begin(nullptr, nullptr);
  const int while_encoding = all.begin_language();
  all.end_language();
  other.end();
  clock.advance(kLinger);

  EXPECT_EQ(while_encoding, (all.n_cores() + 1) / 2);
  EXPECT_EQ(all.begin_language(), all.n_cores());
  ggml_backend_free(other_backend);
}

}  // namespace
}  // namespace tessera::runtime::llama
