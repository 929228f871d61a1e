// https: as the fetcher does it, whole: a process under its confinement against servers on
// loopback.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "fetch/fetcher.h"
#include "fetch/program_link.h"
#include "fetch/tls_test_server.h"

namespace tessera::fetch {
namespace {

using std::chrono::milliseconds;
using wire::Outcome;

constexpr milliseconds kPatient{60'000};
constexpr TenantId kTenant{1};

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    const std::filesystem::path program = link_program("tls", TESSERA_LOOPBACK_FETCHER);
    std::ofstream(program.string() + ".pem") << trusted_.pem();
    options_.dispatcher = {program, milliseconds(0), milliseconds(1), kPatient};
    options_.limits.total_timeout = options_.limits.connect_timeout = kPatient;
    options_.limits.low_speed_time = std::chrono::seconds(60);
    options_.rules.domains = DomainRules::public_internet();
    options_.on_outcome = [this](Outcome outcome) { outcomes_.insert(outcome); };
    options_.is_media = [](std::span<const std::byte> head) {
      return head.size() >= 4 && std::memcmp(head.data(), "\x89PNG", 4) == 0;
    };
  }

  /// What a client learns of it.
  std::string fetch(const TlsTestServer& server, std::string_view host) {
    options_.rules.urls.ports = {server.port()};
    const auto fetcher = Fetcher::create(options_);
    EXPECT_TRUE(fetcher);
    const std::vector<RedactedUrl> urls{RedactedUrl(server.url(host))};
    const auto media = (*fetcher)->fetch(urls, kTenant, {});
    if (!media) return media.error().reason + ": " + media.error().message;
    return std::to_string(media->front().size_bytes) + " bytes";
  }

  const TestAuthority trusted_;
  FetcherOptions options_;
  std::multiset<Outcome> outcomes_;
};

constexpr const char* kRefused = "media_url_unavailable: media URL 1 cannot be used";

TEST_F(TlsTest, AFileOfAHostThatProvesItsNameArrives) {
  const TlsTestServer server(trusted_.issue("DNS:cdn.example.com"), png_like(5000));

  EXPECT_EQ(fetch(server, "cdn.example.com"), "5000 bytes");
  EXPECT_EQ(outcomes_, std::multiset{Outcome::kFetched});
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefusedBeforeARequestIsSent) {
  for (const char* names : {"DNS:other.example.com", "DNS:example.com", "DNS:*.other.example.com",
                            "DNS:cdn.example.com.evil.org", "IP:127.0.0.1"}) {
    const TlsTestServer server(trusted_.issue(names), png_like());

    EXPECT_EQ(fetch(server, "cdn.example.com"), kRefused) << names;
    EXPECT_EQ(server.n_connections(), 1U) << names;
    EXPECT_EQ(server.n_requests(), 0) << names;
  }
  EXPECT_EQ(outcomes_.count(Outcome::kNetworkFailed), 5U) << "the operator's counter";
}

TEST_F(TlsTest, ACertificateOfAnUnknownAuthorityIsRefusedBeforeARequestIsSent) {
  const TestAuthority unknown;
  const TlsTestServer server(unknown.issue("DNS:cdn.example.com"), png_like());

  EXPECT_EQ(fetch(server, "cdn.example.com"), kRefused);
  EXPECT_EQ(server.n_connections(), 1U);
  EXPECT_EQ(server.n_requests(), 0);
}

TEST_F(TlsTest, AnExpiredCertificateIsRefusedBeforeARequestIsSent) {
  const TlsTestServer server(trusted_.issue("DNS:cdn.example.com", Validity::kExpired), png_like());

  EXPECT_EQ(fetch(server, "cdn.example.com"), kRefused);
  EXPECT_EQ(server.n_requests(), 0);
}

}  // namespace
}  // namespace tessera::fetch
