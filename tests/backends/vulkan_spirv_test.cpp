// From GLSL to pipelines: what is compiled, what is kept on disk, what is dumped.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "backends/vulkan/spirv.h"
#include "core/file_cache.h"
#include "tests/backends/vulkan_device.h"

namespace neap::vk {
namespace {

TEST_F(VulkanDevice, KeepsCompiledKernelsOnDisk) {
  const fs::path folder = fresh_folder("cache");
  const Environment environment("NEAP_CACHE_DIR", folder.string()), on("NEAP_CACHE", "256MiB");
  const std::string glsl = triple().glsl + "// for the disk\n";
  const auto words = compile_glsl(glsl, "disk");
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  const fs::path file = fs::directory_iterator(folder)->path();
  // A file that is read is not written again: it keeps a time that no write gives.
  const auto long_ago = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, long_ago);
  EXPECT_EQ(compile_glsl(glsl, "disk"), words);
  EXPECT_EQ(fs::last_write_time(file), long_ago);
  const auto size = fs::file_size(file);
  for (const uint64_t damage : {uint64_t{3}, uint64_t{10}, uint64_t{size - 1}}) {
    {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(damage));
      const int byte = stream.get();
      stream.seekp(static_cast<std::streamoff>(damage));
      stream.put(static_cast<char>(byte ^ 0x40));
    }
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
  }
  for (const uint64_t cut : {uint64_t{0}, uint64_t{7}, uint64_t{24}, uint64_t{size - 4}}) {
    fs::resize_file(file, cut);
    EXPECT_EQ(compile_glsl(glsl, "disk"), words);
    EXPECT_EQ(fs::file_size(file), size);
  }
  fs::remove_all(folder);
  const Environment off("NEAP_CACHE_DIR", "");
  EXPECT_EQ(cache_folder(), std::nullopt);
  EXPECT_EQ(compile_glsl(glsl, "disk"), words);
}

TEST_F(VulkanDevice, KeepsTheDriversCacheOnDisk) {
  const fs::path folder = fresh_folder("driver");
  const Environment environment("NEAP_CACHE_DIR", folder.string()), on("NEAP_CACHE", "256MiB");
  const auto open_and_close = [&] { round_trip(*std::make_shared<DeviceImpl>(physical(), 7), false, 1 << 12); };
  const auto blob = [&]() -> std::optional<fs::path> {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with("pipelines-")) return entry.path();
    }
    return std::nullopt;
  };
  open_and_close();
  const auto file = blob();
  ASSERT_TRUE(file);
  const uint64_t size = fs::file_size(*file);
  EXPECT_GE(size, 24u + 32u);  // two headers
  for (const uint64_t cut : {uint64_t{0}, uint64_t{30}, size - 1, size}) {
    fs::resize_file(*file, cut);
    open_and_close();
    EXPECT_GE(fs::file_size(*file), 24u + 32u);
  }
  fs::remove_all(folder);
}

TEST_F(VulkanDevice, WritesWhatItCompiles) {
  const fs::path folder = fresh_folder("dump");
  const Environment same("NEAP_TEST_FOLDER", folder.string());
  const Environment environment("NEAP_DUMP", folder.string());
  EXPECT_CHILD({ device->pipeline(triple(), "7-triple"); });
  const auto text = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_EQ(text("7-triple.glsl"), triple().glsl);
  EXPECT_THAT(text("7-triple.spvasm"), testing::HasSubstr("OpEntryPoint GLCompute"));
  fs::remove_all(folder);
}

TEST(Spirv, NamesTheLineThatDoesNotCompile) {
  try {
    compile_glsl(std::string(kHead) + "void main() { nonsense(); }\n", "broken");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("kernel broken does not compile"));
    EXPECT_THAT(error.what(), testing::HasSubstr("broken:10: error"));
    EXPECT_THAT(error.what(), testing::HasSubstr("  10  void main() { nonsense(); }"));
  }
}

TEST(Spirv, CompilesOnSeveralThreads) {
  const Environment off("NEAP_CACHE_DIR", "");
  const auto expected = compile_glsl(triple().glsl, "one");
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) right += compile_glsl(triple().glsl, "one") == expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace neap::vk
