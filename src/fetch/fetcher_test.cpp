#include "fetch/fetcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "fetch/test_server.h"

namespace tessera::fetch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatient{60'000};

bool is_png(std::span<const std::byte> head) {
  constexpr std::string_view kSignature("\x89PNG", 4);
  return head.size() >= kSignature.size() &&
         std::memcmp(head.data(), kSignature.data(), kSignature.size()) == 0;
}

FetcherOptions options_for(std::uint16_t port) {
  FetcherOptions options;
  options.dispatcher = {TESSERA_LOOPBACK_FETCHER, milliseconds(0), milliseconds(1), kPatient};
  options.limits.total_timeout = options.limits.connect_timeout = kPatient;
  options.limits.low_speed_time = std::chrono::seconds(60);
  options.rules.urls = {.allow_http = true, .ports = {port}};
  options.rules.domains = DomainRules::public_internet();
  options.is_media = is_png;
  return options;
}

std::unique_ptr<Fetcher> make_fetcher(FetcherOptions options) {
  auto fetcher = Fetcher::create(std::move(options));
  EXPECT_TRUE(fetcher);
  return std::move(*fetcher);
}

std::vector<RedactedUrl> urls_of(const TestServer& server,
                                 const std::vector<std::string>& targets) {
  std::vector<RedactedUrl> urls;
  for (const auto& target : targets) urls.emplace_back(server.url("a.example.com", target));
  return urls;
}

template <typename T>
std::string reason_of(const Result<T>& result) {
  return result ? "fetched" : result.error().reason;
}

std::string bytes_of(const EncodedMedia& media) {
  std::string bytes(media.size_bytes, '\0');
  EXPECT_EQ(::pread(media.fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

std::ptrdiff_t count_open_fds() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

bool has_landlock() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) > 0;  // 1 = asks for the version
}

constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

TEST(Fetcher, MediaArriveInTheOrderOfTheirUrlsSealedAndExact) {
  const TestServer server([](const TestConnection& client, const std::string& head) {
    client.send_body(png_like(100 + static_cast<std::size_t>(head[5] - '0')));
  });
  const auto fetcher = make_fetcher(options_for(server.port()));

  const auto media = fetcher->fetch(urls_of(server, {"/1", "/2", "/3", "/4", "/5"}), kTenant, {});

  ASSERT_TRUE(media) << media.error().message;
  ASSERT_EQ(media->size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const EncodedMedia& item = (*media)[i];
    EXPECT_EQ(bytes_of(item), png_like(101 + i));
    EXPECT_EQ(::lseek(item.fd.get(), 0, SEEK_END), static_cast<off_t>(item.size_bytes));
    EXPECT_LT(::pwrite(item.fd.get(), "x", 1, 0), 0);
  }
}

TEST(Fetcher, NoUrlsAreNoMedia) {
  const auto fetcher = make_fetcher(options_for(80));
  const auto media = fetcher->fetch({}, kTenant, {});
  ASSERT_TRUE(media);
  EXPECT_TRUE(media->empty());
}

TEST(Fetcher, EverythingThatTheFarEndMayDoIsOneError) {
  const TestServer server([](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /html")) return client.send_body("<!doctype html><p>no");
    if (head.starts_with("GET /gzip")) {
      return client.send_body("\x1f\x8b\x08 packed", "Content-Encoding: gzip\r\n");
    }
    if (head.starts_with("GET /empty")) return client.send_body("");
    if (head.starts_with("GET /internal")) return client.redirect("http://127.0.0.2/");
    if (head.starts_with("GET /file")) return client.redirect("file:///etc/passwd");
    client.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  });
  const std::uint16_t closed_port = TestServer([](const auto&, const auto&) {}).port();
  auto options = options_for(server.port());
  options.rules.urls.ports.insert(options.rules.urls.ports.end(), {80, closed_port});
  std::multiset<wire::Outcome> outcomes;
  options.on_outcome = [&](wire::Outcome outcome) { outcomes.insert(outcome); };
  const auto fetcher = make_fetcher(std::move(options));

  std::set<std::string> answers;
  for (const std::string& url : {
           server.url("a.example.com", "/html"),
           server.url("a.example.com", "/gzip"),
           server.url("a.example.com", "/empty"),
           server.url("a.example.com", "/internal"),
           server.url("a.example.com", "/file"),
           server.url("a.example.com", "/missing"),
           server.url("127.0.0.2"),
           server.url("[::1]"),
           server.url("localhost"),
           "http://a.example.com:" + std::to_string(closed_port) + "/",
           std::string("file:///etc/passwd"),
           std::string("nonsense"),
           std::string(),
           std::string("http://user@a.example.com/"),
           std::string("http://a.example.com:22/"),
       }) {
    const std::vector<RedactedUrl> urls{RedactedUrl(url)};
    const auto media = fetcher->fetch(urls, kTenant, {});
    ASSERT_FALSE(media) << url;
    const Error& error = media.error();
    answers.insert(std::string(to_string(error.code)) + " " + error.reason + " " + error.message +
                   error.param);
  }
  EXPECT_EQ(answers, std::set<std::string>{"invalid_argument media_url_unavailable media URL 1 "
                                           "cannot be used"});
  EXPECT_EQ(outcomes.size(), 15U) << "the operator's counters still tell them apart";
  EXPECT_EQ(outcomes.count(wire::Outcome::kAddressRefused), 3U);
  EXPECT_EQ(outcomes.count(wire::Outcome::kNotMedia), 3U);
}

TEST(Fetcher, TooLargeAndTooSlowAreErrorsOfTheirOwn) {
  const TestServer server([](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /large")) return client.send_body(png_like(2000));
    client.send("HTTP/1.1 200 OK\r\n\r\n");
    client.wait_until_client_closes();
  });
  auto options = options_for(server.port());
  options.limits.item_bytes_max = 1000;
  options.limits.total_timeout = milliseconds(150);
  const auto fetcher = make_fetcher(std::move(options));

  const auto large = fetcher->fetch(urls_of(server, {"/large"}), kTenant, {});
  const auto slow = fetcher->fetch(urls_of(server, {"/slow"}), kTenant, {});

  EXPECT_EQ(reason_of(large), "media_url_too_large");
  EXPECT_EQ(large.error().message, "media URL 1 has more than 1000 bytes");
  EXPECT_EQ(reason_of(slow), "media_url_timeout");
  EXPECT_EQ(slow.error().code, ErrorCode::kDeadlineExceeded);
}

TEST(Fetcher, BytesOfARequestAreBoundedTogether) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like(600)); });
  auto options = options_for(server.port());
  options.limits.item_bytes_max = 1000;
  options.limits.request_bytes_max = 1000;
  for (const int at_once : {1, 4}) {
    options.limits.fetches_per_request = at_once;
    const auto fetcher = make_fetcher(options);
    EXPECT_TRUE(fetcher->fetch(urls_of(server, {"/1"}), kTenant, {}));

    const auto media = fetcher->fetch(urls_of(server, {"/1", "/2"}), kTenant, {});

    ASSERT_FALSE(media);
    EXPECT_EQ(media.error().reason, "media_url_too_large");
    EXPECT_EQ(media.error().message, "the request's media URLs have more than 1000 bytes together");
  }
}

