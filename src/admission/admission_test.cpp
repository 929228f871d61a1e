#include "admission/admission.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

namespace tessera::admission {
namespace {

const SteadyClock kClock;

Request valid_request() {
  Request request;
  request.messages.push_back({Role::kUser, {TextPart{"hello"}}});
  return request;
}

TEST(Admission, AdmitsUpToTheLimitAndSaysBothNumbersAbove) {
  Limits limits;
  limits.requests_max = 2;
  Admission admission(limits, kClock);
  const auto first = admission.admit(TenantId{0});
  const auto second = admission.admit(TenantId{1});

  const auto third = admission.admit(TenantId{0});

  EXPECT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(third.error().reason, "server_busy");
  EXPECT_GE(third.error().retry_after.count(), 1);
  EXPECT_EQ(third.error().message, "2 requests are running, the limit is 2; try again later");
}

TEST(Admission, AdmitsATenantUpToItsOwnLimitAndOthersBeyond) {
  Limits limits;
  limits.tenant_requests_max = 1;
  Admission admission(limits, kClock);
  std::optional<Admission::Ticket> first(admission.admit(TenantId{1}).value());

  const auto second = admission.admit(TenantId{1});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(second.error().reason, "tenant_busy");
  EXPECT_EQ(second.error().message,
            "1 requests with this key are running, the limit is 1; try again later");
  EXPECT_TRUE(admission.admit(TenantId{2}));

  first.reset();
  EXPECT_TRUE(admission.admit(TenantId{1}));
}

// Four at once that take twenty seconds each: one ends every five.
TEST(Admission, SaysWhenAPlaceWillBeFree) {
  ManualClock clock;
  Limits limits;
  limits.requests_max = 4;
  limits.tenant_requests_max = 2;
  Admission admission(limits, clock);
  std::vector<Admission::Ticket> running;
  const auto fill = [&] {
    for (const std::uint32_t tenant : {1U, 1U, 2U, 2U}) {
      running.push_back(admission.admit(TenantId{tenant}).value());
    }
  };
  fill();
  EXPECT_EQ(admission.admit(TenantId{3}).error().retry_after.count(), 1) << "nobody knows yet";
  clock.advance(std::chrono::seconds(20));
  running.clear();
  fill();

  EXPECT_EQ(admission.admit(TenantId{3}).error().retry_after.count(), 5);
  running.pop_back();
  running.pop_back();
  const auto tenant_busy = admission.admit(TenantId{1});
  ASSERT_EQ(tenant_busy.error().reason, "tenant_busy");
  EXPECT_GT(tenant_busy.error().retry_after.count(), 5) << "its own two take longer to end";

  clock.advance(std::chrono::hours(1));
  running.clear();
  fill();
  EXPECT_EQ(admission.admit(TenantId{3}).error().retry_after.count(), 60) << "no more is said";
}

TEST(Admission, RefusesMoreFramesThanTheLimit) {
  Request request = valid_request();
  request.media.push_back({UniqueFd(), 1, "messages[0].content[0].image_url.url"});
  Limits limits;
  limits.frames_max = 8;

  request.media[0].n_frames = 8;
  EXPECT_TRUE(check_request(request, limits));
  request.media[0].n_frames = 9;
  const auto above = check_request(request, limits);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().reason, "too_many_frames");
  EXPECT_EQ(above.error().message, "frames of image 1: 9 exceeds the limit of 8");
  EXPECT_EQ(above.error().param, "messages[0].content[0].image_url.url");
  request.media[0].n_frames = 0;
  EXPECT_FALSE(check_request(request, limits));
}

TEST(Admission, ATicketsEndMakesRoom) {
  Limits limits;
  limits.requests_max = 1;
  Admission admission(limits, kClock);
  std::optional<Admission::Ticket> ticket(admission.admit(TenantId{0}).value());
  ASSERT_FALSE(admission.admit(TenantId{0}));

  ticket.reset();

  EXPECT_EQ(admission.n_admitted(), 0);
  EXPECT_TRUE(admission.admit(TenantId{0}));
}

TEST(Admission, AMovedTicketCountsOnce) {
  Admission admission(Limits{}, kClock);
  std::optional<Admission::Ticket> first(admission.admit(TenantId{0}).value());
  std::optional<Admission::Ticket> second(admission.admit(TenantId{0}).value());

  Admission::Ticket moved = std::move(*first);
  first.reset();
  EXPECT_EQ(admission.n_admitted(), 2);

  moved = std::move(*second);
  second.reset();
  EXPECT_EQ(admission.n_admitted(), 1);
}

TEST(Admission, ATicketMayOutliveItsAdmission) {
  auto admission = std::make_unique<Admission>(Limits{}, kClock);
  std::optional<Admission::Ticket> ticket(admission->admit(TenantId{0}).value());

  admission.reset();
  ticket.reset();
}

TEST(Admission, NeverExceedsTheLimitFromManyThreads) {
  Limits limits;
  limits.requests_max = 3;
  Admission admission(limits, kClock);
  std::atomic<bool> exceeded{false};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 2000; ++k) {
          const auto ticket = admission.admit(TenantId{0});
          if (admission.n_admitted() > 3) exceeded = true;
        }
      });
    }
  }
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(admission.n_admitted(), 0);
}

