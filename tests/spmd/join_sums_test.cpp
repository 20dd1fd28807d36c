// Small sums over ranks, together: fewer messages, the same bits.
#include "planner/rewrite/join_sums.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "planner/plan/plan.h"
#include "tests/spmd/thread_ranks.h"
#include "trace/tracing/tracing.h"

namespace neap {
namespace {

using P = PartitionSpec;

size_t count(const Plan& plan, tracing::Op op) {
  size_t found = 0;
  for (const planner::PlanStep& step : plan.data().steps) {
    const bool first = step.phase != planner::PlanStep::Phase::end;
    if (step.kind == planner::PlanStep::Kind::host && step.group.nodes[0].op == op && first) ++found;
  }
  return found;
}

// Sums of which the second half follow from the first; one is large.
auto sums(const Mesh& mesh) {
  return jit(shard(
      [](const Array& x, const Array& large) {
        std::vector<Array> first, second;
        for (int64_t i = 0; i < 5; ++i) first.push_back(psum(sin(x[{slice(0, 3 + i)}]) * (i + 1), "x"));
        for (const Array& a : first) second.push_back(psum(cos(x[{slice(0, a.shape()[0])}]) * sum(a), "x"));
        return std::tuple(first, second, pmax(sum(x), "x"), pmax(x[0], "x"), psum(large * 2, "x"));
      },
      {.mesh = mesh, .in = {P{"x"}, P{"x"}}, .out = {P{}, P{}, P{}, P{}, P{}}}));
}

TEST(JoinSums, RanksWaitOnceForAllThatAreReady) {
  const Plan plan = sums(Mesh::planned({{"x", 8}})).plan(spec({16}, f32), spec({1 << 20}, f32));
  EXPECT_EQ(count(plan, tracing::Op::psum), 3u) << plan;
  EXPECT_EQ(count(plan, tracing::Op::pmax), 1u) << plan;
}

// What is there first does not wait for what comes last, in whatever order the sums are listed.
TEST(JoinSums, InTheOrderInWhichTheyAreThere) {
  constexpr int kAll = 8;
  const auto f = shard(
      [](Array x) {
        std::vector<Array> sums;
        for (int i = 0; i < kAll; ++i) sums.push_back(x = sin(x));
        for (const size_t i : {7, 0, 6, 1, 5, 2, 4, 3}) sums[i] = psum(sums[i], "x");
        return sums;
      },
      {.mesh = Mesh::planned({{"x", 4}}), .in = {P{"x"}}, .out = {P{}}});
  const Aval block{{1 << 14}, f32};  // 64 KiB
  const tracing::TracedFunction traced =
      tracing::trace(std::array{block}, [&](const tracing::Arrays& in) { return f(in[0]); });
  const std::optional<tracing::Graph> joined = planner::join_sums(traced.graph);
  ASSERT_TRUE(joined);
  std::vector<int> depth(joined->values.size(), 0);  // sines on the way to each value
  std::vector<int> sent;
  for (const tracing::Node& node : joined->nodes) {
    int before = 0;
    for (const tracing::ValueId v : node.inputs) before = std::max(before, depth[v]);
    for (const tracing::ValueId v : node.outputs) depth[v] = before + (node.op == tracing::Op::sin ? 1 : 0);
    if (node.op == tracing::Op::psum) sent.push_back(before);
  }
  EXPECT_THAT(sent, testing::UnorderedElementsAre(kAll / 2, kAll));
}

TEST(JoinSums, KeepBits) {
  const Array x = random::normal(random::key(1), {3 * 16}), large = random::normal(random::key(2), {3 * 50000});
  const auto expected = sums(Mesh::emulated({{"x", 3}}))(x, large);
  on_threads({{"x", 3}}, [&](const Mesh& mesh) {
    const auto got = sums(mesh)(mesh.local(x, {"x"}), mesh.local(large, {"x"}));
    for (size_t i = 0; i < 5; ++i) {
      expect_same(std::get<0>(got)[i], std::get<0>(expected)[i]);
      expect_same(std::get<1>(got)[i], std::get<1>(expected)[i]);
    }
    expect_same(std::get<2>(got), std::get<2>(expected));
    expect_same(std::get<3>(got), std::get<3>(expected));
    expect_same(std::get<4>(got), std::get<4>(expected));
  });
}

}  // namespace
}  // namespace neap
