// Heat in a plate that is cut by rows over ranks, and the adjoint: how the misfit to a target changes with the temperature
// at the start. A step needs a row of each neighbour, and so does each step of the adjoint.
//
//   mpirun -n 4 heat_ranks [ROWS OF A RANK] [COLUMNS] [STEPS]        (--plan RANKS before these: the plan of one of so many)
#include "report.h"

using neap::Array, neap::slice;

// `rows` has a row more on both sides.
Array stepped(const Array& rows) {
  const int64_t n = rows.shape()[0];
  Array u = rows[{slice(1, n - 1)}], up = rows[{slice(0, n - 2)}], down = rows[{slice(2, n)}];
  Array left = neap::pad(u, {0, 1}, {0, -1}), right = neap::pad(u, {0, -1}, {0, 1});
  return u + 0.2f * (up + down + left + right - 4 * u);
}

template <class WithHalo>
Array after(int64_t steps, const Array& start, WithHalo with_halo) {
  return neap::fori_loop(0, steps, [&](const Array&, const Array& u) { return stepped(with_halo(u)); }, start);
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t planned = planned_ranks(argc, argv);
    const int64_t rows = number(argc, argv, 1, 64), columns = number(argc, argv, 2, 256);
    const int64_t steps = number(argc, argv, 3, 100);
    const neap::Mesh mesh = mesh_of(planned);
    const neap::PartitionSpec cut{"x"};

    // On a rank: its rows of the gradient. Each rank's misfit is that of its rows; the derivative is of their sum.
    auto misfit = [=](const Array& start, const Array& target, auto with_halo) {
      return neap::sum(neap::square(after(steps, start, with_halo) - target));
    };
    auto halo = [](const Array& u) { return neap::halo_exchange(u, "x", 1); };
    auto gradient = neap::jit(neap::shard(
        [=](const Array& start, const Array& target) {
          return neap::grad([=](const Array& u) { return misfit(u, target, halo); })(start);
        },
        {.mesh = mesh, .in = {cut, cut}, .out = {cut}}));

    if (planned > 0) return std::cout << gradient.plan(neap::spec({rows, columns}, neap::f32), neap::spec({rows, columns}, neap::f32)) << '\n', 0;
    const neap::Shape whole{rows * mesh.ranks(), columns};
    auto numbers = [&](int seed) {
      return neap::jit(neap::shard(
          [=](const Array& key) { return neap::local_block(neap::random::uniform(key, whole), "x"); },
          {.mesh = mesh, .in = {{}}, .out = {cut}}))(neap::random::key(static_cast<uint64_t>(seed)));
    };
    const Array start = numbers(0), target = numbers(1);
    const auto [got, seconds] = reported("heat and its adjoint", gradient, start, target);
    if (mesh.rank() == 0)
      std::cout << 2e-6 * static_cast<double>(whole[0] * columns * steps) / seconds << " million cells a second\n";

    if (whole[0] * columns > 1 << 20) return 0;  // large plates are not computed a second time
    auto wall = [](const Array& u) { return neap::pad(u, {1, 0}, {1, 0}); };
    const Array all = neap::jit(neap::grad([=](const Array& u, const Array& t) { return misfit(u, t, wall); }))(
        neap::random::uniform(neap::random::key(0), whole), neap::random::uniform(neap::random::key(1), whole));
    return neap::allclose(got, mesh.local(all, cut), 1e-4, 1e-5).item<bool>() ? 0 : 1;
  });
}
