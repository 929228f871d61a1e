#include "runtime/llama/random_model/random_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama::random_model {
namespace {

TEST(RandomModel, HasANameForEachShape) {
  std::set<std::string> names;
  for (const Shape& shape : all_shapes()) EXPECT_TRUE(names.insert(shape.name).second);

  EXPECT_EQ(all_shapes().front().name, "smolvlm-256m");
  EXPECT_TRUE(names.contains("tiny-idefics3"));
}

TEST(RandomModel, IsTheSameEveryTime) {
  const Shape shape = grid_shapes().front();
  const std::string first = temporary_path("first");
  const std::string second = temporary_path("second");
  ASSERT_TRUE(make_model(shape, first) && make_model(shape, second));

  const ModelFiles one = files_of(shape.name, first);
  const ModelFiles other = files_of(shape.name, second);
  EXPECT_EQ(read_file(one.model_path), read_file(other.model_path));
  EXPECT_EQ(read_file(one.mmproj_path), read_file(other.mmproj_path));
  std::filesystem::remove_all(first);
  std::filesystem::remove_all(second);
}

TEST(RandomModel, LeavesNoHalfAFileBehind) {
  const std::string folder = temporary_path("taken");
  std::ofstream(folder) << "a file where a folder must be";

  EXPECT_FALSE(make_model(grid_shapes().front(), folder));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
