// Forces between bodies that are cut over ranks: blocks go round in a ring, and each rank adds what those that come do to
// its own. They are the gradient of the energy, which one process checks.
//
//   mpirun -n 4 nbody_ranks [BODIES OF A RANK]        (--plan RANKS before these: the plan of one of so many)
#include "report.h"

using neap::Array;

struct Bodies {
  Array x, y, z;
};

// What `others` do to each of `bodies`: of unit masses, softened.
Bodies pull(const Bodies& bodies, const Bodies& others) {
  auto apart = [](const Array& a, const Array& b) { return neap::expand_dims(b, 0) - neap::expand_dims(a, 1); };
  const Array dx = apart(bodies.x, others.x), dy = apart(bodies.y, others.y), dz = apart(bodies.z, others.z);
  const Array r = neap::rsqrt(dx * dx + dy * dy + dz * dz + 0.01f), r3 = r * r * r;
  return {neap::sum(dx * r3, {1}), neap::sum(dy * r3, {1}), neap::sum(dz * r3, {1})};
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t planned = planned_ranks(argc, argv);
    const int64_t bodies = number(argc, argv, 1, 512);
    const neap::Mesh mesh = mesh_of(planned);
    const neap::PartitionSpec cut{"x"};
    std::vector<std::pair<int64_t, int64_t>> ring;
    for (int64_t r = 0; r < mesh.ranks(); ++r) ring.emplace_back(r, (r + 1) % mesh.ranks());

    struct Round {
      Bodies force;
      Array visiting;  // [3, bodies]: one message
    };
    auto forces = neap::jit(neap::shard(
        [=](const Bodies& mine) {
          auto round = [&](const Array&, const Round& now) {
            const Bodies more = pull(mine, {now.visiting[0], now.visiting[1], now.visiting[2]});
            return Round{neap::tree_map([](const Array& a, const Array& b) { return a + b; }, now.force, more),
                         neap::ppermute(now.visiting, "x", ring)};
          };
          const Bodies none = neap::tree_map([](const Array& a) { return neap::zeros_like(a); }, mine);
          return neap::fori_loop(0, mesh.ranks(), round, Round{none, neap::stack({mine.x, mine.y, mine.z})}).force;
        },
        {.mesh = mesh, .in = {cut}, .out = {cut}}));
    const Array part = neap::spec({bodies}, neap::f32);
    if (planned > 0) return std::cout << forces.plan(Bodies{part, part, part}) << '\n', 0;
    const neap::Shape whole{bodies * mesh.ranks()};
    auto numbers = [&](uint64_t seed) { return neap::random::normal(neap::random::key(seed), whole); };
    const Bodies all{numbers(1), numbers(2), numbers(3)};
    const Bodies mine{mesh.local(all.x, cut), mesh.local(all.y, cut), mesh.local(all.z, cut)};
    const auto [got, seconds] = reported("forces in a ring", forces, mine);
    if (mesh.rank() == 0)
      std::cout << 1e-6 * static_cast<double>(whole[0] * whole[0]) / seconds << " million pairs a second\n";

    if (whole[0] > 8192) return 0;  // many bodies are not computed a second time
    auto energy = [](const Bodies& b) {
      auto apart = [](const Array& a) { return neap::square(neap::expand_dims(a, 0) - neap::expand_dims(a, 1)); };
      return -neap::sum(neap::rsqrt(apart(b.x) + apart(b.y) + apart(b.z) + 0.01f)) / 2;
    };
    const Bodies slope = neap::jit(neap::grad(energy))(all);
    return neap::allclose(got.x, -mesh.local(slope.x, cut), 1e-3, 1e-3).item<bool>() &&
                   neap::allclose(got.z, -mesh.local(slope.z, cut), 1e-3, 1e-3).item<bool>()
               ? 0
               : 1;
  });
}
