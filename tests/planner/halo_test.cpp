// Blocks with the rims of their neighbours: nothing is copied for them, neither into a padded block nor from iteration
// to iteration.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include "planner/plan/queries.h"
#include "planner/search/make_plan.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

TEST(Halo, NothingIsCopied) {
  const auto step = [](const Array& rows) {
    const int64_t n = rows.shape()[0];
    const Array u = rows[{slice(1, n - 1)}];
    return u + 0.2f * (rows[{slice(0, n - 2)}] + rows[{slice(2, n)}] - 2 * u);
  };
  const auto steps = [&](const Array& start) {
    return fori_loop(0, 10, [&](const Array&, const Array& u) { return step(halo_exchange(u, "x", 1)); }, start);
  };
  const auto sharded = shard(steps, {.mesh = Mesh::planned({{"x", 4}}), .in = {{"x"}}, .out = {{"x"}}});
  const Aval block{{256, 512}, f32};
  const tracing::TracedFunction traced =
      tracing::trace(std::array{block}, [&](const tracing::Arrays& in) { return tracing::Arrays{sharded(in[0])}; });
  const PlanData plan = make_plan(traced.graph, {});
  // Argument, result, what a step makes, and rows.
  EXPECT_LT(plan.peak_bytes, 3 * block.bytes() + 16 * 2048);
  const auto loop = std::ranges::find_if(plan.steps, [](const PlanStep& s) { return s.body != nullptr; });
  ASSERT_NE(loop, plan.steps.end());
  for (const int b : loop->body->outputs)
    if (loop->body->buffers[b].bytes >= kFewestTraded) EXPECT_TRUE(may_trade(*loop->body, b));
}

}  // namespace
}  // namespace neap::planner
