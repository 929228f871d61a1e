#include "fetch/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "fetch/loopback_hooks.h"
#include "fetch/test_server.h"

namespace tessera::fetch {
namespace {

using wire::Outcome;

// Longer than any test may take: no test waits for it unless it fails.
constexpr std::uint32_t kPatientMs = 60'000;
constexpr std::size_t kBytesMax = 10'000;

/// Runs one transfer to its end, as the fetcher does.
struct Fetched {
  Outcome outcome{};
  std::string body;
};

class TransferTest : public ::testing::Test {
 protected:
  TransferTest() {
    EXPECT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
    order_.bytes_max = kBytesMax;
    order_.header_bytes_max = 4096;
    order_.redirects_max = 3;
    order_.connect_timeout_ms = order_.total_timeout_ms = kPatientMs;
    order_.low_speed_seconds = kPatientMs / 1000;
    rules_.urls.allow_http = true;
    rules_.domains = DomainRules::public_internet();
  }
  ~TransferTest() override { curl_global_cleanup(); }

  Fetched fetch(const std::string& url) {
    order_.n_url_bytes = static_cast<std::uint32_t>(url.size());
    std::ranges::copy(url, order_.url.begin());
    const auto memfd = sandbox::create_memfd("test", kBytesMax);
    auto region = sandbox::MappedRegion::map_writable(memfd->get(), kBytesMax);
    Transfer transfer(rules_, hooks_, order_, std::move(*region));
    CURLM* multi = curl_multi_init();
    for (bool more = true; more;) {
      CURL* easy = transfer.start_hop();
      if (easy == nullptr) break;
      more = transfer.finish_hop(run(multi, easy));
    }
    curl_multi_cleanup(multi);
    Fetched fetched{transfer.outcome(), {}};
    if (fetched.outcome == Outcome::kFetched) {
      fetched.body.resize(transfer.size_bytes());
      EXPECT_EQ(::pread(memfd->get(), fetched.body.data(), fetched.body.size(), 0),
                static_cast<ssize_t>(fetched.body.size()));
    }
    return fetched;
  }

  /// Fetches from a server that the rules allow.
  Fetched fetch_from(const TestServer& server, std::string_view target = "/a.png") {
    rules_.urls.ports = {80, 443, server.port()};
    return fetch(server.url("cdn.example.com", target));
  }

  FetchRules rules_;
  FetchHooks hooks_ = loopback_hooks();
  wire::Order order_;

 private:
  static CURLcode run(CURLM* multi, CURL* easy) {
    EXPECT_EQ(curl_multi_add_handle(multi, easy), CURLM_OK);
    CURLcode result = CURLE_OK;
    for (int n_running = 1; n_running > 0;) {
      curl_multi_perform(multi, &n_running);
      int n_left = 0;
      if (const CURLMsg* message = curl_multi_info_read(multi, &n_left)) {
        result = message->data.result;
      }
      if (n_running > 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    curl_multi_remove_handle(multi, easy);
    return result;
  }
};

TEST_F(TransferTest, BodyOfAnAllowedHostArrivesWhole) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send_body(png_like(kBytesMax));
  });

  const Fetched fetched = fetch_from(server);

  EXPECT_EQ(fetched.outcome, Outcome::kFetched);
  EXPECT_EQ(fetched.body, png_like(kBytesMax));
}

TEST_F(TransferTest, RequestSaysNothingAboutUs) {
  std::string seen;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    seen = head;
    client.send_body(png_like());
  });

  fetch_from(server, "/a/b.png?x=1#fragment");

  EXPECT_EQ(seen,
            "GET /a/b.png?x=1 HTTP/1.1\r\nHost: cdn.example.com:" + std::to_string(server.port()) +
                "\r\nUser-Agent: tessera\r\nAccept: */*\r\n\r\n");
}

TEST_F(TransferTest, EveryWayToWriteAnInternalAddressIsRefusedBeforeAConnection) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  rules_.urls.ports = {80, 443, server.port()};
  hooks_ = {};  // the real rules
  for (const char* host :
       {"127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "[::1]",
        "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
        "169.254.169.254", "10.0.0.1", "100.64.0.1", "[fe80::1]", "[fd00::1]"}) {
    EXPECT_EQ(fetch(server.url(host)).outcome, Outcome::kAddressRefused) << host;
  }
  EXPECT_EQ(server.n_connections(), 0U);
}

