// Code that one process has compiled and the next finds on disk.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <neap/neap.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/file.h"
#include "core/sanitize.h"
#include "tests/environment.h"

namespace neap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChild = "NEAP_TEST_CODE_CACHE_CHILD";

// What a process of its own computes, in several kernels.
TEST(CodeCache, Child) {
  if (!std::getenv(kChild)) GTEST_SKIP() << "only as the child of CodeCache.ASecondProcessCompilesNothing";
  const auto f = jit([](const Array& x) { return cumsum(exp(x) * 2.0f, 0) + sum(sin(x)); });
  const std::vector<float> y = f(ones({100})).to_vector<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], 2 * std::exp(1.0) * static_cast<double>(i + 1) + 100 * std::sin(1.0), 1e-3);
  }
}

int run_child() {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const Environment child(kChild, "1");
  return std::system(fmt::format("'{}' --gtest_filter=CodeCache.Child > /dev/null", self).c_str());
}

struct Stored {
  ino_t inode;
  std::string bytes;
  bool operator==(const Stored&) const = default;
};

std::map<std::string, Stored> stored_in(const fs::path& folder) {
  std::map<std::string, Stored> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat status = {};
    EXPECT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
    files[entry.path().filename().string()] = {status.st_ino, read_file(entry.path())};
  }
  return files;
}

std::map<std::string, std::string> bytes_of(const std::map<std::string, Stored>& files) {
  std::map<std::string, std::string> bytes;
  for (const auto& [name, file] : files) bytes[name] = file.bytes;
  return bytes;
}

// What is compiled is stored, as a file of its own with another inode; what is found is not.
TEST(CodeCache, ASecondProcessCompilesNothing) {
#if defined(NEAP_ASAN) || defined(NEAP_TSAN) || defined(NEAP_UBSAN)
  GTEST_SKIP() << "instrumented code is not kept";
#endif
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("neap-code-cache-{}", getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Environment where("NEAP_CACHE_DIR", folder.string()), on("NEAP_CACHE", "256MiB");
  EXPECT_EQ(run_child(), 0);
  const auto first = stored_in(folder);
  EXPECT_GE(first.size(), 2u);
  for (const auto& [name, file] : first) {
    EXPECT_TRUE(name.starts_with("neap_") && name.ends_with(".o")) << name;
  }
  EXPECT_EQ(run_child(), 0);
  EXPECT_EQ(stored_in(folder), first) << "compiled again";

  for (const auto& [name, file] : first) {  // each in another way
    const uint64_t at = std::hash<std::string>{}(name) % file.bytes.size();
    std::string damaged = file.bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(folder / name, std::ios::binary) << damaged;
  }
  EXPECT_EQ(run_child(), 0);
  const auto mended = stored_in(folder);
  EXPECT_EQ(bytes_of(mended), bytes_of(first));
  for (const auto& [name, file] : first) EXPECT_NE(mended.at(name).inode, file.inode) << name;
  for (const auto& [name, file] : mended) fs::resize_file(folder / name, file.bytes.size() * 2 / 3);
  EXPECT_EQ(run_child(), 0);
  EXPECT_EQ(bytes_of(stored_in(folder)), bytes_of(first));

  for (const auto& [name, file] : first) fs::permissions(folder / name, static_cast<fs::perms>(0622));
  EXPECT_EQ(run_child(), 0);
  EXPECT_EQ(bytes_of(stored_in(folder)), bytes_of(first)) << "who may have written those?";

  fs::remove_all(folder);
  fs::create_directories(folder);
  const Environment off("NEAP_CACHE", "off");
  EXPECT_EQ(run_child(), 0);
  EXPECT_TRUE(stored_in(folder).empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace neap