TEST(Fetcher, MoreUrlsThanTheLimitAreRefusedBeforeAnyIsFetched) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  const auto fetcher = make_fetcher(options_for(server.port()));

  const auto media =
      fetcher->fetch(urls_of(server, std::vector<std::string>(9, "/a")), kTenant, {});

  EXPECT_EQ(reason_of(media), "too_many_media_urls");
  EXPECT_EQ(server.n_connections(), 0U);
}

TEST(Fetcher, OneRefusedUrlMeansThatNoneIsFetched) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  const auto fetcher = make_fetcher(options_for(server.port()));
  auto urls = urls_of(server, {"/a"});
  urls.emplace_back("file:///etc/passwd");

  const auto media = fetcher->fetch(urls, kTenant, {});

  ASSERT_FALSE(media);
  EXPECT_EQ(media.error().message, "media URL 2 cannot be used");
  EXPECT_EQ(server.n_connections(), 0U);
}

/// Answers as soon as `n` connections wait, and remembers how many waited at most.
struct Gate {
  explicit Gate(int n) : n_needed(n) {}
  void pass(const TestConnection& client) {
    waiting.add();
    arrived.add();
    arrived.wait_for(n_needed);
    waiting.add(-1);
    client.send_body(png_like());
  }
  int n_needed;
  TestCounter arrived;
  TestCounter waiting;
};

