// A table of embeddings that is cut by rows over ranks. Each rank asks for rows that others have, and gets them by ragged_all_to_all;
// the gradient goes the same way back, into the rows of the rank that has them.
//
//   mpirun -n 4 embedding_ranks [ROWS OF A RANK] [LOOKUPS OF A RANK] [WIDTH]        (--plan RANKS before these: the plan of one of
//   so many)
#include <algorithm>
#include <cmath>

#include "report.h"

using neap::Array;

// Rows `ids` of the table of all ranks, of which `rows` is this rank's block. Each rank asks each other one for the rows that it
// wants of it, and gets those. The plan has room for as many as a rank is asked for where ids are spread at random; where one is
// asked for more, the ranks go on in rounds of some lookups each.
Array lookup(const Array& rows, const Array& ids) {
  const int64_t ranks = neap::axis_size("x"), lookups = ids.shape()[0], width = rows.shape()[1];
  if (lookups == 0) return neap::zeros({0, width});
  const int64_t room = std::min(ranks * lookups, lookups + 4 * static_cast<int64_t>(std::sqrt(lookups)));
  const int64_t some = std::max<int64_t>(1, room / (4 * ranks)), rounds = (lookups + some - 1) / some;
  const Array owner = neap::floor_divide(ids, rows.shape()[0]), rank = neap::axis_index("x");
  const Array order = neap::argsort(owner);  // lookups, those of rank 0 first
  const Array wanted = neap::take(ids - owner * rows.shape()[0], order);
  const Array counts = neap::all_gather(neap::bincount(owner, ranks), "x");  // [who asks, whom]
  const Array ends = neap::cumsum(counts, 1);
  // What `count` lookups from `first` on get, with room for `most` that this rank is asked for.
  const auto get = [=](const Array& r, const Array& first, int64_t count, int64_t most) {
    const Array begin = neap::clip(ends - counts, first, first + count), sizes = neap::clip(ends, first, first + count) - begin;
    const Array own = neap::take(begin, rank), asked = neap::take(sizes, rank), asks = neap::take(sizes, rank, 1);
    const neap::RaggedRows theirs{neap::cumsum(asks) - asks, asks};
    const Array list = neap::ragged_all_to_all(wanted, {own, asked}, theirs, most, "x");
    return neap::ragged_all_to_all(neap::take(r, list), theirs, {own - first, asked}, count, "x");
  };
  const Array got = neap::cond(
      neap::max(neap::sum(counts, {0})) <= room, [=](const Array& r) { return get(r, neap::array(0), lookups, room); },
      neap::checkpoint([=](const Array& r) {  // of which the other branch has nothing to keep for the gradient
        const auto round = [=](const Array& i) { return get(r, i * some, some, some * ranks); };
        return neap::reshape(neap::map(round, neap::arange(rounds)), {rounds * some, width})[{neap::slice(0, lookups)}];
      }),
      rows);
  const Array place = neap::zeros({lookups}, neap::i32).at({order}).set(neap::arange(lookups));  // of each lookup in that order
  return neap::take(got, place);
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
