#include "cache/disk_salts.h"

#include <gtest/gtest.h>

#include "cache/test_folder.h"

namespace tessera::cache {
namespace {

namespace fs = std::filesystem;

const SecretKey kSecret({1, 2, 3});

class DiskSaltsTest : public ::testing::Test {
 protected:
  DiskSaltsTest() { restart(); }

  void restart(const SecretKey& secret = kSecret) {
    files_ = FaultyFiles::open(folder_.path());
    salts_ = std::make_unique<DiskSalts>(*files_, secret);
  }

  fs::path salt_of(const std::string& name) {
    return folder_.path() / folder_path(salts_->folder(name)) / kSaltName;
  }
  std::optional<SecretKey> make(const std::string& name, DiskSalts::Age age = 0) {
    return salts_->make(salts_->folder(name), name, age).value();
  }
  bool loads(const std::string& name) { return salts_->load(salts_->folder(name)).value(); }
  std::optional<SecretKey> key(const std::string& name) {
    return salts_->key(salts_->folder(name), name);
  }

  TestFolder folder_;
  std::unique_ptr<FaultyFiles> files_;
  std::unique_ptr<DiskSalts> salts_;
};

TEST_F(DiskSaltsTest, ATenantHasAKeyOnceOneIsMadeAndAfterEveryStart) {
  EXPECT_FALSE(key("anna"));
  const auto made = make("anna");
  ASSERT_TRUE(made);
  EXPECT_EQ(key("anna")->bytes(), made->bytes());
  EXPECT_EQ(make("anna")->bytes(), made->bytes());

  restart();
  EXPECT_FALSE(key("anna"));
  EXPECT_TRUE(loads("anna"));
  EXPECT_EQ(key("anna")->bytes(), made->bytes());
}

TEST_F(DiskSaltsTest, TenantsHaveDifferentFoldersAndKeys) {
  EXPECT_NE(salts_->folder("anna"), salts_->folder("ben"));
  EXPECT_NE(make("anna")->bytes(), make("ben")->bytes());
  EXPECT_NE(salts_->key(salts_->folder("anna"), "ben")->bytes(), key("anna")->bytes())
      << "the name is part of the key";
}

TEST_F(DiskSaltsTest, AForgottenTenantHasNoKeyAndItsNextOneIsAnother) {
  const auto before = make("anna");
  const DiskSalts::Age age = salts_->age(salts_->folder("anna"));

  ASSERT_TRUE(salts_->forget(salts_->folder("anna")));

  EXPECT_FALSE(key("anna"));
  EXPECT_FALSE(fs::exists(salt_of("anna")));
  EXPECT_FALSE(make("anna", age)) << "what was queued before";
  EXPECT_FALSE(fs::exists(salt_of("anna")));
  EXPECT_NE(make("anna", salts_->age(salts_->folder("anna")))->bytes(), before->bytes());
  restart();
  EXPECT_TRUE(loads("anna"));
  EXPECT_NE(key("anna")->bytes(), before->bytes());
}

TEST_F(DiskSaltsTest, ForgettingATenantThatNeverCameIsFine) {
  EXPECT_TRUE(salts_->forget(salts_->folder("anna")));
}

TEST_F(DiskSaltsTest, ASaltThatIsNotWholeIsNone) {
  (void)make("anna");
  const std::string whole = read_file(salt_of("anna"));
  ASSERT_EQ(whole.size(), 64U);
  for (std::size_t n_bytes = 0; n_bytes < whole.size(); ++n_bytes) {
    write_file(salt_of("anna"), whole.substr(0, n_bytes));
    EXPECT_FALSE(loads("anna")) << n_bytes;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    write_file(salt_of("anna"), changed);
    EXPECT_FALSE(loads("anna")) << i;
  }
  write_file(salt_of("anna"), whole + "x");
  EXPECT_FALSE(loads("anna"));
  write_file(salt_of("anna"), whole);
  EXPECT_TRUE(loads("anna"));
}

TEST_F(DiskSaltsTest, ASaltOfAnotherSecretOrTenantIsNone) {
  (void)make("anna");
  (void)make("ben");
  fs::copy_file(salt_of("anna"), salt_of("ben"), fs::copy_options::overwrite_existing);
  const TenantFolder anna = salts_->folder("anna");

  restart();
  EXPECT_FALSE(loads("ben"));
  restart(SecretKey({9}));
  EXPECT_FALSE(salts_->load(anna).value());
}

TEST_F(DiskSaltsTest, NoKeyIsGivenBeforeItsSaltIsOnTheDisk) {
  for (int step = 1; step < 20; ++step) {
    const std::string name = "tenant " + std::to_string(step);
    restart();
    files_->fail_at(step, FaultyFiles::Fault::kCrash);
    const auto made = salts_->make(salts_->folder(name), name, 0);
    if (!files_->has_failed()) {
      EXPECT_GT(step, 5);
      return;
    }
    EXPECT_FALSE(made && *made) << step;
    EXPECT_FALSE(key(name)) << step;
  }
  FAIL() << "more steps than expected";
}

}  // namespace
}  // namespace tessera::cache
