// Random programs: on emulated ranks, on threads that exchange messages, to the bit.
#include <cstring>

#include "tests/spmd/check_random_ranks.h"

namespace neap {
namespace {

class RandomRanksOn : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomRanksOn, ThreadsAreEmulatedRanks) {
  for (uint64_t seed = GetParam() * 4; seed < (GetParam() + 1) * 4 && !HasFailure(); ++seed) check_random_ranks(seed);
}

INSTANTIATE_TEST_SUITE_P(Block, RandomRanksOn, testing::Range<uint64_t>(0, 12));

// Sums round: the tree is the same, of small arrays and large ones, of parts that divide and that do not.
TEST(RankTree, BitsAreThoseOfProcesses) {
  for (const DType dtype : {f32, f64, bf16, f16})
    for (const int64_t ranks : {2, 3, 5, 8})
      for (const int64_t size : {1, 7, 1000, 5001, 40000}) {
        const Mesh::Axes axes{{"x", ranks}};
        const Array x = random::normal(random::key(1), {ranks, size}, dtype);
        const auto f = [](const Mesh& mesh) {
          return shard(
              [](const Array& b) {
                return std::tuple(
                    psum(b, "x"),
                    reduce_scatter(concatenate({b, b, b, b, b, b, b, b, b, b})[{slice(0, axis_size("x"))}], "x"));
              },
              {.mesh = mesh, .in = {{"x"}}, .out = {{}, {"x"}}});
        };
        const auto [sums, parts] = f(Mesh::emulated(axes))(x);
        on_threads(axes, [&](const Mesh& mesh) {
          const auto [sum, part] = f(mesh)(mesh.local(x, {"x"}));
          const std::string what =
              std::to_string(ranks) + " ranks, " + std::to_string(size) + " of " + std::string(name(dtype));
          expect_same(sum, sums, what);
          expect_same(part, mesh.local(parts, {"x"}), what);
        });
      }
}

// Messages are from and to the plan's memory: its peak is what is held.
TEST(Ranks, PlannedIsMeasured) {
  const auto f = [](const Mesh& mesh) {
    return jit(shard([](const Array& b) { return sin(psum(b * 2, "x")) + all_gather(cos(b), "x")[axis_size("x") - 1]; },
                     {.mesh = mesh, .in = {{"x"}}, .out = {{}}}));
  };
  const Mesh one = Mesh::planned({{"x", 4}});
  const Array block = ones({1 << 18});
  const size_t planned = f(one).plan(block).peak_bytes();
  // One rank of four that this process runs: the others' messages are its own.
  class Alone : public Communicator {
   public:
    int64_t rank() const override { return 1; }
    int64_t size() const override { return 4; }
    void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view,
                  std::source_location) override {
      for (size_t i = 0; i < receives.size(); ++i) std::memcpy(receives[i].bytes, sends[i].bytes, sends[i].size);
    }
  };
  const auto g = f(Mesh::processes({{"x", std::make_shared<Alone>()}}));
  g(block);
  const size_t others = memory::live_bytes() - block.bytes();
  memory::reset_peak();
  g(block);
  EXPECT_EQ(memory::peak_bytes() - others, planned);
}

}  // namespace
}  // namespace neap
