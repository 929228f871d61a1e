// What an engine does with calls that no server of ours makes.
#include "runtime/remote/engine_server.h"

#include <gtest/gtest.h>

#include "runtime/remote/connection.h"
#include "sandbox/child_process.h"

namespace tessera::runtime::remote {
namespace {

class EngineServerTest : public testing::Test {
 protected:
  EngineServerTest() {
    for (std::size_t i = 0; i < kLines; ++i) {
      auto ends = sandbox::Channel::make_pair();
      fds_.push_back(ends->second.fd());
      far_ends_.push_back(std::move(ends->second));
      lines_.emplace_back(std::move(ends->first));
    }
    sandbox::SpawnOptions options;
    options.path = TESSERA_FAKE_ENGINE;
    child_.emplace(std::move(sandbox::spawn_child(options)).value());
    control_.emplace(std::move(child_->channel));
  }

  Line& encode_line() { return lines_[0]; }
  Line& decode_line() { return lines_[1]; }
  Line& model_line() { return lines_[2]; }

  template <typename T, typename Arguments>
  std::optional<Result<T>> call(Line& line, Call call, const Arguments& arguments) {
    ParcelWriter parcel;
    parcel(arguments);
    const auto answer = line.call(call, parcel);
    return answer ? answer->read<Result<T>>() : std::nullopt;
  }

  bool load() {
    ParcelWriter parcel;
    parcel(LoadOptions{});
    const auto answer = control_->call(Call::kLoad, parcel, {}, fds_);
    return answer && answer->read<Result<Facts>>()->has_value();
  }

  /// Whether the engine answered with an error, and lives.
  template <typename T>
  static bool is_refusal(const std::optional<Result<T>>& answer) {
    return answer && !*answer && answer->error().code == ErrorCode::kInternal;
  }

  std::vector<sandbox::Channel> far_ends_;
  std::vector<int> fds_;
  std::vector<Line> lines_;
  std::optional<sandbox::SpawnedChild> child_;
  std::optional<Line> control_;
};

TEST_F(EngineServerTest, RefusesWhatItDoesNotHave) {
  ASSERT_TRUE(load());
  DecodeCall rows;
  rows.tokens = {{SequenceId{0}, 'a', 0, 77}};

  EXPECT_TRUE(is_refusal(
      call<std::vector<Embedding>>(encode_line(), Call::kEncode, EncodeCall{{}, {{77, 0}}})));
  EXPECT_TRUE(is_refusal(call<std::vector<Embedding>>(encode_line(), Call::kEncode, EncodeCall{})));
  EXPECT_TRUE(is_refusal(call<CallResult>(decode_line(), Call::kDecode, rows)));
}

TEST_F(EngineServerTest, RefusesArgumentsThatItCannotRead) {
  ASSERT_TRUE(load());

  EXPECT_TRUE(is_refusal(call<Prompt>(model_line(), Call::kTokenize, 1)));
  EXPECT_TRUE(is_refusal(call<CallResult>(decode_line(), Call::kDecode, std::string("rows"))));
  EXPECT_TRUE(is_refusal(call<bool>(model_line(), Call::kLoad, LoadOptions{})));
}

TEST_F(EngineServerTest, LetsGoOfTilesThatItIsToldToDrop) {
  ASSERT_TRUE(load());
  const Image image{{28, 28}, std::vector<std::uint8_t>(28 * 28 * 3)};
  ASSERT_TRUE(**call<std::vector<int>>(model_line(), Call::kPrepare, PrepareCall{{}, 5, image}) ==
              std::vector<int>{1});
  EXPECT_TRUE(call<std::vector<Embedding>>(encode_line(), Call::kEncode, EncodeCall{{}, {{5, 0}}})
                  ->has_value());
  EXPECT_TRUE(is_refusal(
      call<std::vector<Embedding>>(encode_line(), Call::kEncode, EncodeCall{{}, {{5, 1}}})));
  EXPECT_TRUE(is_refusal(
      call<std::vector<Embedding>>(encode_line(), Call::kEncode, EncodeCall{{5}, {{5, 0}}})));
}

TEST_F(EngineServerTest, EndsWhenTheServerDoes) {
  ASSERT_TRUE(load());

  control_.reset();

  EXPECT_EQ(child_->process.wait(TimePoint::max()), sandbox::ExitStatus{});
}

TEST_F(EngineServerTest, EndsWithoutLinesToServe) {
  ParcelWriter parcel;
  parcel(LoadOptions{});

  EXPECT_FALSE(control_->call(Call::kLoad, parcel));

  EXPECT_EQ(child_->process.wait(TimePoint::max())->value, EXIT_FAILURE);
}

}  // namespace
}  // namespace tessera::runtime::remote
