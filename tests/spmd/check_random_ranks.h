// A random program on threads that exchange messages, beside emulated ranks.
#pragma once

#include "tests/environment.h"
#include "tests/spmd/random_ranks.h"
#include "tests/spmd/thread_ranks.h"

namespace neap {

inline const std::vector<Mesh::Axes>& meshes() {
  static const std::vector<Mesh::Axes>& all =
      *new std::vector<Mesh::Axes>{{{"x", 2}}, {{"x", 3}}, {{"x", 2}, {"y", 2}}, {{"y", 5}}, {{"x", 1}, {"y", 3}}};
  return all;
}

inline ShardOptions options(const Mesh& mesh) {
  std::vector<std::string> all;
  for (const auto& [name, size] : mesh.axes()) all.push_back(name);
  return {.mesh = mesh, .in = {PartitionSpec({all[0]})}, .out = {PartitionSpec(all)}};
}

/// Every value of every rank is the same, to the bit; of every other program with as many messages beside its steps as
/// there can be.
inline void check_random_ranks(uint64_t seed) {
  const Environment beside("NEAP_OVERLAP", seed % 2 == 0 ? "all" : "");
  const Mesh::Axes axes = meshes()[seed % meshes().size()];
  const Array x = random::randint(random::key(seed), {axes[0].second * 3, 2}, -8, 9);
  const auto program = [&](const Mesh& mesh) {
    return jit(shard([&](const Array& block) { return RandomRanks(seed, axes)(block); }, options(mesh)));
  };
  const std::vector<Array> all = program(Mesh::emulated(axes))(x);
  on_threads(axes, [&](const Mesh& mesh) {
    const std::vector<Array> mine = program(mesh)(mesh.local(x, {axes[0].first.c_str()}));
    const PartitionSpec out = options(mesh).out[0];
    for (size_t i = 0; i < all.size(); ++i)
      expect_same(mine[i], mesh.local(all[i], out), "seed " + std::to_string(seed) + ", value " + std::to_string(i));
  });
}

}  // namespace neap
