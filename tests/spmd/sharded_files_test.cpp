// Checkpoints of ranks: written by some, read by others.
#include <gmock/gmock.h>
#include <neap/sharded_files.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/message.h"
#include "tests/spmd/thread_ranks.h"

namespace neap {
namespace {

namespace fs = std::filesystem;
using P = PartitionSpec;

class Folder {
 public:
  Folder() : path(fs::temp_directory_path() / ("neap_sharded_" + std::to_string(::getpid()))) { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

const std::map<std::string, P> kRows{{"weights", {"x"}}, {"columns", {"", "x"}}};

std::map<std::string, Array> whole() {
  return {{"weights", random::normal(random::key(1), {12, 5})},
          {"columns", random::normal(random::key(2), {3, 12}, bf16)},
          {"step", array(7)},
          {"empty", zeros({0, 4})}};
}

std::map<std::string, Array> parts(const Mesh& mesh, const std::map<std::string, P>& specs) {
  std::map<std::string, Array> mine;
  for (const auto& [name, array] : whole())
    mine[name] = specs.contains(name) ? mesh.local(array, specs.at(name)) : array;
  return mine;
}

TEST(ShardedFiles, AnyNumberOfRanksReadsThem) {
  const Folder folder;
  for (const Mesh::Axes& writers : {Mesh::Axes{{"x", 4}}, {{"x", 3}}, {{"x", 1}}, {{"y", 2}, {"x", 2}}}) {
    on_threads(writers, [&](const Mesh& mesh) { save_sharded(folder.path, parts(mesh, kRows), mesh, kRows); });
    for (const Mesh::Axes& readers : {Mesh::Axes{{"x", 2}}, {{"x", 6}}, {{"x", 3}, {"y", 2}}})
      on_threads(readers, [&](const Mesh& mesh) {
        const auto got = load_sharded(folder.path, mesh, kRows);
        for (const auto& [name, expected] : parts(mesh, kRows)) expect_same(got.at(name), expected, name);
      });
    // Cut along other axes, and in one process that has all.
    const std::map<std::string, P> turned{{"weights", {"x"}}, {"columns", {"x"}}};
    on_threads({{"x", 3}}, [&](const Mesh& mesh) {
      const auto got = load_sharded(folder.path, mesh, turned);
      expect_same(got.at("columns"), mesh.local(whole()["columns"], {"x"}));
    });
    const auto all = load_sharded(folder.path, Mesh::emulated({{"x", 4}}), kRows);
    for (const auto& [name, expected] : whole()) expect_same(all.at(name), expected, name);
  }
  size_t files = 0;  // of the last run alone: four ranks, the index
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder.path)) ++files;
  EXPECT_EQ(files, 3u) << "ranks along y have the same";
  save_sharded(folder.path, whole(), Mesh::emulated({{"x", 4}}), kRows);
  expect_same(load_sharded(folder.path, Mesh::emulated({{"x", 1}}), {}).at("weights"), whole()["weights"]);
}

// A rank that dies before the index is written leaves what was there.
TEST(ShardedFiles, AreWholeOrNotThere) {
  const Folder folder;
  on_threads({{"x", 2}}, [&](const Mesh& mesh) { save_sharded(folder.path, parts(mesh, kRows), mesh, kRows); });
  EXPECT_THROW(on_threads({{"x", 3}},
                          [&](const Mesh& mesh) {
                            if (mesh.rank() == 1) throw std::runtime_error("gone");
                            auto other = parts(mesh, kRows);
                            other["weights"] = other["weights"] + 1;
                            save_sharded(folder.path, other, mesh, kRows);
                          }),
               std::exception);
  expect_same(load_sharded(folder.path, Mesh::emulated({{"x", 1}}), {}).at("weights"), whole()["weights"]);
}

TEST(ShardedFiles, ErrorsSayWhatIsWrong) {
  const Folder folder;
  const Mesh one = Mesh::emulated({{"x", 1}});
  const auto load = [&] { load_sharded(folder.path, one, {}); };
  EXPECT_THAT(message_of<UserError>(load), testing::HasSubstr("index.json"));
  save_sharded(folder.path, whole(), one, {});
  on_threads({{"x", 5}}, [&](const Mesh& mesh) {
    EXPECT_THAT(message_of<ShapeError>([&] { load_sharded(folder.path, mesh, {{"weights", {"x"}}}); }),
                testing::HasSubstr("multiple of the 5 ranks"));
  });
  for (const auto& file : fs::directory_iterator(folder.path))
    if (file.path().extension() == ".safetensors") fs::resize_file(file.path(), fs::file_size(file.path()) - 1);
  EXPECT_THAT(message_of<UserError>(load), testing::HasSubstr("cut short"));
  std::ofstream(folder.path / "index.json") << R"({"format": "neap sharded safetensors 1", "generation": 1,
    "arrays": {"w": {"dtype": "f32", "shape": [4], "blocks": [{"file": "../w", "start": [0], "shape": [4]}]}}})";
  EXPECT_THAT(message_of<UserError>(load), testing::HasSubstr("the file name"));
  std::ofstream(folder.path / "index.json") << R"({"format": "neap sharded safetensors 1", "generation": 1,
    "arrays": {"w": {"dtype": "f32", "shape": [4], "blocks": [
      {"file": "1-a.safetensors", "start": [0], "shape": [3]}, {"file": "1-b.safetensors", "start": [2], "shape": [1]}]}}})";
  EXPECT_THAT(message_of<UserError>(load), testing::HasSubstr("share elements"));
  std::ofstream(folder.path / "index.json") << "{";
  EXPECT_THAT(message_of<UserError>(load), testing::HasSubstr("index.json"));
  EXPECT_THAT(message_of<UserError>([&] { save_sharded(folder.path, whole(), Mesh::planned({{"x", 2}}), {}); }),
              testing::HasSubstr("no processes run"));
}

}  // namespace
}  // namespace neap
