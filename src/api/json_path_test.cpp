#include "api/json_path.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

using Container = JsonPath::Container;

TEST(JsonPath, NamesAFieldAsOpenAiDoes) {
  // {"model": …, "messages": [{"content": [_, {"image_url": {"url":
  JsonPath path;
  ASSERT_TRUE(path.open(Container::kObject));
  path.set_key("model");
  path.colon();
  path.next();
  path.set_key("messages");
  path.colon();
  ASSERT_TRUE(path.open(Container::kArray));
  ASSERT_TRUE(path.open(Container::kObject));
  path.set_key("content");
  ASSERT_TRUE(path.open(Container::kArray));
  EXPECT_EQ(path.next(), 1U);
  ASSERT_TRUE(path.open(Container::kObject));
  path.set_key("image_url");
  ASSERT_TRUE(path.open(Container::kObject));
  path.set_key("url");

  EXPECT_EQ(path.text(), "messages[0].content[1].image_url.url");
  EXPECT_EQ(path.key(), "url");
}

TEST(JsonPath, ExpectsAKeyAtTheStartOfEachMember) {
  JsonPath path;
  EXPECT_FALSE(path.expects_key());
  ASSERT_TRUE(path.open(Container::kObject));
  EXPECT_TRUE(path.expects_key());
  path.colon();
  EXPECT_FALSE(path.expects_key());
  path.next();
  EXPECT_TRUE(path.expects_key());
  ASSERT_TRUE(path.open(Container::kArray));
  EXPECT_FALSE(path.expects_key());
  path.next();
  EXPECT_FALSE(path.expects_key());
}

TEST(JsonPath, RefusesToGoDeeperThanItsMaximum) {
  JsonPath path;
  for (std::size_t i = 0; i < kJsonDepthMax; ++i) ASSERT_TRUE(path.open(Container::kArray));

  EXPECT_FALSE(path.open(Container::kArray));
  path.close();
  EXPECT_TRUE(path.open(Container::kObject));
}

TEST(JsonPath, SurvivesUnbalancedTextAndHidesOddKeys) {
  JsonPath path;
  path.close();
  path.colon();
  EXPECT_EQ(path.next(), 0U);
  EXPECT_EQ(path.key(), "");
  ASSERT_TRUE(path.open(Container::kObject));
  path.set_key("a secret, perhaps");
  EXPECT_EQ(path.text(), "?");
}

}  // namespace
}  // namespace tessera::api
