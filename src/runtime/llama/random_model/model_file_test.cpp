#include "runtime/llama/random_model/model_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/llama/bundled_model.h"

namespace tessera::runtime::llama::random_model {
namespace {

using GgufHandle = std::unique_ptr<gguf_context, Deleter<gguf_free>>;
using TensorsHandle = std::unique_ptr<ggml_context, Deleter<ggml_free>>;

ModelFile small_file() {
  ModelFile file;
  file.set("general.architecture", "test");
  file.set("test.number", 7);
  file.set("test.list", std::vector<std::int32_t>{1, -2});
  file.linear("a", 3, 5);
  file.norm("b", 4);
  file.add({"c.weight", {8, 2}, Values::kWeights, [](std::int64_t row) {
              return row == 1 ? 0.0F : 1.0F;
            }});
  return file;
}

TEST(ModelFile, IsWhatTheLibraryReads) {
  const std::string path = temporary_path("small.gguf");
  ASSERT_TRUE(small_file().write(path, 1));
  ggml_context* data = nullptr;
  const GgufHandle read(gguf_init_from_file(path.c_str(), {/*no_alloc=*/false, &data}));
  const TensorsHandle tensors(data);
  ASSERT_NE(read, nullptr);

  EXPECT_EQ(gguf_get_val_u32(read.get(), gguf_find_key(read.get(), "test.number")), 7U);
  EXPECT_EQ(gguf_get_n_tensors(read.get()), 5);
  const ggml_tensor* a = ggml_get_tensor(data, "a.weight");
  EXPECT_EQ(a->type, GGML_TYPE_F16);
  EXPECT_EQ(a->ne[0], 3);
  EXPECT_EQ(a->ne[1], 5);
  const auto* ones = static_cast<const float*>(ggml_get_tensor(data, "b.weight")->data);
  EXPECT_EQ(std::vector<float>(ones, ones + 4), std::vector<float>(4, 1.0F));
  const auto* c = static_cast<const ggml_fp16_t*>(ggml_get_tensor(data, "c.weight")->data);
  EXPECT_NE(ggml_fp16_to_fp32(c[0]), 0.0F);
  for (int i = 8; i < 16; ++i) EXPECT_EQ(ggml_fp16_to_fp32(c[i]), 0.0F);
}

TEST(ModelFile, IsTheSameForTheSameSeedOnly) {
  const std::string first = temporary_path("first.gguf");
  const std::string second = temporary_path("second.gguf");
  const std::string other = temporary_path("other.gguf");
  const ModelFile file = small_file();
  ASSERT_TRUE(file.write(first, 1) && file.write(second, 1) && file.write(other, 2));

  EXPECT_EQ(read_file(first), read_file(second));
  EXPECT_NE(read_file(first), read_file(other));
  EXPECT_EQ(read_file(first).size(), read_file(other).size());
}

TEST(ModelFile, SaysWhenItCannotBeWritten) {
  EXPECT_FALSE(small_file().write(temporary_path("no-such-folder") + "/x.gguf", 1));
}

}  // namespace
}  // namespace tessera::runtime::llama::random_model
