// A table of embeddings that is cut by rows over ranks. Each rank asks for rows that others have, and gets them by all_to_all;
// the gradient goes the same way back, into the rows of the rank that has them.
//
//   mpirun -n 4 embedding_ranks [ROWS OF A RANK] [LOOKUPS OF A RANK] [WIDTH]        (--plan RANKS before these: the plan of one of
//   so many)
#include "report.h"

using neap::Array;

// Rows `ids` of the table of all ranks, of which `rows` is this rank's block.
Array lookup(const Array& rows, const Array& ids) {
  const Array asked = neap::all_gather(ids, "x");  // [ranks, lookups]: what each rank wants
  const Array place = asked - neap::axis_index("x") * rows.shape()[0];
  const Array mine = place >= 0 && place < rows.shape()[0];
  const Array found = neap::where(neap::expand_dims(mine, -1), neap::take(rows, neap::where(mine, place, 0), 0), 0.0f);
  return neap::sum(neap::all_to_all(found, "x", 0, 0), {0});  // of each row one rank gives more than zeros
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
    const Array expected = neap::jit(neap::grad([=](const Array& t, const Array& i, const Array& y) {
      return loss(neap::take(t, i, 0), y);
    }))(table, ids, target);
    return neap::allclose(got, mesh.local(expected, cut), 1e-4, 1e-4).item<bool>() ? 0 : 1;
  });
}
