#include "sandbox/allowed_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "sandbox/sanitizer.h"

namespace tessera::sandbox {
namespace {

class AllowedCallsTest : public testing::TestWithParam<CallList> {
 protected:
  std::span<const AllowedCall> calls() const { return allowed_calls(GetParam()); }
};

TEST_P(AllowedCallsTest, NameEachCallOnceAndItsReason) {
  for (const AllowedCall& call : calls()) {
    EXPECT_EQ(std::ranges::count(calls(), std::string_view(call.name),
                                 [](const AllowedCall& c) { return std::string_view(c.name); }),
              1)
        << call.name;
    EXPECT_GT(std::string_view(call.reason).size(), 4U) << call.name;
  }
}

TEST_P(AllowedCallsTest, AreExactlyWhatTheDocumentLists) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/docs/security.md");
  std::stringstream document;
  document << file.rdbuf();
  std::string table = "|---|---|\n";
  for (const AllowedCall& call : calls()) {
    const std::string terms(to_string(call.terms));
    table += std::string("| `") + call.name + "` | " + terms + (terms.empty() ? "" : "; ") +
             call.reason + " |\n";
  }
  table += "\n";

  EXPECT_NE(document.str().find(table), std::string::npos) << "it should hold:\n" << table;
}

TEST_P(AllowedCallsTest, AreMoreOnlyInSanitizerBuilds) {
#ifdef TSR_SANITIZER_RUNTIME
  EXPECT_FALSE(sanitizer_calls(GetParam()).empty());
#else
  EXPECT_TRUE(sanitizer_calls(GetParam()).empty());
#endif
}

INSTANTIATE_TEST_SUITE_P(Of, AllowedCallsTest,
                         testing::Values(CallList::kDecoder, CallList::kThreadedDecoder,
                                         CallList::kFetcher),
                         [](const auto& info) {
                           switch (info.param) {
                             case CallList::kDecoder:
                               return "Decoder";
                             case CallList::kThreadedDecoder:
                               return "ThreadedDecoder";
                             case CallList::kFetcher:
                               return "Fetcher";
                           }
                           return "";
                         });

}  // namespace
}  // namespace tessera::sandbox