TEST_F(TransferTest, NamesOfInternalAddressesAreRefusedBeforeAConnection) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  rules_.urls.ports = {80, 443, server.port()};
  const std::map<std::string, std::vector<std::string>, std::less<>> names{
      {"two.example.com", {"127.0.0.2"}},
      {"ten.example.com", {"10.0.0.1"}},
      {"cloud.example.com", {"169.254.169.254"}},
      {"six.example.com", {"::1"}},
      {"mapped.example.com", {"::ffff:127.0.0.1"}},
      {"nat64.example.com", {"64:ff9b::a00:1"}},
      {"several.example.com", {"127.0.0.2", "::1", "192.168.1.1"}},
  };
  hooks_.resolve = [&](std::string_view host) { return names.find(host)->second; };
  for (const auto& [name, addresses] : names) {
    EXPECT_EQ(fetch(server.url(name)).outcome, Outcome::kAddressRefused) << name;
  }
  EXPECT_EQ(server.n_connections(), 0U);
}

TEST_F(TransferTest, ANameThatChangesItsAddressGainsNothing) {
  // The first answer is public, the second internal; the page sends the client back to itself.
  const TestServer server([](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /a.png")) return client.redirect("/secret");
    client.send_body(png_like());
  });
  int n_asked = 0;
  hooks_.resolve = [&](std::string_view) -> std::vector<std::string> {
    return {n_asked++ == 0 ? "127.0.0.1" : "127.0.0.2"};
  };

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kAddressRefused);
  EXPECT_EQ(n_asked, 2) << "asked once for each hop, never twice";
  EXPECT_EQ(server.n_connections(), 1U);
}

TEST_F(TransferTest, AnInternalAddressBesideAPublicOneIsNotTried) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  hooks_.resolve = [](std::string_view) {
    return std::vector<std::string>{"127.0.0.2", "127.0.0.1"};
  };

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kFetched);
  EXPECT_EQ(server.n_connections(), 1U);
}

TEST_F(TransferTest, OperatorsRangesAreRefused) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  hooks_.judge = [](const sockaddr&, std::span<const AddressRange> denied) {
    return denied.empty() ? AddressVerdict::kPublic : AddressVerdict::kOperatorDenied;
  };
  EXPECT_EQ(fetch_from(server).outcome, Outcome::kFetched);

  rules_.denied_addresses = {*parse_range("9.9.9.9")};
  EXPECT_EQ(fetch_from(server).outcome, Outcome::kAddressRefused);
}

TEST_F(TransferTest, ThreeRedirectsAreFollowedAndAFourthIsNot) {
  const TestServer server([](const TestConnection& client, const std::string& head) {
    const char hops_left = head[5];  // "GET /3"
    if (hops_left == '0') return client.send_body(png_like());
    client.redirect("/" + std::string(1, static_cast<char>(hops_left - 1)));
  });

  EXPECT_EQ(fetch_from(server, "/3").outcome, Outcome::kFetched);
  EXPECT_EQ(fetch_from(server, "/4").outcome, Outcome::kRedirectsTooMany);
}

TEST_F(TransferTest, RedirectsToWhatIsNotAllowedAreNotFollowed) {
  std::string location;
  const TestServer server([&](const TestConnection& client, const std::string&) {
    client.redirect(location, "307 Temporary Redirect");
  });
  const std::map<std::string, Outcome> cases{
      {"file:///etc/passwd", Outcome::kUrlRefused},
      {"gopher://cdn.example.com/", Outcome::kUrlRefused},
      {"http://cdn.example.com:22/", Outcome::kUrlRefused},
      {"http://user@cdn.example.com/", Outcome::kUrlRefused},
      {"http://localhost/", Outcome::kUrlRefused},
      {"http://127.0.0.2/", Outcome::kAddressRefused},
      {"http://[::1]/", Outcome::kAddressRefused},
      {"http://169.254.169.254/latest/meta-data/", Outcome::kAddressRefused},
      {"http://2130706434/", Outcome::kAddressRefused},
      {"/a\r\nLocation: /b", Outcome::kUrlRefused},  // two of them
      {"", Outcome::kUrlRefused},
  };
  for (const auto& [to, outcome] : cases) {
    location = to;
    EXPECT_EQ(fetch_from(server).outcome, outcome) << to;
  }
}

TEST_F(TransferTest, RedirectsToADomainThatIsNotListedAreNotFollowed) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.redirect("http://other.example.org/");
  });
  rules_.domains = *DomainRules::only(std::vector<std::string>{"*.example.com"});

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kDomainRefused);
}

TEST_F(TransferTest, ADomainThatIsNotListedIsNotConnectedTo) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  rules_.domains = *DomainRules::only(std::vector<std::string>{"other.example.org"});

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kDomainRefused);
  EXPECT_EQ(server.n_connections(), 0U);
}

TEST_F(TransferTest, OnlyStatus200IsMedia) {
  std::string status;
  const TestServer server([&](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 " + status + "\r\nContent-Length: 100\r\n\r\n" + png_like());
  });
  for (const char* text : {"404 Not Found", "403 Forbidden", "500 Oops", "206 Partial Content",
                           "201 Created", "304 Not Modified", "401 Unauthorized"}) {
    status = text;
    EXPECT_EQ(fetch_from(server).outcome, Outcome::kStatusRefused) << text;
  }
}

