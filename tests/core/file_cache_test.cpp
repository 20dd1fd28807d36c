#include "core/file_cache.h"

#include <gtest/gtest.h>
#include <neap/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

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
  const Environment environment("NEAP_CACHE_DIR", folder.string()), on("NEAP_CACHE", "256MiB");
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

TEST(FileCache, KeepsWhatWasUsedLastWithinItsBytes) {
  const fs::path folder = fresh_folder();
  const Environment environment("NEAP_CACHE_DIR", folder.string()), most("NEAP_CACHE", "100KB");
  { std::ofstream(folder / "another's") << std::string(200'000, 'x'); }
  fs::last_write_time(folder / "another's", fs::file_time_type::clock::now() - std::chrono::hours(9000));
  const auto name = [](int i) { return "kernel " + std::to_string(i); };
  const auto age = [&](int i, int hours) {
    fs::last_write_time(folder / name(i), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (int i = 0; i < 9; ++i) {
    store_cached(name(i), std::string(10'000, 'k'));
    age(i, 100 - i);
  }
  EXPECT_TRUE(load_cached(name(0))) << "all fit";  // and it was used now
  store_cached(name(9), std::string(20'000, 'k'));
  EXPECT_TRUE(load_cached(name(0)));
  EXPECT_TRUE(load_cached(name(9)));
  EXPECT_TRUE(load_cached(name(8)));
  for (const int old : {1, 2, 3}) EXPECT_FALSE(load_cached(name(old))) << old;
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder)) total += entry.file_size();
  EXPECT_LE(total, 300'000u);
  EXPECT_TRUE(fs::exists(folder / "another's"));
  fs::remove_all(folder);
}

TEST(FileCache, IsOffWhereItIsSaid) {
  const fs::path folder = fresh_folder();
  const Environment environment("NEAP_CACHE_DIR", folder.string());
  {
    const Environment off("NEAP_CACHE", "off");
    EXPECT_EQ(cache_folder(), std::nullopt);
    store_cached("a", "kernel");
    EXPECT_TRUE(fs::is_empty(folder));
  }
  const Environment wrong("NEAP_CACHE", "no");
  try {
    cache_folder();
    ADD_FAILURE();
  } catch (const OptionError& error) {
    EXPECT_STREQ(error.what(), "NEAP_CACHE: got 'no'; expected off, or bytes, such as 256MiB");
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace neap
