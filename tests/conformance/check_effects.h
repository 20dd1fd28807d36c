// What programs call of the host, beside what they call where the reference runs them.
#pragma once

#include "tests/conformance/check_program.h"
#include "tests/conformance/effect_program.h"
#include "trace/graph/effects.h"

namespace neap::conformance {

/// What f(x) gives and says where each op is evaluated by the reference as it comes.
template <class F>
Run by_reference(const F& f, const Array& x) {
  const eager_reference reference;
  return called([&](const Arrays& in) { return Arrays{f(in[0])}; }, {x});
}

inline Graph graph_of(const EffectProgram& program) {
  return tracing::trace_closed(std::vector{program.input.aval()},
                               [&](const Arrays& in) { return Arrays{program(in[0])}; });
}

/// But for what rules of derivatives say.
inline std::vector<std::string> without_rules(const std::string& said) {
  std::vector<std::string> lines = lines_of(said);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("rule"); });
  return lines;
}

inline void check_effects(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const EffectProgram program(seed);
  Graph graph;
  try {
    const Run want = by_reference(program, program.input);
    if (program.derives())
      EXPECT_EQ(without_rules(want.said), without_rules(by_reference(*program.block, program.input).said))
          << "a derivative";
    EXPECT_EQ(printed([&] { graph = graph_of(program); }), "") << "tracing";
    const Run planned = called(jitted(graph), {program.input});
    expect_same(planned, want, "planned");
    check_graph(graph, {program.input}, seed);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << program.how << "\n" << tracing::print(graph);
}

}  // namespace neap::conformance
