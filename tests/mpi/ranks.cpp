// A program for mpirun: ranks [FAULT]. Without a fault it compares processes with emulated ranks, on random programs
// and to the bit, and the peak of each with its plan; with one it shows that all ranks end, and what they say
// (check_ranks). "runs" does not end by itself (check_kills).
#include <neap/mpi.h>
#include <neap/neap.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "tests/spmd/random_ranks.h"

namespace {

using namespace neap;

void check(bool holds, const std::string& what) {
  if (!holds) throw InternalError(what);
}

void random_programs(int count) {
  const int64_t n = mpi::ranks();
  std::vector<Mesh::Axes> meshes{{{"x", n}}, {{"x", 1}, {"y", n}}};
  if (n % 2 == 0) meshes.push_back({{"x", 2}, {"y", n / 2}});
  for (int seed = 0; seed < count; ++seed) {
    const Mesh::Axes axes = meshes[static_cast<size_t>(seed) % meshes.size()];
    std::vector<std::string> names;
    for (const auto& [name, size] : axes) names.push_back(name);
    const PartitionSpec in({names[0]}), out(names);
    const auto program = [&](const Mesh& mesh) {
      const auto f = [&](const Array& block) { return RandomRanks(static_cast<uint64_t>(seed), axes)(block); };
      return jit(shard(f, {.mesh = mesh, .in = {in}, .out = {out}}));
    };
    const Array x = random::randint(random::key(static_cast<uint64_t>(seed)), {axes[0].second * 3, 2}, -8, 9);
    const std::vector<Array> all = program(Mesh::emulated(axes))(x);
    const Mesh mesh = mpi::mesh(axes);
    const std::vector<Array> mine = program(mesh)(mesh.local(x, in));
    for (size_t i = 0; i < all.size(); ++i) {
      const Array expected = mesh.local(all[i], out);
      check(mine[i].aval() == expected.aval() && std::ranges::equal(mine[i].raw(), expected.raw()),
            "seed " + std::to_string(seed) + ", value " + std::to_string(i) + ":\n" + to_string(mine[i]) + "\n" +
                to_string(expected));
    }
  }
}

void large_arrays() {
  const Mesh mesh = mpi::mesh({{"x", -1}});
  const Array block = random::normal(random::key(static_cast<uint64_t>(mesh.rank())), {1000003});
  const auto f =
      jit(shard([](const Array& b) { return psum(b * 2, "x") + 1; }, {.mesh = mesh, .in = {{"x"}}, .out = {{}}}));
  const size_t planned = f.plan(block).peak_bytes();
  const Array first = f(block);
  const size_t others = memory::live_bytes() - (block.bytes() + 63) / 64 * 64;
  memory::reset_peak();
  const Array sum = f(block);
  check(memory::peak_bytes() - others == planned,
        "planned " + std::to_string(planned) + ", measured " + std::to_string(memory::peak_bytes() - others));
  check(std::ranges::equal(sum.raw(), first.raw()), "the same sum twice");
}

// Rank 1 does what the fault says, in place of the third sum.
void with_fault(std::string_view fault) {
  const Mesh mesh = mpi::mesh({{"x", -1}});
  const auto total = [&](auto f) { return shard(f, {.mesh = mesh, .in = {{"x"}}, .out = {{}}}); };
  const auto sum = jit(total([](const Array& b) { return psum(b, "x"); }));
  const auto exchange = [&](int64_t first) {  // a row of four for each rank
    const Array each = ones({mesh.ranks()}, i32), place = arange(mesh.ranks());
    const auto f = [=](const Array& b) {
      return ragged_all_to_all(b, {place + first, each}, {place, each}, axis_size("x"), "x");
    };
    shard(f, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(ones({mesh.ranks(), 4}));
  };
  Array x = ones({4});
  for (int i = 0; i < 5 || fault == "runs"; ++i) {
    if (i == 2 && mesh.rank() == 1) {
      if (fault == "throws") zeros({2}) + zeros({3});
      if (fault == "empty") throw std::runtime_error("");
      if (fault == "dies") std::raise(SIGKILL);
      if (fault == "sleeps") std::this_thread::sleep_for(std::chrono::seconds(60));
      if (fault == "memory") memory::set_limit(1), x = ones({1 << 20}) * 2;
      if (fault == "order") total([](const Array& b) { return psum(b, "x"); })(x);
      if (fault == "mesh") mpi::mesh({{"y", -1}});
      if (fault == "rows") {
        try {
          exchange(1);
        } catch (const IndexError&) {  // it is not the end of this rank
          std::this_thread::sleep_for(std::chrono::seconds(60));
        }
      }
      if (fault == "other") jit(total([](const Array& b) { return psum(psum(b, "x"), "x"); }))(x);
    } else if (i == 2 && fault == "rows") {
      exchange(0);
    } else if (i == 2 && fault == "mesh") {
      mpi::mesh({{"z", -1}});
    } else if (i == 2 && fault == "other") {
      jit(total([](const Array& b) { return pmax(b, "x"); }))(x);
    }
    sum(x);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return mpi::run(argc, argv, [&] {
    const std::string fault = argc > 1 ? argv[1] : "";
    if (!fault.empty()) {
      with_fault(fault);
      return 0;
    }
    random_programs(40);
    large_arrays();
    if (mpi::rank() == 0) std::cout << "ranks: " << mpi::ranks() << ", all equal\n";
    return 0;
  });
}