TEST(Fetcher, FetchesOfOneRequestRunSeveralAtOnceAndNoMore) {
  Gate gate(2);
  const TestServer server(
      [&](const TestConnection& client, const std::string&) { gate.pass(client); });
  auto options = options_for(server.port());
  options.limits.fetches_per_request = 2;
  const auto fetcher = make_fetcher(std::move(options));

  EXPECT_TRUE(fetcher->fetch(urls_of(server, {"/1", "/2", "/3", "/4", "/5"}), kTenant, {}));

  EXPECT_EQ(gate.waiting.highest(), 2);
}

TEST(Fetcher, ATenantAtItsLimitWaitsAndLeavesTheOthersTheirPlaces) {
  TestCounter waiting;
  TestCounter released;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /slow")) {
      waiting.add();
      released.wait_for(1);
    }
    client.send_body(png_like());
  });
  auto options = options_for(server.port());
  options.limits.fetches_per_tenant = 2;
  const auto fetcher = make_fetcher(std::move(options));

  std::string first_reason;
  std::string second_reason;
  std::jthread first([&] {
    first_reason = reason_of(fetcher->fetch(urls_of(server, {"/slow", "/slow"}), kTenant, {}));
  });
  waiting.wait_for(2);
  std::stop_source stop;
  std::jthread second([&] {
    second_reason = reason_of(fetcher->fetch(urls_of(server, {"/x"}), kTenant, stop.get_token()));
  });
  EXPECT_TRUE(fetcher->fetch(urls_of(server, {"/y"}), kOther, {}));
  EXPECT_EQ(server.n_connections(), 3U) << "the tenant's third has no connection";

  released.add();
  first.join();
  second.join();
  EXPECT_EQ(first_reason, "fetched");
  EXPECT_EQ(second_reason, "fetched");
}

TEST(Fetcher, AStopRequestEndsTheWaitAndTheConnection) {
  TestCounter waiting;
  TestCounter closed;
  const TestServer server([&](const TestConnection& client, const std::string&) {
    waiting.add();
    client.wait_until_client_closes();
    closed.add();
  });
  const auto fetcher = make_fetcher(options_for(server.port()));
  std::stop_source stop;
  std::string reason;
  std::jthread request([&] {
    reason = reason_of(fetcher->fetch(urls_of(server, {"/a", "/b"}), kTenant, stop.get_token()));
  });
  waiting.wait_for(2);

  stop.request_stop();
  request.join();
  closed.wait_for(2);

  EXPECT_EQ(reason, "cancelled");
  EXPECT_EQ(reason_of(fetcher->fetch(urls_of(server, {"/a"}), kTenant, stop.get_token())),
            "cancelled");
}

TEST(Fetcher, AKilledFetcherCostsItsOwnRequestsAndIsReplaced) {
  TestCounter waiting;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /fast")) return client.send_body(png_like());
    waiting.add();
    client.wait_until_client_closes();
  });
  const auto fetcher = make_fetcher(options_for(server.port()));
  Result<std::vector<EncodedMedia>> slow = shutting_down_error();
  std::jthread request([&] { slow = fetcher->fetch(urls_of(server, {"/slow"}), kTenant, {}); });
  waiting.wait_for(1);
  const pid_t first_pid = fetcher->fetcher_pid();

  ASSERT_EQ(::kill(first_pid, SIGKILL), 0);
  request.join();

  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(slow.error().reason, "media_fetcher_unavailable");
  EXPECT_TRUE(fetcher->fetch(urls_of(server, {"/fast"}), kTenant, {}));
  EXPECT_NE(fetcher->fetcher_pid(), first_pid);
}

