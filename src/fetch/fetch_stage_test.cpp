#include "fetch/fetch_stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>

#include "core/token_stream.h"
#include "fetch/test_server.h"

namespace tessera::fetch {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPatient{60'000};
constexpr TenantId kTenant{1};
constexpr TenantId kOther{2};

EncodedMedia file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return {std::move(fd), bytes.size()};
}

std::string bytes_of(const EncodedMedia& media) {
  std::string bytes(media.size_bytes, '\0');
  EXPECT_EQ(::pread(media.fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  return bytes;
}

FetcherOptions fetcher_options(std::uint16_t port) {
  FetcherOptions options;
  options.dispatcher = {TESSERA_LOOPBACK_FETCHER, milliseconds(0), milliseconds(1), kPatient};
  options.limits.total_timeout = options.limits.connect_timeout = kPatient;
  options.limits.low_speed_time = std::chrono::seconds(60);
  options.rules.urls = {.allow_http = true, .ports = {port}};
  options.rules.domains = DomainRules::public_internet();
  options.is_media = [](std::span<const std::byte>) { return true; };
  return options;
}

/// One request on its way; whoever sent it reads its end.
struct Sent {
  std::stop_source stop;
  std::shared_ptr<TokenStream> stream = std::make_shared<TokenStream>(stop);
  std::unique_ptr<InFlight> request;

  std::optional<Error> end() { return std::get<StreamEnd>(*stream->pop({})).error; }
};

/// A stage with every source; what it hands on waits in `next_`.
class FetchStageTest : public ::testing::Test {
 protected:
  FetchStageTest() {
    std::string name = ::testing::TempDir() + "tessera-fetch-stage-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    std::ofstream(folder_ / "cat.png", std::ios::binary) << "a cat";
    root_.emplace(std::move(*MediaRoot::open(folder_)));
    options_.queue_capacity = 16;
    options_.sources.root = &*root_;
    options_.sources.upload = [](TenantId tenant, std::string_view id) -> Result<EncodedMedia> {
      if (tenant == kTenant && id == "1") return file_of("an upload");
      return make_error(ErrorCode::kNotFound, "upload_not_found", "no such file");
    };
  }
  ~FetchStageTest() override { fs::remove_all(folder_); }

  void start(TestServer::Handler handler) {
    server_ = std::make_unique<TestServer>(std::move(handler));
    fetcher_ = std::move(*Fetcher::create(fetcher_options(server_->port())));
    options_.sources.fetcher = fetcher_.get();
    start();
  }
  void start() {
    stage_ = std::make_unique<FetchStage>(
        options_, clock_,
        [this](std::unique_ptr<InFlight> request) { (void)next_.try_push(std::move(request)); });
  }

  std::string web(const std::string& target) const { return server_->url("a.example.com", target); }

  /// A request whose media are these URLs; one that is empty has come in the body.
  Sent make(const std::vector<std::string>& urls, TenantId tenant = kTenant) {
    Sent sent;
    Request request;
    for (const std::string& url : urls) {
      const std::string field = "image " + std::to_string(request.media.size());
      if (url.empty()) {
        request.media.push_back(file_of("in the body"));
      } else {
        request.pending.push_back({request.media.size(), RedactedUrl(url)});
        request.media.push_back({UniqueFd(), 0, field});
      }
    }
    sent.request = std::make_unique<InFlight>(
        RequestId{1}, tenant, std::move(request), limits_, Trace(clock_.now()),
        clock_.now() + std::chrono::hours(1), sent.stop.get_token(), sent.stream);
    return sent;
  }
  /// The error that a request of these URLs ends with.
  Error refusal(const std::vector<std::string>& urls, TenantId tenant = kTenant) {
    Sent sent = make(urls, tenant);
    EXPECT_TRUE(stage_->try_submit(std::move(sent.request)));
    return sent.end().value_or(Error{});
  }
  std::vector<std::string> fetched(const std::vector<std::string>& urls) {
    Sent sent = make(urls);
    EXPECT_TRUE(stage_->try_submit(std::move(sent.request)));
    const auto request = next();
    std::vector<std::string> bytes;
    for (const EncodedMedia& media : request->request.media) bytes.push_back(bytes_of(media));
    EXPECT_TRUE(request->request.pending.empty());
    request->end(std::nullopt, clock_.now());
    return bytes;
  }
  std::unique_ptr<InFlight> next() { return *next_.pop({}); }

  fs::path folder_;
  std::optional<MediaRoot> root_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Fetcher> fetcher_;
  SteadyClock clock_;
  Limits limits_;
  FetchStageOptions options_;
  BoundedQueue<std::unique_ptr<InFlight>> next_{32};
  std::unique_ptr<FetchStage> stage_;
};

TEST_F(FetchStageTest, MediaOfEverySourceStandsWhereItsUrlStood) {
  start([](const TestConnection& client, const std::string& head) {
    client.send_body(head.substr(4, 2));
  });

  EXPECT_EQ(fetched({web("/a"), "", "tessera-file:1", "file:///cat.png", web("/b")}),
            (std::vector<std::string>{"/a", "in the body", "an upload", "a cat", "/b"}));
}

TEST_F(FetchStageTest, TimeIsCountedAsFetchingAndFieldsStay) {
  start();
  Sent sent = make({"file:///cat.png"});

  ASSERT_TRUE(stage_->try_submit(std::move(sent.request)));
  const auto request = next();

  EXPECT_EQ(request->trace.stage(), Stage::kFetch);
  EXPECT_GT(request->trace.in(Stage::kFetchWait), Duration{});
  EXPECT_EQ(request->request.media[0].field, "image 0");
  EXPECT_NE(request->media_holds, nullptr);
  request->end(std::nullopt, clock_.now());
}

TEST_F(FetchStageTest, SchemesAreReadAsLibcurlReadsThem) {
  start([](const TestConnection& client, const std::string&) { client.send_body("x"); });
  std::string url = web("/a");
  url.replace(0, 4, "HtTp");

  EXPECT_EQ(fetched({url, "TESSERA-FILE:1"}), (std::vector<std::string>{"x", "an upload"}));
}

TEST_F(FetchStageTest, WhatCannotBeHadNamesItsFieldAndNothingElse) {
  start([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  });

  const std::tuple<std::string, std::string> refused[] = {
      {web("/secret"), "media_url_unavailable"},   {"file:///secret.png", "media_url_unavailable"},
      {"file:///../cat", "media_url_unavailable"}, {"tessera-file:secret", "upload_not_found"},
      {"secret:x", "media_url_unavailable"},
  };
  for (const auto& [url, reason] : refused) {
    const Error error = refusal({"", url});
    EXPECT_EQ(error.reason, reason) << url;
    EXPECT_EQ(error.param, "image 1") << url;
    EXPECT_EQ(error.message.find("secret"), std::string::npos) << error.message;
  }
}

TEST_F(FetchStageTest, AnotherTenantsUploadIsAsUnknownAsNone) {
  start();

  const Error others = refusal({"tessera-file:1"}, kOther);
  const Error unknown = refusal({"tessera-file:2"}, kOther);

  EXPECT_EQ(others.reason, unknown.reason);
  EXPECT_EQ(others.message, unknown.message);
}

TEST_F(FetchStageTest, SourcesThatTheOperatorDoesNotHaveAreRefused) {
  options_.sources = {};
  start();

  for (const char* url : {"https://a.example.com/", "file:///cat.png", "tessera-file:1"}) {
    EXPECT_EQ(refusal({url}).reason, "media_url_unavailable") << url;
  }
}

TEST_F(FetchStageTest, LimitsForImagesHoldWhereverTheyComeFrom) {
  limits_.image_bytes_max = 4;
  limits_.videos_max = 0;
  start([](const TestConnection& client, const std::string&) { client.send_body("12345"); });

  EXPECT_EQ(refusal({web("/a")}).reason, "image_too_large");
  EXPECT_EQ(refusal({"tessera-file:1"}).reason, "image_too_large");
  EXPECT_EQ(refusal({"file:///cat.png"}).reason, "media_url_too_large");
}

TEST_F(FetchStageTest, UrlsOfOneRequestShareALimit) {
  options_.request_bytes_max = 12;
  start([](const TestConnection& client, const std::string&) { client.send_body("12345678"); });

  EXPECT_EQ(fetched({"file:///cat.png", "file:///cat.png"}).size(), 2U);
  EXPECT_EQ(refusal({"tessera-file:1", "file:///cat.png"}).reason, "media_url_too_large");
  EXPECT_EQ(refusal({web("/a"), "file:///cat.png"}).reason, "media_url_too_large");
}

TEST_F(FetchStageTest, RequestsThatHoldMediaAreBoundedTogether) {
  limits_.image_bytes_max = options_.request_bytes_max = options_.limits.held_bytes_max;
  lift_tenant_limits(options_.limits);
  limits_.videos_max = 0;
  std::promise<void> opened;
  std::promise<void> go_on;
  options_.sources.upload = [&](TenantId, std::string_view) {
    opened.set_value();
    go_on.get_future().wait();
    return Result<EncodedMedia>(file_of("x"));
  };
  start();
  Sent first = make({"tessera-file:1", "file:///cat.png"});
  ASSERT_TRUE(stage_->try_submit(std::move(first.request)));
  opened.get_future().wait();

  const Error error = refusal({"file:///cat.png"});
  EXPECT_EQ(error.reason, "server_busy");
  EXPECT_GT(error.retry_after.count(), 0);

  go_on.set_value();
  const auto held = next();  // the bytes of its cat are left
  EXPECT_EQ(refusal({"file:///cat.png"}).reason, "server_busy");
  held->media_holds.reset();
  EXPECT_EQ(fetched({"file:///cat.png"}).size(), 1U);
  held->end(std::nullopt, clock_.now());
}

TEST_F(FetchStageTest, UploadsAreNotCountedTwice) {
  limits_.image_bytes_max = options_.request_bytes_max = options_.limits.held_bytes_max;
  lift_tenant_limits(options_.limits);
  limits_.videos_max = 0;
  options_.sources.upload = [](TenantId, std::string_view) {
    return Result<EncodedMedia>(file_of("x"));
  };
  start();
  std::vector<std::unique_ptr<InFlight>> all;
  for (int i = 0; i < 3; ++i) {
    Sent one = make({"tessera-file:1"});
    ASSERT_TRUE(stage_->try_submit(std::move(one.request)));
    all.push_back(next());
  }

  EXPECT_EQ(fetched({"file:///cat.png"}).size(), 1U);
  for (auto& request : all) request->end(std::nullopt, clock_.now());
}

TEST_F(FetchStageTest, ARequestKeepsItsPlaceUntilItsMediaIsDecoded) {
  options_.sources.upload = [](TenantId, std::string_view) {
    return Result<EncodedMedia>(file_of("x"));
  };
  start();
  std::vector<std::unique_ptr<InFlight>> all;
  for (std::size_t i = 0; i < kTenantRequestsMax; ++i) {
    Sent one = make({"tessera-file:1"});
    ASSERT_TRUE(stage_->try_submit(std::move(one.request)));
    all.push_back(next());
  }

  Sent one_more = make({"tessera-file:1"});
  const auto taken = stage_->try_submit(std::move(one_more.request));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().reason, "tenant_busy");
  one_more.request->end(std::nullopt, clock_.now());  // NOLINT(bugprone-use-after-move): untouched
  all.front()->fetch_holds.reset();
  EXPECT_EQ(fetched({"tessera-file:1"}).size(), 1U);
  for (auto& request : all) request->end(std::nullopt, clock_.now());
}

TEST_F(FetchStageTest, OneTenantCannotHoldTheStage) {
  std::latch all_here(kTenantRequestsMax);
  start([&](const TestConnection& client, const std::string&) {
    all_here.count_down();
    client.wait_until_client_closes();
  });
  std::vector<Sent> waiting;
  for (std::size_t i = 0; i < kTenantRequestsMax; ++i) {
    waiting.push_back(make({web("/a")}));
    ASSERT_TRUE(stage_->try_submit(std::move(waiting.back().request)));
  }
  all_here.wait();

  Sent one_more = make({"file:///cat.png"});
  const auto refused = stage_->try_submit(std::move(one_more.request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tenant_busy");
  EXPECT_GT(refused.error().retry_after.count(), 0);
  one_more.request->end(refused.error(), clock_.now());

  Sent others = make({"file:///cat.png"}, kOther);
  ASSERT_TRUE(stage_->try_submit(std::move(others.request)));
  next()->end(std::nullopt, clock_.now());

  for (Sent& sent : waiting) sent.stop.request_stop();
  for (Sent& sent : waiting) EXPECT_EQ(sent.end()->code, ErrorCode::kCancelled);
  EXPECT_EQ(fetched({"file:///cat.png"}).size(), 1U);
}

TEST_F(FetchStageTest, ShutdownLeavesNoRequestWithoutItsEnd) {
  std::latch serving(kLocalThreads);
  std::promise<void> go_on;
  const std::shared_future<void> going_on = go_on.get_future().share();
  options_.sources.upload = [&](TenantId, std::string_view) -> Result<EncodedMedia> {
    if (!serving.try_wait()) serving.count_down();
    going_on.wait();
    return make_error(ErrorCode::kInternal, "internal_error", "enough");
  };
  start();
  std::vector<Sent> sent;
  for (std::size_t i = 0; i < kTenantRequestsMax; ++i) {
    sent.push_back(make({"tessera-file:1"}));
    ASSERT_TRUE(stage_->try_submit(std::move(sent.back().request)));
  }
  serving.wait();
  std::jthread stopper([this] { stage_->shutdown(); });

  go_on.set_value();
  stopper.join();

  for (Sent& each : sent) EXPECT_TRUE(each.end());
}

TEST_F(FetchStageTest, ShutdownGivesUpWhatRunsAndRefusesWhatComes) {
  std::promise<void> connected;
  start([&](const TestConnection& client, const std::string&) {
    connected.set_value();
    client.wait_until_client_closes();
  });
  Sent running = make({web("/a")});
  ASSERT_TRUE(stage_->try_submit(std::move(running.request)));
  connected.get_future().wait();

  stage_->shutdown();

  EXPECT_EQ(running.end()->reason, "shutting_down");
  Sent late = make({"file:///cat.png"});
  const auto refused = stage_->try_submit(std::move(late.request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "shutting_down");
  late.request->end(refused.error(), clock_.now());
}

}  // namespace
}  // namespace tessera::fetch
