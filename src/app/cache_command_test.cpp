#include "app/cache_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv

#include <sstream>

#include "cache/disk_tier.h"
#include "cache/test_folder.h"

namespace tessera::app {
namespace {

struct Outcome {
  cli::ExitCode code{};
  std::string out;
  std::string err;
};

Outcome run(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  arguments.insert(arguments.begin(), "cache");
  const auto command = cli::parse_command_line(arguments);
  if (!command) return {cli::ExitCode::kUsage, "", command.error().message};
  const cli::ExitCode code = run_cache(std::get<cli::CacheOptions>(*command), {out, err});
  return {code, out.str(), err.str()};
}

class CacheCommandTest : public ::testing::Test {
 protected:
  CacheCommandTest() {
    cache::write_file(keys_, "anna: key-of-anna-0123456789\nben: key-of-ben-01234567890\n");
    cache::DiskTierOptions options;
    options.folder = cache_dir_;
    options.bytes_max = 1'000'000;
    options.tenants = cache::TenantNames({"everyone", "name:anna", "name:ben"});
    tier_ = cache::DiskTier::open(std::move(options)).value();
    for (int i = 0; i < 3; ++i) {
      tier_->store(cache::test_key(i), TenantId{i == 0 ? 2U : 1U},
                   std::make_shared<const Embedding>(cache::test_rows(i)), std::chrono::seconds(1),
                   {});
    }
    tier_->flush();
  }

  std::vector<std::string> folder(std::vector<std::string> arguments) const {
    for (const std::string& word :
         {std::string("--cache-dir"), cache_dir_, std::string("--api-key-file"), keys_}) {
      arguments.push_back(word);
    }
    return arguments;
  }

  cache::TestFolder folder_;
  const std::string cache_dir_ = folder_.path() / "features";
  const std::string keys_ = folder_.path() / "keys";
  std::unique_ptr<cache::DiskTier> tier_;
};

TEST_F(CacheCommandTest, AFolderIsShownAndOneTenantForgotten) {
  tier_.reset();

  const Outcome list = run(folder({"list"}));
  EXPECT_EQ(list.code, cli::ExitCode::kOk) << list.err;
  EXPECT_NE(list.out.find("anna"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("ben"), std::string::npos);

  const Outcome purge = run(folder({"purge", "--tenant", "anna"}));
  EXPECT_EQ(purge.out, "anna: purged 0 in memory and 2 on disk\n") << purge.err;
  EXPECT_EQ(run(folder({"list"})).out.find("anna"), std::string::npos);
  EXPECT_NE(run(folder({"stats", "--json"})).out.find(R"("n_entries":1,)"), std::string::npos);
  const Outcome unknown = run(folder({"purge", "--tenant", "anne"}));
  EXPECT_EQ(unknown.code, cli::ExitCode::kRefused);
  EXPECT_NE(unknown.err.find("there is no such tenant"), std::string::npos);

  EXPECT_EQ(run(folder({"purge", "--all"})).out, "everybody: purged 0 in memory and 1 on disk\n");
}

TEST_F(CacheCommandTest, AFolderThatAServerHasIsLeftToIt) {
  const Outcome result = run(folder({"purge", "--all"}));

  EXPECT_EQ(result.code, cli::ExitCode::kFailed);
  EXPECT_NE(result.err.find("in use by another process; ask the server"), std::string::npos)
      << result.err;
}

TEST_F(CacheCommandTest, AServerNeedsAKeyAndHasToAnswer) {
  ::unsetenv("TESSERA_ADMIN_KEY");  // NOLINT(concurrency-mt-unsafe): one thread
  const Outcome no_key = run({"stats"});
  EXPECT_EQ(no_key.code, cli::ExitCode::kUsage);
  EXPECT_NE(no_key.err.find("--admin-key-file FILE"), std::string::npos) << no_key.err;

  // Port 1 of this machine is nobody's.
  const Outcome nobody =
      run({"stats", "--url", "http://127.0.0.1:1", "--admin-key-file", keys_, "--json"});
  EXPECT_EQ(nobody.code, cli::ExitCode::kFailed);
  EXPECT_NE(nobody.out.find("server_unreachable"), std::string::npos) << nobody.out;
}

}  // namespace
}  // namespace tessera::app
