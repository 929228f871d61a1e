#include "runtime/remote/line.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace tessera::runtime::remote {
namespace {

struct Ends {
  Ends() {
    auto ends = sandbox::Channel::make_pair();
    server.emplace(std::move(ends->first));
    engine.emplace(std::move(ends->second));
  }
  std::optional<Line> server;
  std::optional<Line> engine;
};

ParcelWriter parcel_of(const auto& value) {
  ParcelWriter parcel;
  parcel(value);
  return parcel;
}

class LineTest : public testing::Test {
 protected:
  /// Answers every call with what it was called with.
  std::jthread echo() {
    return std::jthread([this] {
      while (auto call = ends.engine->next_call()) {
        const auto text = call->parcel.read<std::string>();
        ends.engine->answer(*call, parcel_of(text.value_or("unreadable")));
      }
    });
  }

  Ends ends;
};

TEST_F(LineTest, CarriesParcelsOfAnySize) {
  const std::jthread engine = echo();

  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, kInlineBytesMax - 8,
                              kInlineBytesMax - 7, 5 * kInlineBytesMax, std::size_t{3} << 20}) {
    const std::string text(n, 'x');
    const auto answer = ends.server->call(Call::kTokenize, parcel_of(text));
    ASSERT_TRUE(answer) << n;
    EXPECT_EQ(answer->read<std::string>(), text) << n;
  }
  ends.server.reset();
}

TEST_F(LineTest, SaysOnceThatACallIsToStop) {
  std::atomic<bool> runs{false};
  std::jthread engine([&] {
    const auto call = ends.engine->next_call();
    runs = true;
    while (!ends.engine->stop_asked()) std::this_thread::yield();
    ends.engine->answer(*call, parcel_of(std::string("stopped")));
    // The next call is not stopped by what was said about the last.
    const auto next = ends.engine->next_call();
    ends.engine->answer(*next, parcel_of(std::string(ends.engine->stop_asked() ? "no" : "yes")));
  });

  const auto answer = ends.server->call(Call::kEncode, {}, [&] { return runs.load(); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->read<std::string>(), "stopped");
  const auto next = ends.server->call(Call::kEncode, {}, [] { return false; });
  ASSERT_TRUE(next);
  EXPECT_EQ(next->read<std::string>(), "yes");
}

TEST_F(LineTest, AStopThatComesAfterTheAnswerIsForgotten) {
  std::jthread engine([&] {
    const auto call = ends.engine->next_call();
    ends.engine->answer(*call, parcel_of(1));
    const auto next = ends.engine->next_call();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->call, Call::kDecode);
    ends.engine->answer(*next, parcel_of(2));
  });
  ASSERT_TRUE(ends.server->call(Call::kEncode, {}));
  // As if the server had asked at the moment of the answer.
  sandbox::Channel channel = std::move(*ends.server).take_channel();
  std::array<std::byte, 24> stop{};
  const std::uint32_t version = 1;
  const auto kind = Call::kStop;
  std::memcpy(stop.data(), &version, sizeof(version));
  std::memcpy(stop.data() + 4, &kind, sizeof(kind));
  ASSERT_EQ(channel.send_packet(stop, {}), sandbox::IoStatus::kOk);

  Line again(std::move(channel));
  EXPECT_TRUE(again.call(Call::kDecode, {}));
}

TEST_F(LineTest, ACallIsGivenUpAtItsDeadlineWhetherOrNotItMayBeStopped) {
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(20); };

  EXPECT_FALSE(ends.server->call(Call::kTokenize, {}, {}, {}, soon()));
  EXPECT_FALSE(ends.server->call(Call::kTokenize, {}, [] { return false; }, {}, soon()));
  EXPECT_FALSE(ends.server->call(Call::kTokenize, {}, [] { return true; }, {}, soon()));
}

TEST_F(LineTest, TheEndOfOneSideEndsTheOther) {
  ends.engine.reset();
  EXPECT_FALSE(ends.server->call(Call::kTokenize, {}));

  Ends others;
  others.server.reset();
  EXPECT_FALSE(others.engine->next_call());
  EXPECT_TRUE(others.engine->stop_asked()) << "nobody waits for what it computes";
}

/// What a broken or hostile engine may say instead of an answer.
class BadAnswer : public LineTest {
 protected:
  struct Header {
    std::uint32_t version = 1;
    Call call = Call::kTokenize;
    std::uint64_t number = 1;
    std::uint64_t n_bytes = 0;
  };

  bool accepts(const Header& header, std::size_t n_inline = 0, std::span<const int> fds = {}) {
    Ends both;
    std::jthread engine([&] {
      ASSERT_TRUE(both.engine->next_call());
      std::vector<std::byte> message(sizeof(header) + n_inline);
      std::memcpy(message.data(), &header, sizeof(header));
      sandbox::Channel channel = std::move(*both.engine).take_channel();
      EXPECT_EQ(channel.send_packet(message, fds), sandbox::IoStatus::kOk);
    });
    return both.server->call(Call::kTokenize, {}).has_value();
  }

  static UniqueFd file(std::size_t n_bytes, int seals) {
    UniqueFd fd = *sandbox::create_memfd("test", n_bytes);
    EXPECT_TRUE(sandbox::add_seals(fd.get(), seals));
    return fd;
  }
};

TEST_F(BadAnswer, OnlyAnAnswerToTheCallIsTaken) {
  EXPECT_TRUE(accepts({}));
  EXPECT_FALSE(accepts({.version = 2}));
  EXPECT_FALSE(accepts({.call = Call::kDecode}));
  EXPECT_FALSE(accepts({.call = static_cast<Call>(99)}));
  EXPECT_FALSE(accepts({.number = 2}));
}

TEST_F(BadAnswer, TheParcelIsAsLargeAsItSays) {
  EXPECT_TRUE(accepts({.n_bytes = 8}, 8));
  EXPECT_FALSE(accepts({.n_bytes = 8}, 7));
  EXPECT_FALSE(accepts({.n_bytes = 8}, 9));
  EXPECT_FALSE(accepts({.n_bytes = kInlineBytesMax + 1}, 8)) << "and no file";
}

TEST_F(BadAnswer, AParcelsFileCanNeitherChangeNorShrink) {
  constexpr std::size_t kBytes = 2 * kInlineBytesMax;
  constexpr int kAll = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
  const UniqueFd sealed = file(kBytes, kAll);
  const UniqueFd writable = file(kBytes, F_SEAL_SHRINK | F_SEAL_GROW);
  const UniqueFd shrinkable = file(kBytes, F_SEAL_WRITE | F_SEAL_GROW);
  const auto with = [&](const UniqueFd& fd, std::size_t n_bytes) {
    const std::array fds{fd.get()};
    return accepts({.n_bytes = n_bytes}, 0, fds);
  };

  EXPECT_TRUE(with(sealed, kBytes));
  EXPECT_FALSE(with(sealed, kBytes + 1)) << "beyond its end";
  EXPECT_FALSE(with(sealed, kParcelBytesMax + 1));
  EXPECT_FALSE(with(writable, kBytes));
  EXPECT_FALSE(with(shrinkable, kBytes));
}

}  // namespace
}  // namespace tessera::runtime::remote
