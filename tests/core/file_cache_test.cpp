#include "core/file_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/environment.h"

namespace neap {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder() {
  const fs::path folder = fs::path(testing::TempDir()) / ("neap-file-cache-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// In a folder that others can write, too.
TEST(FileCache, TrustsOnlyFilesThatAreThisUsersAlone) {
  const fs::path folder = fresh_folder();
  const Environment environment("NEAP_CACHE_DIR", folder.string());
  store_cached("a", "kernel");
  EXPECT_EQ(load_cached("a"), "kernel");
  EXPECT_EQ(fs::status(folder / "a").permissions(), static_cast<fs::perms>(0600));
  fs::permissions(folder / "a", static_cast<fs::perms>(0666));
  EXPECT_EQ(load_cached("a"), std::nullopt) << "anybody may have written it";
  store_cached("a", "kernel");
  EXPECT_EQ(load_cached("a"), "kernel") << "replaced";
  fs::rename(folder / "a", folder / "b");
  EXPECT_EQ(load_cached("b"), std::nullopt) << "another kernel's";
  fs::rename(folder / "b", folder / "a");
  fs::create_symlink("a", folder / "c");
  EXPECT_EQ(load_cached("c"), std::nullopt) << "a link";
  store_cached("c", "other");
  EXPECT_EQ(load_cached("a"), "kernel") << "not written through";
  EXPECT_EQ(load_cached("c"), "other");
  if (geteuid() == 0) {
    ASSERT_EQ(chown((folder / "a").c_str(), 1234, 1234), 0);
    EXPECT_EQ(load_cached("a"), std::nullopt) << "another user's";
  }
  fs::remove_all(folder);
  const Environment missing("NEAP_CACHE_DIR", (folder / "made").string());
  store_cached("a", "kernel");
  EXPECT_EQ(fs::status(folder / "made").permissions(), static_cast<fs::perms>(0700));
  EXPECT_EQ(load_cached("a"), "kernel");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace neap
