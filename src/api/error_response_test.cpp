#include "api/error_response.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <set>

namespace tessera::api {
namespace {

TEST(ErrorTable, HasExactlyOneRowForEachCodeInTheirOrder) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(error_table()[static_cast<std::size_t>(i)].code, code);
    EXPECT_EQ(&error_row(code), &error_table()[static_cast<std::size_t>(i)]);
  }
}

TEST(ErrorTable, GivesEachCodeAStatusOfItsOwnThatSaysWhoseFaultItIs) {
  std::set<int> statuses;
  for (const ErrorRow& row : error_table()) {
    statuses.insert(row.http_status);
    EXPECT_EQ(row.http_status >= 500, row.type == "server_error") << to_string(row.code);
    EXPECT_FALSE(row.advice.empty());
  }
  EXPECT_EQ(statuses.size(), error_table().size());
}

TEST(ErrorJson, HasOpenAisShape) {
  Error error = make_error(ErrorCode::kInvalidArgument, "invalid_type", "say \"what\"", "n");

  EXPECT_EQ(error_json(error),
            R"({"error":{"message":"say \"what\"","type":"invalid_request_error","param":"n",)"
            R"("code":"invalid_type"}})");
  error.param.clear();
  EXPECT_NE(error_json(error).find(R"("param":null)"), std::string::npos);
}

TEST(ErrorsMarkdown, HasALineForEachCode) {
  const std::string text = errors_markdown();

  for (const ErrorRow& row : error_table()) {
    const std::string begin = "| " + std::to_string(row.http_status) + " | `" +
                              std::string(row.type) + "` | `" + std::string(to_string(row.code));
    EXPECT_NE(text.find(begin), std::string::npos) << begin;
  }
}

TEST(ErrorsMarkdown, StandsInTheDocuments) {
  std::ostringstream document;
  document << std::ifstream(std::string(TESSERA_SOURCE_DIR) + "/docs/errors.md").rdbuf();

  EXPECT_NE(document.str().find(errors_markdown()), std::string::npos)
      << "copy this into docs/errors.md:\n"
      << errors_markdown();
}

}  // namespace
}  // namespace tessera::api
