// Loops: carries in place where that is sound, slices where they belong.
#include "planner/fuse/insert_copies.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"

namespace neap::planner {
namespace {

struct Loop {
  Graph body;
  int64_t consts = 0, carries = 0, length = 10;
};

tracing::NodeId add_loop(Graph& g, const Loop& loop, std::vector<ValueId> operands) {
  return g.add_node(Op::scan, std::move(operands),
                    {{Attr::body, std::make_shared<const Graph>(loop.body)},
                     {Attr::length, loop.length},
                     {Attr::num_consts, loop.consts},
                     {Attr::num_carry, loop.carries},
                     {Attr::reverse, int64_t{0}}},
                    std::source_location::current());
}

const PlanStep& scan_of(const PlanData& plan) {
  for (const PlanStep& step : plan.steps) {
    if (step.kind == PlanStep::Kind::scan) return step;
  }
  throw std::runtime_error("no scan in\n" + to_text(plan));
}

// What planner/plan/plan.h promises of loops.
void check_contract(const PlanData& plan, const PlanStep& step) {
  const PlanData& body = *step.body;
  const auto consts = step.group.nodes[0].attrs.integer(Attr::num_consts);
  const auto carries = step.group.nodes[0].attrs.integer(Attr::num_carry);
  ASSERT_EQ(step.reads.size(), body.inputs.size());
  for (int64_t j = 0; j < carries; ++j) EXPECT_EQ(step.reads[consts + j], step.writes[j]);
  std::vector<int> seen = body.inputs;
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    const int b = body.outputs[k];
    EXPECT_EQ(std::ranges::count(seen, b), 0) << "output " << k << " is not a buffer of its own";
    seen.push_back(b);
    const PlanBuffer& buffer = body.buffers[b];
    if (static_cast<int64_t>(k) < carries) {
      EXPECT_TRUE(buffer.alias_of == body.inputs[consts + k] || (buffer.alias_of < 0 && buffer.offset >= 0));
    } else {
      EXPECT_EQ(buffer.offset, -1);
      EXPECT_EQ(buffer.alias_of, -1);
    }
  }
  if (body.arena_bytes > 0) {
    ASSERT_EQ(step.scratch.size(), 1u);
    EXPECT_EQ(plan.buffers[step.scratch[0]].aval.bytes(), body.arena_bytes);
  }
}

TEST(Scan, AnElementwiseCarryIsUpdatedInPlace) {
  Loop loop{.carries = 1};
  const ValueId c = loop.body.add_input({{1000}, DType::f32}), x = loop.body.add_input({{1000}, DType::f32});
  loop.body.outputs = {loop.body.add(Op::add, {loop.body.add(Op::sin, {c}), x})};
  Graph g;
  const ValueId start = g.add_input({{1000}, DType::f32}), xs = g.add_input({{10, 1000}, DType::f32});
  g.outputs = {g.nodes[add_loop(g, loop, {start, xs})].outputs[0]};
  const PlanData plan = make_plan(g, {});
  const PlanStep& step = scan_of(plan);
  check_contract(plan, step);
  EXPECT_EQ(step.body->arena_bytes, 0u);
  EXPECT_EQ(plan.peak_bytes, 4032u * 2 + 40000) << to_text(plan);  // rounded up to 64
  EXPECT_EQ(plan.steps.size(), 2u);                                // the argument is copied, then the loop
}

TEST(Scan, ACarryThatMovesElementsIsNot) {
  Loop loop{.carries = 1};
  const ValueId c = loop.body.add_input({{64, 64}, DType::f32});
  loop.body.outputs = {loop.body.add(Op::transpose, {c}, {{Attr::permutation, Ints{1, 0}}})};
  Graph g;
  g.outputs = {g.nodes[add_loop(g, loop, {g.add_input({{64, 64}, DType::f32})})].outputs[0]};
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
  EXPECT_EQ(scan_of(plan).body->arena_bytes, 64u * 64 * 4);
}

TEST(Scan, OldValuesReadLateKeepTheCarryApart) {
  Loop loop{.carries = 2};  // (a, b) -> (b backwards, a)
  const ValueId a = loop.body.add_input({{100}, DType::f32}), b = loop.body.add_input({{100}, DType::f32});
  loop.body.outputs = {loop.body.add(Op::reverse, {b}, {{Attr::axes, Ints{0}}}), a};
  Graph g;
  const ValueId x = g.add_input({{100}, DType::f32});
  const tracing::NodeId scan = add_loop(g, loop, {x, x});
  g.outputs = g.nodes[scan].outputs;
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
  EXPECT_NE(plan.outputs[0], plan.outputs[1]);
  // Whichever is written first, the other's old value must survive it.
  const PlanData& body = *scan_of(plan).body;
  int apart = 0;
  for (const int output : body.outputs) apart += body.buffers[output].alias_of < 0;
  EXPECT_GE(apart, 1);
}

TEST(Scan, CarriesThatOneKernelExchangesStayInPlace) {
  Loop loop{.carries = 2};  // (a, b) -> (b + 1, a)
  const ValueId a = loop.body.add_input({{100}, DType::f32}), b = loop.body.add_input({{100}, DType::f32});
  loop.body.outputs = {loop.body.add(Op::add, {b, splat(loop.body, 1, DType::f32, {100})}), a};
  Graph g;
  const ValueId x = g.add_input({{100}, DType::f32});
  g.outputs = g.nodes[add_loop(g, loop, {x, x})].outputs;
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
  EXPECT_EQ(scan_of(plan).body->steps.size(), 1u);
  EXPECT_EQ(scan_of(plan).body->arena_bytes, 0u) << to_text(plan);
}

TEST(Scan, OutputsThatAreInputsOrDoublesAreCopied) {
  Loop loop{.consts = 1, .carries = 1};
  const ValueId k = loop.body.add_input({{3}, DType::f32}), c = loop.body.add_input({{3}, DType::f32});
  const ValueId next = loop.body.add(Op::multiply, {c, k});
  loop.body.outputs = {next, next, k, c};
  Graph g;
  const ValueId x = g.add_input({{3}, DType::f32});
  g.outputs = g.nodes[add_loop(g, loop, {x, x})].outputs;
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
}

TEST(Scan, SlicesAreWrittenWhereTheyBelong) {
  Loop loop{.carries = 1, .length = 8};
  const ValueId key = loop.body.add_input({{2}, DType::u32});
  const ValueId keys = loop.body.add(Op::random_split, {key}, {{Attr::shape, Ints{2}}});
  const auto row = [&](int64_t i) {
    return reshape(
        loop.body,
        loop.body.add(Op::slice, {keys},
                      {{Attr::start, Ints{i, 0}}, {Attr::limit, Ints{i + 1, 2}}, {Attr::stride, Ints{1, 1}}}),
        {2});
  };
  loop.body.outputs = {row(0), normal(loop.body, row(1), {16384, 16384}, DType::bf16)};
  Graph g;
  g.outputs = {g.nodes[add_loop(g, loop, {g.add_input({{2}, DType::u32})})].outputs[1]};
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
  EXPECT_LE(plan.peak_bytes, size_t{8} * 16384 * 16384 * 2 + 512) << to_text(plan);
}

TEST(Scan, ARowOfACarryIsUpdatedInPlace) {
  Loop loop{.carries = 1};
  const ValueId table = loop.body.add_input({{1000, 64}, DType::f32}), at = loop.body.add_input({{2}, DType::i64});
  const ValueId row = splat(loop.body, 1, DType::f32, {1, 64});
  loop.body.outputs = {loop.body.add(Op::dynamic_update_slice, {table, row, at})};
  Graph g;
  const ValueId start = g.add_input({{1000, 64}, DType::f32}), xs = g.add_input({{10, 2}, DType::i64});
  g.outputs = {g.nodes[add_loop(g, loop, {start, xs})].outputs[0]};
  const PlanData plan = make_plan(g, {});
  check_contract(plan, scan_of(plan));
  const PlanData& body = *scan_of(plan).body;
  EXPECT_EQ(body.arena_bytes, 0u) << to_text(plan);
  EXPECT_TRUE(body.steps.back().operand_in_place);
}

TEST(Scan, NaiveLoopsKeepTheContractToo) {
  Loop loop{.carries = 1};
  const ValueId c = loop.body.add_input({{10}, DType::f32});
  loop.body.outputs = {loop.body.add(Op::exp, {loop.body.add(Op::sin, {c})}), c};
  Graph g;
  g.outputs = g.nodes[add_loop(g, loop, {g.add_input({{10}, DType::f32})})].outputs;
  const PlanData plan = make_plan(g, {.naive = true});
  check_contract(plan, scan_of(plan));
}

}  // namespace
}  // namespace neap::planner
