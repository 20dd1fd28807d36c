// Every op is made by some program at random.
#include <set>

#include "tests/conformance/check_effects.h"
#include "tests/conformance/complex_program.h"
#include "tests/conformance/smooth_program.h"
#include "tests/conformance/transformed_program.h"

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
  for (uint64_t seed = 0; seed < 150; ++seed) {
    ProgramMaker any(seed);
    any.make();
    add_ops(any.graph, ops);
    ComplexProgram of_complex(seed, true);
    of_complex.make();
    add_ops(of_complex.graph, ops);
    const SmoothProgram smooth(seed);
    add_ops(tracing::trace_closed(std::vector{Aval{{std::ssize(smooth.point)}, f64}},
                                  [&](const Arrays& in) { return Arrays{grad(smooth)(in[0])}; }),
            ops);
  }
  std::vector<std::string> missing;
  for (const tracing::OpInfo& op : tracing::op_table())
    if (!ops.contains(op.op)) missing.emplace_back(op.name);
  EXPECT_EQ(missing, (std::vector<std::string>{}));
}

}  // namespace
}  // namespace neap::conformance
