// Forces between bodies that are cut over ranks: blocks go round in a ring, and each rank adds what those that come do to
// its own. The gradient of the energy, by the same ring backwards, is the force again.
//
//   mpirun -n 4 nbody_ranks [BODIES OF A RANK]
#include "report.h"

using neap::Array;

// Of unit masses, softened: what `others` do to each of `bodies` [n, 3].
Array potential(const Array& bodies, const Array& others) {
  const Array apart = neap::expand_dims(bodies, 1) - neap::expand_dims(others, 0);
  return -neap::sum(neap::rsqrt(neap::sum(neap::square(apart), {2}) + 0.01f), {1});
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t bodies = number(argc, argv, 1, 512);
    const neap::Mesh mesh = neap::mpi::mesh({{"x", -1}});
    const neap::PartitionSpec cut{"x"};
    std::vector<std::pair<int64_t, int64_t>> ring;
    for (int64_t r = 0; r < mesh.ranks(); ++r) ring.emplace_back(r, (r + 1) % mesh.ranks());

    auto energy = [=](const Array& mine) {  // of this rank's bodies; those of all ranks are what is differentiated
      struct Round {
        Array total, visiting;
      };
      const Round end = neap::fori_loop(
          0, mesh.ranks(),
          [&](const Array&, const Round& round) {
            const Array added = neap::checkpoint(potential)(mine, round.visiting);  // no pairs are kept
            return Round{round.total + added, neap::ppermute(round.visiting, "x", ring)};
          },
          Round{neap::zeros({bodies}), mine});
      return neap::sum(end.total) / 2;
    };
    auto forces = neap::jit(neap::shard([=](const Array& mine) { return -neap::grad(energy)(mine); },
                                        {.mesh = mesh, .in = {cut}, .out = {cut}}));
    const neap::Shape whole{bodies * mesh.ranks(), 3};
    const Array all = neap::random::normal(neap::random::key(3), whole), mine = mesh.local(all, cut);
    const auto [got, seconds] = reported("forces in a ring", forces, mine);
    if (mesh.rank() == 0)
      std::cout << 1e-6 * static_cast<double>(whole[0] * whole[0]) / seconds << " million pairs a second\n";

    const Array expected = -neap::jit(neap::grad([](const Array& x) { return neap::sum(potential(x, x)) / 2; }))(all);
    return neap::allclose(got, mesh.local(expected, cut), 1e-3, 1e-3).item<bool>() ? 0 : 1;
  });
}