TEST(Fetcher, AForbiddenCallKillsTheFetcherRaisesAnAlarmAndCostsNoLaterRequest) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  const auto fetcher = make_fetcher(options_for(server.port()));
  const std::vector attack{RedactedUrl(server.url("starts-a-program.example.com"))};

  testing::internal::CaptureStderr();
  const auto media = fetcher->fetch(attack, kTenant, {});
  const auto later = fetcher->fetch(urls_of(server, {"/a"}), kTenant, {});
  const std::string log = testing::internal::GetCapturedStderr();

  EXPECT_EQ(reason_of(media), "media_fetcher_unavailable");
  EXPECT_EQ(reason_of(later), "fetched");
  EXPECT_NE(log.find("error fetcher_forbidden_call"), std::string::npos) << log;
}

TEST(Fetcher, NoFileOfTheSystemCanBeOpenedUnderLandlock) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  const auto fetcher = make_fetcher(options_for(server.port()));
  const std::vector attack{RedactedUrl(server.url("opens-a-file.example.com"))};

  // Were the file open, the host would have an address.
  EXPECT_EQ(reason_of(fetcher->fetch(attack, kTenant, {})),
            has_landlock() ? "media_url_unavailable" : "fetched");
}

TEST(Fetcher, ShutdownEndsEveryFetch) {
  TestCounter waiting;
  const TestServer server([&](const TestConnection& client, const std::string&) {
    waiting.add();
    client.wait_until_client_closes();
  });
  const auto fetcher = make_fetcher(options_for(server.port()));
  std::string reason;
  std::jthread request(
      [&] { reason = reason_of(fetcher->fetch(urls_of(server, {"/a"}), kTenant, {})); });
  waiting.wait_for(1);

  fetcher->shutdown();
  request.join();

  EXPECT_EQ(reason, "shutting_down");
  EXPECT_EQ(reason_of(fetcher->fetch(urls_of(server, {"/a"}), kTenant, {})), "shutting_down");
}

TEST(Fetcher, NoDescriptorAndNoProcessIsLeftBehind) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  const auto before = count_open_fds();
  pid_t pid = 0;
  {
    const auto fetcher = make_fetcher(options_for(server.port()));
    ASSERT_TRUE(fetcher->fetch(urls_of(server, {"/a", "/b"}), kTenant, {}));
    ASSERT_FALSE(fetcher->fetch(std::vector{RedactedUrl("nonsense")}, kTenant, {}));
    pid = fetcher->fetcher_pid();
  }
  EXPECT_EQ(count_open_fds(), before + 2) << "the test server's own two connections";
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(Fetcher, TheProgramThatIsShippedRefusesLoopback) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  auto options = options_for(server.port());
  options.dispatcher.fetcher_path = TESSERA_FETCHER;
  std::vector<wire::Outcome> outcomes;
  options.on_outcome = [&](wire::Outcome outcome) { outcomes.push_back(outcome); };
  const auto fetcher = make_fetcher(std::move(options));

  const auto media = fetcher->fetch(std::vector{RedactedUrl(server.url("127.0.0.1"))}, kTenant, {});

  EXPECT_EQ(reason_of(media), "media_url_unavailable");
  EXPECT_EQ(outcomes, std::vector{wire::Outcome::kAddressRefused});
  EXPECT_EQ(server.n_connections(), 0U);
}

TEST(Fetcher, AMissingProgramIsSaidAtStart) {
  auto options = options_for(80);
  options.dispatcher.fetcher_path = "/nonexistent/tessera-fetcher";
  EXPECT_EQ(reason_of(Fetcher::create(std::move(options))), "fetcher_not_found");
}

}  // namespace
}  // namespace tessera::fetch
