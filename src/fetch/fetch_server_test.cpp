#include "fetch/fetch_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "fetch/loopback_hooks.h"
#include "fetch/test_server.h"

namespace tessera::fetch {
namespace {

using sandbox::Channel;
using sandbox::IoStatus;
using wire::Outcome;

constexpr std::size_t kBytesMax = 1000;

/// The fetcher's loop on a thread of its own, and the server's end of its channel.
class FetchServerTest : public ::testing::Test {
 protected:
  FetchServerTest() {
    auto pair = Channel::make_pair();
    channel_ = std::make_unique<Channel>(std::move(pair->first));
    thread_ = std::jthread([this, far_end = std::make_shared<Channel>(std::move(pair->second))] {
      exit_code_ = serve(*far_end, loopback_hooks());
      far_end->close();
    });
  }
  ~FetchServerTest() override { channel_->close(); }

  void configure(std::uint16_t port) {
    FetchRules rules;
    rules.urls = {.allow_http = true, .ports = {port}};
    rules.domains = DomainRules::public_internet();
    EXPECT_EQ(channel_->send(*to_wire(rules), {}), IoStatus::kOk);
  }

  static wire::Order order_for(std::uint64_t id, const std::string& url) {
    wire::Order order;
    order.header.id = id;
    order.bytes_max = kBytesMax;
    order.header_bytes_max = 4096;
    order.connect_timeout_ms = order.total_timeout_ms = 60'000;
    order.low_speed_seconds = 60;
    order.n_url_bytes = static_cast<std::uint32_t>(url.size());
    std::ranges::copy(url, order.url.begin());
    return order;
  }

  /// Sends an order; the output stays here.
  UniqueFd send(const wire::Order& order) {
    auto output = sandbox::create_memfd("test", kBytesMax);
    const std::array<int, 1> fds{output->get()};
    EXPECT_EQ(channel_->send(order, fds), IoStatus::kOk);
    return std::move(*output);
  }

  void send_cancel(std::uint64_t id) {
    wire::Order order;
    order.header = {wire::Kind::kCancel, wire::kVersion, id};
    EXPECT_EQ(channel_->send(order, {}), IoStatus::kOk);
  }

  wire::Reply receive() {
    const auto received = channel_->receive<wire::Reply>(0);
    EXPECT_EQ(received.status, IoStatus::kOk);
    return received.message;
  }

  /// Closes this end and waits.
  int end() {
    channel_->close();
    thread_.join();
    return exit_code_;
  }

  /// What the loop returned without being asked to end.
  int wait_for_exit() {
    EXPECT_EQ(channel_->receive<wire::Reply>(0).status, IoStatus::kClosed);
    thread_.join();
    return exit_code_;
  }

  std::unique_ptr<Channel> channel_;

 private:
  int exit_code_ = -1;
  std::jthread thread_;
};

TEST_F(FetchServerTest, AFetchedFileCanBeSealedWhenItsReplyArrives) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like(321)); });
  configure(server.port());

  const UniqueFd output = send(order_for(7, server.url("a.example.com")));
  const wire::Reply reply = receive();

  EXPECT_EQ(reply.header.id, 7U);
  EXPECT_EQ(reply.outcome, Outcome::kFetched);
  EXPECT_EQ(reply.size_bytes, 321U);
  EXPECT_TRUE(sandbox::add_seals(output.get(), F_SEAL_WRITE));
  const auto bytes = sandbox::MappedRegion::map_readonly(output.get(), 321);
  EXPECT_EQ(std::string(bytes->bytes().begin(), bytes->bytes().end()), png_like(321));
  EXPECT_EQ(end(), 0);
}

TEST_F(FetchServerTest, ASlowHostHoldsUpNobody) {
  TestCounter slow;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /fast")) return client.send_body(png_like());
    slow.add();
    client.wait_until_client_closes();
  });
  configure(server.port());

  const UniqueFd first = send(order_for(1, server.url("a.example.com", "/slow")));
  slow.wait_for(1);
  const UniqueFd second = send(order_for(2, server.url("a.example.com", "/fast")));

  EXPECT_EQ(receive().header.id, 2U);
}

TEST_F(FetchServerTest, CancellingAFetchClosesItsConnectionAndNothingElse) {
  TestCounter waiting;
  TestCounter closed;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /fast")) return client.send_body(png_like());
    waiting.add();
    client.wait_until_client_closes();
    closed.add();
  });
  configure(server.port());
  const UniqueFd first = send(order_for(1, server.url("a.example.com", "/slow")));
  const UniqueFd second = send(order_for(2, server.url("a.example.com", "/slow")));
  waiting.wait_for(2);

  send_cancel(1);
  closed.wait_for(1);
  const UniqueFd third = send(order_for(3, server.url("a.example.com", "/fast")));

  EXPECT_EQ(receive().header.id, 3U) << "a cancelled fetch gets no reply";
  EXPECT_EQ(closed.highest(), 1);
}

TEST_F(FetchServerTest, CancellingWhatIsNotThereIsNoError) {
  configure(80);
  send_cancel(1);
  send_cancel(99);
  EXPECT_EQ(end(), 0);
}

TEST_F(FetchServerTest, MoreFetchesThanTheLimitAreRefused) {
  TestCounter waiting;
  const TestServer server([&](const TestConnection& client, const std::string&) {
    waiting.add();
    client.wait_until_client_closes();
  });
  configure(server.port());
  std::vector<UniqueFd> outputs;
  for (std::uint64_t id = 1; id <= wire::kFetchesMax; ++id) {
    outputs.push_back(send(order_for(id, server.url("a.example.com"))));
  }
  waiting.wait_for(wire::kFetchesMax);

  outputs.push_back(send(order_for(100, server.url("a.example.com"))));
  const wire::Reply reply = receive();

  EXPECT_EQ(reply.header.id, 100U);
  EXPECT_EQ(reply.outcome, Outcome::kBusy);
}

TEST_F(FetchServerTest, RefusalsBeforeAConnectionAreRepliesToo) {
  configure(80);
  const UniqueFd first = send(order_for(1, "file:///etc/passwd"));
  EXPECT_EQ(receive().outcome, Outcome::kUrlRefused);

  wire::Order order = order_for(2, "http://a.example.com/");
  order.bytes_max = kBytesMax + 1;
  const UniqueFd second = send(order);
  EXPECT_EQ(receive().outcome, Outcome::kFailed) << "the output is smaller than said";
}

TEST_F(FetchServerTest, AnOrderBeforeTheRulesEndsTheProcess) {
  const UniqueFd output = send(order_for(1, "http://a.example.com/"));
  EXPECT_EQ(wait_for_exit(), 2);
}

TEST_F(FetchServerTest, RulesOfAnotherVersionEndTheProcess) {
  wire::Configure message;
  ++message.header.version;
  EXPECT_EQ(channel_->send(message, {}), IoStatus::kOk);
  EXPECT_EQ(wait_for_exit(), 2);
}

TEST_F(FetchServerTest, MessagesThatDoNotFitEndTheProcess) {
  configure(80);
  wire::Order order = order_for(1, "http://a.example.com/");
  EXPECT_EQ(channel_->send(order, {}), IoStatus::kOk) << "a fetch without an output";
  EXPECT_EQ(wait_for_exit(), 2);
}

TEST_F(FetchServerTest, TheEndOfTheConversationEndsTheProcess) {
  EXPECT_EQ(end(), 0);
}

}  // namespace
}  // namespace tessera::fetch
