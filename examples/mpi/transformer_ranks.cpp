// Data-parallel training of the transformer of examples/: each rank has the parameters and its rows of the batch, 16;
// gradients are averaged over ranks. A step of n ranks is one process's of 16 n rows, but for rounding.
//
//   mpirun -n 4 transformer_ranks [STEPS]        (--plan RANKS before these: the plan of one of so many)
#include <cmath>

#include "examples/optimizers.h"
#include "examples/transformer.h"
#include "report.h"

using neap::Array;

int main(int argc, char** argv) {
  return neap::mpi::run(argc, argv, [&] {
    const int64_t planned = planned_ranks(argc, argv);
    const neap::Mesh mesh = mesh_of(planned);
    const int64_t steps = number(argc, argv, 1, 5), rows = batch * mesh.ranks();
    const Array corpus = neap::random::randint(neap::random::key(5), {20000}, 0, vocabulary);  // stands for a text
    const optim::Adam adam = optim::adamw(3e-3f, 1e-2f);

    // `mine` picks this rank's rows, `all` averages over ranks.
    auto step_of = [&](auto mine, auto all) {
      return [=](const Model& m, const optim::Adam::State<Model>& s, const Array& text, const Array& key) {
        const Array starts = mine(neap::random::randint(key, {rows, 1}, 0, text.shape()[0] - length));
        auto [value, g] = all(neap::value_and_grad(loss)(m, neap::take(text, starts + neap::arange(length + 1))));
        auto [next, after] = adam.update(m, g, s);
        return std::tuple{next, after, value};
      };
    };
    const neap::PartitionSpec whole{};
    auto on_ranks = neap::jit(
        neap::shard(step_of([](const Array& rows) { return neap::local_block(rows, "x"); },
                            [](const auto& tree) { return neap::pmean(tree, "x"); }),
                    {.mesh = mesh, .in = {whole, whole, whole, whole}, .out = {whole}}));
    auto alone = neap::jit(step_of([](const Array& rows) { return rows; }, [](const auto& tree) { return tree; }));

    Model model = init(neap::random::key(1), 2);
    auto state = adam.init(model);
    if (planned > 0) return std::cout << on_ranks.plan(model, state, corpus, neap::random::key(0)) << '\n', 0;
    const auto [timed, seconds] = reported("a step of training", on_ranks, model, state, corpus, neap::random::key(0));
    auto run = [&](auto& step) {
      auto [m, s] = std::pair{model, state};
      float last = 0;
      for (int64_t i = 0; i < steps; ++i) {
        auto [next, after, value] = step(m, s, corpus, neap::random::fold_in(neap::random::key(2), i));
        m = next, s = after, last = value.template item<float>();
      }
      return last;
    };
    const float here = run(on_ranks), there = run(alone);
    if (mesh.rank() == 0)
      std::cout << "loss " << here << " after " << steps << " steps, of one process " << there << '\n'
                << static_cast<double>(rows * length) / seconds << " characters a second\n";
    return std::abs(here - there) < 2e-3f ? 0 : 1;
  });
}