TEST(CheckRequest, AcceptsARequestAtEachLimit) {
  const Limits limits;
  Request request = valid_request();
  request.media.resize(static_cast<std::size_t>(limits.images_max));
  request.media[0].size_bytes = media_bytes_max(limits);
  request.n_choices = limits.choices_max;
  request.max_output_tokens = limits.output_tokens_max;
  request.stop = {"a", "b", "c", std::string(256, 'd')};
  request.n_top_logprobs = kTopLogprobsMax;

  EXPECT_TRUE(check_request(request, limits));
}

TEST(CheckRequest, RefusesEachFieldAboveItsLimitAndNamesIt) {
  struct Case {
    const char* param;
    const char* message_part;
    std::function<void(Request&)> change;
  };
  Limits limits;
  limits.text_bytes_max = 10;
  const Case cases[] = {
      {"messages", "at least one message", [](Request& r) { r.messages.clear(); }},
      {"messages", "17 exceeds the limit of 16", [](Request& r) { r.media.resize(17); }},
      {"messages", "209715201 exceeds the limit of 209715200",
       [](Request& r) { r.media.push_back({{}, 209715201}); }},
      {"messages", "11 exceeds the limit of 10",
       [](Request& r) { r.messages.push_back({Role::kUser, {TextPart{"world!"}}}); }},
      {"n", "between 1 and 4, not 5", [](Request& r) { r.n_choices = 5; }},
      {"n", "not 0", [](Request& r) { r.n_choices = 0; }},
      {"max_tokens", "between 1 and 4096, not 4097",
       [](Request& r) { r.max_output_tokens = 4097; }},
      {"max_tokens", "not -1", [](Request& r) { r.max_output_tokens = -1; }},
      {"max_completion_tokens", "not 4097",
       [](Request& r) {
         r.max_output_tokens = 4097;
         r.output_tokens_name = "max_completion_tokens";
       }},
      {"tessera.deadline_ms", "300001 exceeds this server's 300000",
       [](Request& r) { r.deadline = std::chrono::milliseconds(300'001); }},
      {"top_logprobs", "not 21", [](Request& r) { r.n_top_logprobs = 21; }},
      {"stop", "5 exceeds the limit of 4", [](Request& r) { r.stop.assign(5, "x"); }},
      {"stop", "empty", [](Request& r) { r.stop = {"x", ""}; }},
      {"stop", "257 exceeds the limit of 256",
       [](Request& r) { r.stop = {std::string(257, 'x')}; }},
      {"temperature", "finite",
       [](Request& r) { r.sampling.temperature = std::numeric_limits<float>::quiet_NaN(); }},
      {"temperature", "finite", [](Request& r) { r.sampling.temperature = -0.5F; }},
      {"top_p", "at most 1", [](Request& r) { r.sampling.top_p = 0.F; }},
      {"top_k", "≥ 0", [](Request& r) { r.sampling.top_k = -2; }},
  };
  for (const Case& c : cases) {
    Request request = valid_request();
    c.change(request);

    const Result<void> checked = check_request(request, limits);

    ASSERT_FALSE(checked) << c.param << ' ' << c.message_part;
    EXPECT_EQ(checked.error().param, c.param);
    EXPECT_NE(checked.error().message.find(c.message_part), std::string::npos)
        << checked.error().message;
  }
}

}  // namespace
}  // namespace tessera::admission
