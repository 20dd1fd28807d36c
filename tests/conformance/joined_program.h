// Makes graphs at random of what shares bytes: concatenates whose pieces are written where they belong, operands that
// are written over, carries, views, donated arguments. All values are f32 blocks of [rows, 32]; all bounded.
#pragma once

#include <random>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::conformance {

class JoinedProgram {
 public:
  explicit JoinedProgram(uint64_t seed) : random_(seed) {}

  tracing::Graph graph;
  std::vector<bool> donated;

  void make() {
    graph.name = "joined";
    for (size_t i = 0, n = 1 + pick(3); i < n; ++i) {
      blocks_.push_back(graph.add_input({{rows(), kColumns}, DType::f32}));
      donated.push_back(pick(2) == 0);
    }
    square_ = graph.add_input({{kColumns, kColumns}, DType::f32});
    donated.push_back(pick(4) == 0);
    for (size_t i = 0, n = 4 + pick(14); i < n; ++i) blocks_.push_back(node());
    for (size_t i = 0, n = 1 + pick(3); i < n; ++i)
      graph.outputs.push_back(blocks_[blocks_.size() - 1 - pick(4) % blocks_.size()]);
  }

 private:
  using ValueId = tracing::ValueId;
  using Op = tracing::Op;
  using Attr = tracing::Attr;
  using Ints = tracing::Ints;
  static constexpr int64_t kColumns = 32;

  size_t pick(size_t n) { return random_() % n; }
  int64_t rows() { return 16 << pick(3); }
  ValueId recent() { return blocks_[blocks_.size() - 1 - std::min(pick(6), blocks_.size() - 1)]; }
  int64_t rows_of(ValueId v) const { return graph.aval(v).shape[0]; }

  ValueId product(tracing::Graph& g, ValueId x, ValueId w) {
    const ValueId y = g.add(Op::dot_general, {x, w},
                            {{Attr::lhs_batch, Ints{}},
                             {Attr::rhs_batch, Ints{}},
                             {Attr::lhs_contract, Ints{1}},
                             {Attr::rhs_contract, Ints{0}}});
    return y;
  }

  ValueId slice(ValueId v, int64_t begin, int64_t end) {
    return graph.add(Op::slice, {v},
                     {{Attr::start, Ints{begin, 0}}, {Attr::limit, Ints{end, kColumns}}, {Attr::stride, Ints{1, 1}}});
  }

  // As many rows, by cutting or joining.
  ValueId fit(ValueId v, int64_t rows) {
    if (rows_of(v) > rows) return slice(v, rows_of(v) - rows, rows_of(v));
    while (rows_of(v) < rows) {
      const int64_t missing = std::min(rows_of(v), rows - rows_of(v));
      v = graph.add(Op::concatenate, {v, missing == rows_of(v) ? product(graph, v, square_) : slice(v, 0, missing)},
                    {{Attr::axis, int64_t{0}}});
    }
    return v;
  }

  ValueId opaque(ValueId v) {
    switch (pick(3)) {
      case 0: return graph.add(Op::sort, {v}, {{Attr::axis, int64_t{1}}, {Attr::descending, int64_t{0}}});
      case 1: return loop(v);
      default: return product(graph, v, square_);
    }
  }

  // A carry and rows that it leaves behind; gives either.
  ValueId loop(ValueId v) {
    tracing::Graph body;
    const ValueId w = body.add_input({{kColumns, kColumns}, DType::f32});
    const ValueId c = body.add_input({{rows_of(v), kColumns}, DType::f32});
    ValueId next = pick(2) ? product(body, c, w) : body.add(Op::sin, {c});
    if (pick(2)) {
      const ValueId two = body.add(Op::concatenate, {product(body, next, w), next}, {{Attr::axis, int64_t{0}}});
      const int64_t n = rows_of(v), from = pick(2) ? n : n / 2;
      next =
          body.add(Op::slice, {body.add(Op::tanh, {two})},
                   {{Attr::start, Ints{from, 0}}, {Attr::limit, Ints{from + n, kColumns}}, {Attr::stride, Ints{1, 1}}});
    }
    next = body.add(Op::tanh, {next});
    const ValueId row = body.add(Op::reduce_max, {pick(2) ? next : c}, {{Attr::axes, Ints{0}}});
    body.outputs = {next, row};
    const tracing::NodeId scan = graph.add_node(Op::scan, {square_, v},
                                                {{Attr::body, std::make_shared<const tracing::Graph>(body)},
                                                 {Attr::length, int64_t{16} << pick(2)},
                                                 {Attr::num_consts, int64_t{1}},
                                                 {Attr::num_carry, int64_t{1}},
                                                 {Attr::reverse, static_cast<int64_t>(pick(2))}},
                                                {});
    const std::vector<ValueId> results = graph.nodes[scan].outputs;
    return results[pick(3) == 0 ? 0 : 1];
  }

  ValueId node() {
    const ValueId v = recent();
    switch (pick(10)) {
      case 0:
      case 1:
      case 2: {  // a join of two to four
        std::vector<ValueId> pieces;
        for (size_t i = 0, n = 2 + pick(3); i < n; ++i) {
          const ValueId piece = pick(3) ? opaque(recent()) : recent();
          if (rows_of(piece) <= 128) pieces.push_back(piece);
        }
        if (pieces.empty()) return opaque(v);
        return graph.add(Op::concatenate, pieces, {{Attr::axis, int64_t{0}}});
      }
      case 3: return slice(v, rows_of(v) / 4, rows_of(v) / 2);
      case 4: return graph.add(Op::reverse, {v}, {{Attr::axes, Ints{0}}});
      case 5: return graph.add(Op::tanh, {opaque(v)});
      case 6: {  // rows written into it
        const int64_t n = rows_of(v);
        const ValueId updates = fit(recent(), std::max<int64_t>(1, n / 2));
        const ValueId index =
            graph.add(Op::iota, {},
                      {{Attr::dtype, DType::i32}, {Attr::shape, Ints{rows_of(updates), 1}}, {Attr::axis, int64_t{0}}});
        return graph.add(pick(2) ? Op::scatter_set : Op::scatter_max, {v, index, updates},
                         {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{1}}});
      }
      case 7: {
        const ValueId flat = graph.add(Op::reshape, {v}, {{Attr::shape, Ints{rows_of(v) * kColumns}}});
        return graph.add(Op::reshape, {graph.add(Op::cos, {flat})}, {{Attr::shape, Ints{rows_of(v), kColumns}}});
      }
      default: return graph.add(Op::sin, {graph.add(Op::add, {v, fit(recent(), rows_of(v))})});
    }
  }

  std::mt19937_64 random_;
  std::vector<ValueId> blocks_;
  ValueId square_ = tracing::no_value;
};

}  // namespace neap::conformance
