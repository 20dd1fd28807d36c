// Every op is made by some program at random.
#include <set>

#include "tests/conformance/check_effects.h"
#include "tests/conformance/complex_program.h"
#include "tests/conformance/smooth_program.h"
#include "tests/conformance/transformed_program.h"
#include "tests/spmd/random_ranks.h"

namespace neap::conformance {
namespace {

void add_ops(const Graph& graph, std::set<Op>& ops) {
  for (const tracing::Node& node : graph.nodes) {
    ops.insert(node.op);
    for (const auto& [attr, value] : node.attrs.items())
      if (const auto* body = std::get_if<tracing::GraphPtr>(&value)) add_ops(**body, ops);
  }
}

TEST(Vocabulary, EveryOpIsMade) {
  std::set<Op> ops;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ProgramMaker any(seed);
    any.make();
    add_ops(any.graph, ops);
    if (seed % 8) continue;
    ComplexProgram of_complex(seed, true);
    of_complex.make();
    add_ops(of_complex.graph, ops);
  }
  const Aval aval{{3}, f64};
  const auto f = SmoothProgram::sum_of_all;
  add_ops(tracing::trace_closed(std::vector{aval, aval},
                                [&](const Arrays& in) {
                                  const auto args = std::tuple(in[0], in[1]);
                                  return Arrays{f(in[0], in[1]), jvp(f, args, args).tangent, grad(f)(in[0], in[1])};
                                }),
          ops);
  // Programs of ranks are made apart (tests/spmd/random_ranks.h).
  const Mesh::Axes axes{{"x", 2}, {"y", 2}};
  const PartitionSpec all, cut{"x", "y"};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto program = [&](const Array& block, const Array& whole) {
      return std::tuple(RandomRanks(seed, axes)(block), psum(sum(block * whole), {"x", "y"}));
    };
    const auto sharded =
        shard(program, {.mesh = Mesh::planned(axes), .in = {PartitionSpec{"x"}, all}, .out = {cut, all}});
    add_ops(tracing::trace_closed(std::vector{Aval{{3, 2}, f64}, Aval{{}, f64}},
                                  [&](const Arrays& in) { return tree_leaves(sharded(in[0], in[1])); }),
            ops);
  }
  std::vector<std::string> missing;
  for (const tracing::OpInfo& op : tracing::op_table())
    if (!ops.contains(op.op)) missing.emplace_back(op.name);
  // Those of fft are the planner's own, the others have no forward derivative.
  EXPECT_EQ(missing, (std::vector<std::string>{"fft_pairs", "rfft_pairs", "irfft_pairs", "custom_vjp", "linear_call"}));
}

}  // namespace
}  // namespace neap::conformance
