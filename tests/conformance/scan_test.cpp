// Loops: constants, carries, stacked inputs and outputs, in both directions, nested, with what a body may hold.
#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

struct Loop {
  Graph body;
  int64_t consts = 0, carries = 0, length = 0;
  bool reverse = false;
};

std::vector<ValueId> scan(Graph& g, const Loop& loop, std::vector<ValueId> operands) {
  const tracing::NodeId node = g.add_node(Op::scan, std::move(operands),
                                          {{Attr::body, std::make_shared<const Graph>(loop.body)},
                                           {Attr::length, loop.length},
                                           {Attr::num_consts, loop.consts},
                                           {Attr::num_carry, loop.carries},
                                           {Attr::reverse, loop.reverse ? 1 : 0}},
                                          std::source_location::current());
  return g.nodes[node].outputs;
}

// carry + w * x and the carry's old value.
Graph accumulate(DType t, Shape shape) {
  Graph body;
  const ValueId w = body.add_input({shape, t}), carry = body.add_input({shape, t}), x = body.add_input({shape, t});
  body.outputs = {body.add(Op::add, {carry, body.add(Op::multiply, {w, x})}), carry};
  return body;
}

void add_loop(Sheet& s, const std::string& name, const Loop& loop, const std::vector<ValueId>& operands) {
  for (const ValueId v : scan(s.graph, loop, operands)) s.output(name, v);
}

Shape stacked(int64_t length, Shape shape) {
  shape.insert(shape.begin(), length);
  return shape;
}

TEST(Scan, CarriesAndStacks) {
  for (const DType t : {f32, i32, bf16, f64, u8}) {
    Sheet s(static_cast<uint64_t>(t) + 31);
    for (const int64_t length : {0, 1, 3, 20}) {
      for (const bool reverse : {false, true}) {
        for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 129}}) {
          const Fill fill = is_float(t) ? Fill::units : Fill::wild;
          add_loop(s, fmt::format("{} steps {} {}", length, to_string(shape), reverse),
                   {accumulate(t, shape), 1, 1, length, reverse},
                   {s.input(shape, t, fill), s.input(shape, t, fill), s.input(stacked(length, shape), t, fill)});
        }
      }
    }
    s.run();
  }
}

TEST(Scan, WithoutCarryOrWithoutInputs) {
  Sheet s(32);
  Graph map;
  map.outputs = {map.add(Op::sqrt, {map.add_input({{5}, f32})})};
  add_loop(s, "map", {map, 0, 0, 6}, {s.input({6, 5}, f32, Fill::tame)});
  Graph twice;
  const ValueId c = twice.add_input({{}, i32});
  twice.outputs = {twice.add(Op::add, {c, c})};
  add_loop(s, "double", {twice, 0, 1, 10}, {s.input({}, i32)});
  Graph swap;
  const ValueId a = swap.add_input({{3}, f32}), b = swap.add_input({{3}, f32});
  swap.outputs = {b, a};
  add_loop(s, "swap", {swap, 0, 2, 7}, {s.input({3}, f32), s.input({3}, f32)});
  Graph same;
  const ValueId k = same.add_input({{3}, f32}), unused = same.add_input({{3}, f32});
  same.outputs = {unused, k, unused};
  add_loop(s, "what enters leaves", {same, 1, 1, 4}, {s.input({3}, f32), s.input({3}, f32)});
  s.run();
}

TEST(Scan, LongLoop) {
  Sheet s(33);
  Graph body;
  const ValueId c = body.add_input({{}, u32}), x = body.add_input({{}, u32});
  const ValueId next = body.add(Op::bitwise_xor, {body.add(Op::multiply, {c, body.constant(1664525, u32)}), x});
  body.outputs = {next, next};
  add_loop(s, "hash", {body, 0, 1, 10'000}, {s.input({}, u32), s.input({10'000}, u32)});
  s.run();
}

// The founding loop: a key split in the carry, a sum of what the other half draws.
TEST(Scan, DrawsRandomNumbers) {
  Sheet s(34);
  Graph body;
  const ValueId key = body.add_input({{2}, u32});
  const ValueId keys = body.add(Op::random_split, {key}, {{Attr::shape, Ints{2}}});
  const auto row = [&](int64_t i) {
    const ValueId cut = body.add(
        Op::slice, {keys}, {{Attr::start, Ints{i, 0}}, {Attr::limit, Ints{i + 1, 2}}, {Attr::stride, Ints{1, 1}}});
    return body.add(Op::reshape, {cut}, {{Attr::shape, Ints{2}}});
  };
  const ValueId bits = body.add(Op::random_bits, {row(1)}, {{Attr::shape, Ints{100}}, {Attr::dtype, u32}});
  body.outputs = {row(0), body.add(Op::reduce_sum, {bits}, {{Attr::axes, Ints{0}}})};
  add_loop(s, "sums", {body, 0, 1, 200}, {s.input({2}, u32)});
  s.run();
}

TEST(Scan, HoldsReductionsProductsGathersAndLoops) {
  Sheet s(35);
  Graph body;
  const ValueId w = body.add_input({{6, 6}, f32}), table = body.add_input({{10}, f32}),
                carry = body.add_input({{6}, f32}), rows = body.add_input({{6, 1}, i32});
  const ValueId product = body.add(Op::dot_general, {w, carry},
                                   {{Attr::lhs_batch, Ints{}},
                                    {Attr::rhs_batch, Ints{}},
                                    {Attr::lhs_contract, Ints{1}},
                                    {Attr::rhs_contract, Ints{0}}});
  const ValueId read = body.add(Op::gather, {table, rows}, {{Attr::axes, Ints{0}}, {Attr::mode, 0}});
  const ValueId largest = body.add(Op::reduce_max, {product}, {{Attr::axes, Ints{0}}});
  // Back to small integers, so that all stays exact.
  const ValueId next = body.add(Op::rint, {body.add(Op::sin, {body.add(Op::add, {product, read})})});
  const auto inner =
      scan(body, {accumulate(f32, {6}), 1, 1, 3},
           {next, carry, body.add(Op::broadcast_in_dim, {read}, {{Attr::shape, Ints{3, 6}}, {Attr::axes, Ints{1}}})});
  body.outputs = {next, largest, body.add(Op::rint, {inner[0]}), inner[1]};
  add_loop(s, "outer", {body, 2, 1, 9},
           {s.input({6, 6}, f32, Fill::units), s.input({10}, f32, Fill::tame), s.input({6}, f32, Fill::units),
            s.integers({9, 6, 1}, i32, -12, 12)});
  s.run();
}

TEST(Scan, InputsAreExpressionsAndOutputsAreUsed) {
  Sheet s(36);
  Graph& g = s.graph;
  const ValueId x = s.input({8, 5}, f32, Fill::tame);
  const ValueId xs = g.add(Op::negative, {g.add(Op::transpose, {x}, {{Attr::permutation, Ints{1, 0}}})});
  const auto out = scan(g, {accumulate(f32, {8}), 1, 1, 5}, {g.constant(2, f32, {8}), g.constant(0, f32, {8}), xs});
  s.output("carry + 1", g.add(Op::add, {out[0], g.constant(1, f32, {8})}));
  s.output("sum of ys", g.add(Op::reduce_sum, {out[1]}, {{Attr::axes, Ints{0}}}));
  s.run();
}

}  // namespace
}  // namespace neap::conformance