TEST_F(TransferTest, ABodyAboveTheLimitIsRefusedByItsSaidLength) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n");
    client.wait_until_client_closes();
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTooLarge);
}

TEST_F(TransferTest, AnEndlessBodyIsCutAtTheLimit) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\n\r\n");
    while (client.send(png_like(1000))) {
    }
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTooLarge);
}

TEST_F(TransferTest, AnEndlessBodyInPartsIsCutAtTheLimit) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (client.send("64\r\n" + png_like(100) + "\r\n")) {
    }
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTooLarge);
}

TEST_F(TransferTest, ALargePageOfAnErrorIsNoDifferentFromASmallOne) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 404 Not Found\r\nContent-Length: 999999999\r\n\r\n");
    while (client.send(png_like(1000))) {
    }
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kStatusRefused);
}

TEST_F(TransferTest, HeadersAboveTheLimitAreRefused) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\n");
    while (client.send("X-Padding: " + std::string(500, 'x') + "\r\n")) {
    }
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kHeadersTooLarge);
}

TEST_F(TransferTest, EndlessInterimAnswersAreRefused) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    while (client.send("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n")) {
    }
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kHeadersTooLarge);
}

TEST_F(TransferTest, AServerThatStopsSendingTimesOut) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx");
    client.wait_until_client_closes();
  });
  order_.total_timeout_ms = 100;

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTimeout);
}

TEST_F(TransferTest, AServerThatSendsTooSlowlyTimesOut) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx");
    client.wait_until_client_closes();
  });
  order_.low_speed_bytes_per_second = 10 * 1024;
  order_.low_speed_seconds = 1;

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTimeout);
}

TEST_F(TransferTest, TheTimeOfAllHopsTogetherIsBounded) {
  const TestServer server([](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /a.png")) return client.redirect("/b");
    client.wait_until_client_closes();
  });
  order_.total_timeout_ms = 200;

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kTimeout);
}

TEST_F(TransferTest, ACompressedBodyIsNotUnpacked) {
  const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    EXPECT_EQ(head.find("Accept-Encoding"), std::string::npos);
    client.send_body(packed, "Content-Encoding: gzip\r\n");
  });

  const Fetched fetched = fetch_from(server);

  EXPECT_EQ(fetched.outcome, Outcome::kFetched);
  EXPECT_EQ(fetched.body, packed);
}

TEST_F(TransferTest, CookiesAndCredentialsAreNotCarriedFromHopToHop) {
  std::string second;
  const TestServer server([&](const TestConnection& client, const std::string& head) {
    if (head.starts_with("GET /a.png")) {
      client.send(
          "HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    second = head;
    client.send_body(png_like());
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kFetched);
  EXPECT_EQ(second.find("Cookie"), std::string::npos);
  EXPECT_EQ(second.find("Referer"), std::string::npos);
  EXPECT_EQ(server.n_connections(), 2U) << "a kept connection would not be checked again";
}

TEST_F(TransferTest, AServerWithoutTlsIsNoHttpsServer) {
  const TestServer server(
      [](const TestConnection& client, const std::string&) { client.send_body(png_like()); });
  rules_.urls.ports = {server.port()};

  const std::string url = "https://cdn.example.com:" + std::to_string(server.port()) + "/";

  EXPECT_EQ(fetch(url).outcome, Outcome::kNetworkFailed);
}

TEST_F(TransferTest, WhatIsNoHttpIsRefused) {
  const TestServer server([](const TestConnection& client, const std::string&) {
    client.send("220 mail.example.com ESMTP\r\n");
  });

  EXPECT_EQ(fetch_from(server).outcome, Outcome::kNetworkFailed);
}

TEST_F(TransferTest, AClosedPortAndAnUnknownNameAreTheirOwnOutcomes) {
  const std::uint16_t closed_port = TestServer([](const auto&, const auto&) {}).port();
  rules_.urls.ports = {closed_port};
  const std::string url = "http://cdn.example.com:" + std::to_string(closed_port) + "/";
  EXPECT_EQ(fetch(url).outcome, Outcome::kNetworkFailed);

  hooks_.resolve = [](std::string_view) { return std::vector<std::string>{}; };
  EXPECT_EQ(fetch(url).outcome, Outcome::kNotResolved);
}

TEST_F(TransferTest, AUrlThatTheServerShouldNotHaveSentIsRefusedHereToo) {
  EXPECT_EQ(fetch("file:///etc/passwd").outcome, Outcome::kUrlRefused);
  EXPECT_EQ(fetch("").outcome, Outcome::kUrlRefused);
  rules_.urls.allow_http = false;
  EXPECT_EQ(fetch("http://cdn.example.com/").outcome, Outcome::kUrlRefused);
}

}  // namespace
}  // namespace tessera::fetch
