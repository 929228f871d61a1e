#include "fetch/fetch_rules.h"

#include <gtest/gtest.h>

namespace tessera::fetch {
namespace {

TEST(FetchRules, ArriveOnTheOtherSideAsTheyWere) {
  FetchRules rules;
  rules.urls = {.allow_http = true, .ports = {443, 8443}};
  rules.domains = *DomainRules::only(std::vector<std::string>{"a.example.com", "*.example.net"});
  rules.denied_addresses = {*parse_range("8.8.0.0/16"), *parse_range("2606:4700::/32")};

  const auto message = to_wire(rules);
  ASSERT_TRUE(message);
  const auto arrived = from_wire(*message);

  ASSERT_TRUE(arrived);
  EXPECT_TRUE(arrived->urls.allow_http);
  EXPECT_EQ(arrived->urls.ports, rules.urls.ports);
  EXPECT_EQ(arrived->domains.entries(), rules.domains.entries());
  EXPECT_FALSE(arrived->domains.is_public_internet());
  EXPECT_EQ(arrived->denied_addresses, rules.denied_addresses);
}

TEST(FetchRules, ThePublicInternetArrivesAsItself) {
  FetchRules rules;
  rules.domains = DomainRules::public_internet();
  EXPECT_TRUE(from_wire(*to_wire(rules))->domains.is_public_internet());
}

TEST(FetchRules, NothingIsAllowedByDefaultOnEitherSide) {
  const auto arrived = from_wire(*to_wire(FetchRules{}));
  ASSERT_TRUE(arrived);
  EXPECT_FALSE(arrived->urls.allow_http);
  EXPECT_FALSE(arrived->domains.allows("a.example.com"));
}

TEST(FetchRules, MoreThanAMessageCarriesIsAnError) {
  FetchRules rules;
  rules.urls.ports.assign(wire::kPortsMax + 1, 443);
  EXPECT_EQ(to_wire(rules).error().reason, "remote_rules_too_many");

  rules = {};
  rules.denied_addresses.resize(wire::kRangesMax + 1);
  EXPECT_EQ(to_wire(rules).error().reason, "remote_rules_too_many");
}

TEST(FetchRules, CountsThatDoNotFitAreRefused) {
  wire::Configure message;
  message.n_ports = wire::kPortsMax + 1;
  EXPECT_FALSE(from_wire(message));

  message = {};
  message.n_domains = ~0U;
  EXPECT_FALSE(from_wire(message));

  message = {};
  message.n_ranges = wire::kRangesMax + 1;
  EXPECT_FALSE(from_wire(message));

  message = {};
  message.n_ranges = 1;
  message.ranges[0].prefix_bits = 33;
  EXPECT_FALSE(from_wire(message));

  message = {};
  message.n_domains = 1;
  message.domains[0].fill('a');
  EXPECT_FALSE(from_wire(message));
}

}  // namespace
}  // namespace tessera::fetch
