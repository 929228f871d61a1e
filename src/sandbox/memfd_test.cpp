#include "sandbox/memfd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::sandbox {
namespace {

UniqueFd memfd_of(std::size_t size) {
  return std::move(create_memfd("test", size)).value();
}

TEST(Memfd, IsZeroFilledAndCloseOnExec) {
  const UniqueFd fd = memfd_of(3);

  EXPECT_EQ(file_size(fd.get()).value(), 3U);
  EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto region = MappedRegion::map_readonly(fd.get(), 3);
  ASSERT_TRUE(region);
  for (const auto byte : region->bytes()) EXPECT_EQ(byte, 0);
}

TEST(Memfd, SizeSealsHoldAgainstTheOwnerOfTheDescriptor) {
  const UniqueFd fd = memfd_of(4096);
  ASSERT_TRUE(add_seals(fd.get(), F_SEAL_GROW | F_SEAL_SHRINK));

  EXPECT_NE(::ftruncate(fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(fd.get(), 8192), 0);
}

TEST(Memfd, CannotBeSealedAgainstWritesWhileSomebodyCanWrite) {
  const UniqueFd fd = memfd_of(4096);
  auto writer = MappedRegion::map_writable(fd.get(), 4096);
  ASSERT_TRUE(writer);

  EXPECT_FALSE(add_seals(fd.get(), F_SEAL_WRITE));
  writer->reset();

  EXPECT_TRUE(add_seals(fd.get(), F_SEAL_WRITE));
  EXPECT_FALSE(MappedRegion::map_writable(fd.get(), 4096));
}

TEST(Memfd, SealsThatArePresentMayBeAddedAgain) {
  const UniqueFd fd = memfd_of(1);
  ASSERT_TRUE(add_seals(fd.get(), F_SEAL_GROW | F_SEAL_SEAL));

  EXPECT_TRUE(add_seals(fd.get(), F_SEAL_GROW));
  EXPECT_FALSE(add_seals(fd.get(), F_SEAL_SHRINK));
}

TEST(Memfd, RefusesASizeThatNoFileCanHave) {
  EXPECT_FALSE(create_memfd("test", ~std::size_t{0}));
}

TEST(MappedRegion, SharesWritesWithOtherMappings) {
  const UniqueFd fd = memfd_of(2);
  auto writer = MappedRegion::map_writable(fd.get(), 2);
  auto reader = MappedRegion::map_readonly(fd.get(), 2);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(reader);

  writer->writable_bytes()[1] = 42;

  EXPECT_EQ(reader->bytes()[1], 42);
  EXPECT_TRUE(reader->writable_bytes().empty());
}

TEST(MappedRegion, RefusesNothingAndMoreThanTheFile) {
  const UniqueFd fd = memfd_of(10);

  EXPECT_FALSE(MappedRegion::map_readonly(fd.get(), 0));
  EXPECT_FALSE(MappedRegion::map_readonly(fd.get(), 11));
  EXPECT_TRUE(MappedRegion::map_readonly(fd.get(), 10));
}

}  // namespace
}  // namespace tessera::sandbox
