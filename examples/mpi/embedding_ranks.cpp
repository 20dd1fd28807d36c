// A table of embeddings that is cut by rows over ranks. Each rank asks for rows that others have, and gets them by all_to_all;
// the gradient goes the same way back, into the rows of the rank that has them.
//
//   mpirun -n 4 embedding_ranks [ROWS OF A RANK] [LOOKUPS OF A RANK] [WIDTH]        (--plan RANKS before these: the plan of one of
//   so many)
#include <algorithm>
#include <cmath>

#include "report.h"

using neap::Array;

// Rows `ids` of the table of all ranks, of which `rows` is this rank's block. Each rank sends each other one a list of the rows that
// it wants of it, and gets them. Lists have a length that the plan knows: what they need where ids are spread at random. Where one
// is longer, the ranks go on in rounds, as many as there can be.
Array lookup(const Array& rows, const Array& ids) {
  const int64_t ranks = neap::axis_size("x"), lookups = ids.shape()[0], width = rows.shape()[1];
  if (lookups == 0) return neap::zeros({0, width});
  const int64_t mean = (lookups + ranks - 1) / ranks;
  const int64_t length = std::min(lookups, mean + 3 * static_cast<int64_t>(std::sqrt(mean)) + 16);
  const Array owner = neap::floor_divide(ids, rows.shape()[0]);
  const Array counts = neap::cumsum((neap::expand_dims(neap::arange(ranks), 1) == owner).astype(neap::i32), 1);
  const Array number = neap::squeeze(neap::take_along_axis(counts, neap::expand_dims(owner, 0), 0), {0}) - 1;  // among its owner's
  const auto [turn, place] = neap::divmod(number, length);
  const auto round = [=, turn = turn, place = place](const Array& r, const Array& i) {
    const Array in_list = neap::where(turn == i, place, length);  // or beyond it, where nothing is set
    const Array list = neap::zeros({ranks, length}, neap::i32).at({owner, in_list}).set(ids - owner * r.shape()[0]);
    return neap::reshape(neap::all_to_all(neap::take(r, neap::all_to_all(list, "x", 0, 0), 0), "x", 0, 0), {ranks * length, width});
  };
  const Array slot = owner * length + place;  // in the lists of all owners
  const Array fit = neap::pmax(neap::max(turn), "x") == 0;
  const Array got = neap::cond(
      fit, [=](const Array& r) { return round(r, neap::array(0)); },
      [=, turn = turn](const Array& r) {  // the rows as they are asked for, and nothing
        const auto more = [=](const Array& i, const Array& sum) {
          return neap::where(neap::expand_dims(turn == i, 1), neap::take(round(r, i), slot, 0), sum);
        };
        const Array all = neap::fori_loop(0, (lookups + length - 1) / length, more, neap::zeros({lookups, width}));
        return neap::pad(all, {0, 0}, {ranks * length - lookups, 0});
      },
      rows);
  return neap::take(got, neap::where(fit, slot, neap::arange(lookups, neap::i32)), 0);
}

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t planned = planned_ranks(argc, argv);
    const int64_t rows = number(argc, argv, 1, 5000), lookups = number(argc, argv, 2, 2000), width = number(argc, argv, 3, 32);
    const neap::Mesh mesh = mesh_of(planned);
    const neap::PartitionSpec cut{"x"};
    const int64_t n = mesh.ranks();
    auto loss = [](const Array& embedded, const Array& target) { return neap::sum(neap::square(embedded - target)) / 2; };
    auto gradient = neap::jit(neap::shard(
        [=](const Array& table, const Array& ids, const Array& target) {
          return neap::value_and_grad([=](const Array& t) { return loss(lookup(t, ids), target); })(table).second;
        },
        {.mesh = mesh, .in = {cut, cut, cut}, .out = {cut}}));
    if (planned > 0) return std::cout << gradient.plan(neap::spec({rows, width}, neap::f32), neap::spec({lookups}, neap::i32),
                                                   neap::spec({lookups, width}, neap::f32)) << '\n', 0;
    const Array table = neap::random::normal(neap::random::key(1), {rows * n, width});
    const Array ids = neap::random::randint(neap::random::key(2), {lookups * n}, 0, rows * n);
    const Array target = neap::random::normal(neap::random::key(3), {lookups * n, width});
    const Array my_rows = mesh.local(table, cut), my_ids = mesh.local(ids, cut), my_target = mesh.local(target, cut);
    const auto [got, seconds] = reported("gradient of a table", gradient, my_rows, my_ids, my_target);
    if (mesh.rank() == 0) std::cout << 1e-6 * static_cast<double>(lookups * n) / seconds << " million lookups a second\n";
    // Ids that are spread, and all of one rank's rows.
    auto alone = neap::jit(neap::grad([=](const Array& t, const Array& i, const Array& y) { return loss(neap::take(t, i, 0), y); }));
    const auto is_right = [&](const Array& mine, const Array& all) {
      return neap::allclose(mine, mesh.local(alone(table, all, target), cut), 1e-4, 1e-4).item<bool>();
    };
    const Array crowded = neap::mod(ids, rows);
    return is_right(got, ids) && is_right(gradient(my_rows, mesh.local(crowded, cut), my_target), crowded) ? 0 : 1;
  });
}
