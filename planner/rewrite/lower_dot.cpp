#include "planner/rewrite/lower_dot.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "planner/kernels/dot.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// One operand and the roles of its axes.
struct Side {
  ValueId value;
  Ints batch, free, contract;
};

bool in_order(const Builder& b, const Side& side, const Ints& first, const Ints& second);

Side make_side(const Builder& b, ValueId value, Ints batch, Ints contract) {
  Side side{value, std::move(batch), {}, std::move(contract)};
  for (int64_t axis = 0; axis < b.aval(value).ndim(); ++axis) {
    if (std::ranges::find(side.batch, axis) == side.batch.end() &&
        std::ranges::find(side.contract, axis) == side.contract.end()) {
      side.free.push_back(axis);
    }
  }
  // Read what was transposed, if its order in memory is one that the product takes.
  if (const Node* node = b.match(side.value, Op::transpose)) {
    const Ints& permutation = node->attrs.ints(Attr::permutation);
    Side source = side;
    for (Ints* axes : {&source.batch, &source.free, &source.contract}) {
      for (int64_t& axis : *axes) axis = permutation[axis];
    }
    source.value = node->inputs[0];
    if (in_order(b, source, source.free, source.contract) || in_order(b, source, source.contract, source.free)) {
      return source;
    }
  }
  return side;
}

int64_t extent(const Builder& b, const Side& side, const Ints& axes) {
  int64_t product = 1;
  for (const int64_t axis : axes) product *= b.aval(side.value).shape[axis];
  return product;
}

Ints joined(std::initializer_list<const Ints*> parts) {
  Ints all;
  for (const Ints* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

// The operand as three axes (batch, first, second); copies only if the axes are not in this order in memory.
ValueId as_matrices(Builder& b, const Side& side, const Ints& first, const Ints& second, std::source_location loc) {
  const Shape shape{extent(b, side, side.batch), extent(b, side, first), extent(b, side, second)};
  const Ints order = joined({&side.batch, &first, &second});
  ValueId v = side.value;
  if (!is_reshape(b.aval(v).shape, order)) v = b.add(Op::transpose, {v}, {{Attr::permutation, order}}, loc);
  return b.reshape(v, shape, loc);
}

bool in_order(const Builder& b, const Side& side, const Ints& first, const Ints& second) {
  return is_reshape(b.aval(side.value).shape, joined({&side.batch, &first, &second}));
}

// Whether neighbours in memory are of one term: the last axis is free.
bool ends_free(const Builder& b, const Side& side) {
  const Shape& shape = b.aval(side.value).shape;
  int64_t last = std::ssize(shape) - 1;
  while (last > 0 && shape[last] == 1) --last;
  return std::ranges::find(side.free, last) != side.free.end();
}

ValueId convert(Builder& b, ValueId v, DType dtype, std::source_location loc) {
  return b.aval(v).dtype == dtype ? v : b.add(Op::convert, {v}, {{Attr::dtype, dtype}}, loc);
}

// A side that is a transpose times a constant, negated or the like, which a product that fuses computes as it reads: of
// what is transposed, where that lies in order.
Side through_arithmetic(Builder& b, const Side& side) {
  const Node* node = b.graph.def(side.value);
  if (!node) return side;
  switch (node->op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::negative: break;
    default: return side;
  }
  const Node own = *node;  // which add() may move
  Ints permutation;
  ValueId source = no_value;
  for (const ValueId in : own.inputs) {
    if (b.match(in, Op::constant)) continue;
    const Node* transpose = b.match(in, Op::transpose);
    if (!transpose || source != no_value) return side;
    permutation = transpose->attrs.ints(Attr::permutation);
    source = transpose->inputs[0];
  }
  if (source == no_value) return side;
  Side moved = side;
  moved.value = source;
  for (Ints* axes : {&moved.batch, &moved.free, &moved.contract}) {
    for (int64_t& axis : *axes) axis = permutation[axis];
  }
  if (!in_order(b, moved, moved.free, moved.contract) && !in_order(b, moved, moved.contract, moved.free)) return side;
  std::vector<ValueId> inputs;
  for (const ValueId in : own.inputs) {
    const Node* constant = b.match(in, Op::constant);
    inputs.push_back(
        constant ? b.constant(*constant->attrs.find(Attr::value), b.aval(in).dtype, b.aval(source).shape, own.loc)
                 : source);
  }
  moved.value = b.add(own.op, std::move(inputs), own.attrs, own.loc);
  return moved;
}

// sum over k of lhs[b, m, k] * rhs[b, n, k], as ops that fuse.
ValueId as_reduction(Builder& b, const Side& lhs, const Side& rhs, bool is_short, std::source_location loc) {
  const int64_t batch = extent(b, lhs, lhs.batch), m = extent(b, lhs, lhs.free), n = extent(b, rhs, rhs.free),
                k = extent(b, lhs, lhs.contract);
  const bool outer = k == 1;
  // A matrix times a vector loops over the matrix as it lies in memory: which axis is the last decides where the lanes
  // of the sum are.
  const Side& matrix = n != 1 ? rhs : lhs;
  const bool sum_first = (m == 1) != (n == 1) && !outer && ends_free(b, matrix);
  // Axes of extent 1 are left out, so that the loops are as simple as the product is.
  Shape shape{batch};
  if (sum_first) shape.push_back(k);
  if (m != 1) shape.push_back(m);
  if (n != 1) shape.push_back(n);
  if (!outer && !sum_first) shape.push_back(k);
  const int64_t sum_axis = sum_first ? 1 : std::ssize(shape) - 1;
  const auto spread = [&](const Side& side, int64_t rows, bool first) {
    const ValueId source = sum_first ? as_matrices(b, side, side.contract, side.free, loc)
                                     : as_matrices(b, side, side.free, side.contract, loc);
    Shape own{batch};
    Ints axes{0};
    const auto add = [&](int64_t extent, int64_t axis) {
      own.push_back(extent);
      axes.push_back(axis);
    };
    if (sum_first) add(k, sum_axis);
    if (rows != 1) add(rows, sum_first || (!first && m != 1) ? 2 : 1);
    if (!outer && !sum_first) add(k, sum_axis);
    return b.add(Op::broadcast_in_dim, {b.reshape(source, own, loc)}, {{Attr::shape, shape}, {Attr::axes, axes}}, loc);
  };
  const ValueId left = spread(lhs, m, true);
  const ValueId right = spread(rhs, n, false);
  // The mark tells the naive pipeline that this is one op.
  const ValueId product = b.add(Op::multiply, {left, right}, outer ? Attrs{} : marked({}, Mark::inner_product), loc);
  if (outer) return product;
  Attrs attrs{{Attr::axes, Ints{sum_axis}}};
  if (is_short) set_mark(attrs, Mark::short_product);
  return b.add(Op::reduce_sum, {product}, std::move(attrs), loc);
}

// Of so few elements and terms that to call for a product would take longer than to make it: rotations, transforms.
bool is_tiny(int64_t batch, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMostElements = 16, kMostTerms = 4;
  return batch == 1 && m * n <= kMostElements && k <= kMostTerms;
}

// The same, as the chain of planner/kernels/dot.h.
ValueId as_terms(Builder& b, const Side& lhs, const Side& rhs, std::source_location loc) {
  const int64_t m = extent(b, lhs, lhs.free), n = extent(b, rhs, rhs.free), k = extent(b, lhs, lhs.contract);
  const ValueId left = as_matrices(b, lhs, lhs.free, lhs.contract, loc);
  const ValueId right = as_matrices(b, rhs, rhs.contract, rhs.free, loc);
  const auto spread = [&](ValueId v, const Ints& start, const Ints& limit) {
    const ValueId part =
        b.add(Op::slice, {v}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, Ints{1, 1, 1}}}, loc);
    return b.add(Op::broadcast_in_dim, {part}, {{Attr::shape, Shape{1, m, n}}, {Attr::axes, Ints{0, 1, 2}}}, loc);
  };
  ValueId sum = b.constant(AttrValue(0.0), b.aval(left).dtype, {1, m, n}, loc);
  for (int64_t p = 0; p < k; ++p) {
    const ValueId x = spread(left, {0, 0, p}, {1, m, p + 1}), y = spread(right, {0, p, 0}, {1, p + 1, n});
    sum = b.add(Op::fma, {x, y, sum}, {}, loc);
  }
  return sum;
}

// Whether the permutation of `shape`, a view of [batch, m, n], swaps m and n.
bool swaps_matrix(const Shape& shape, const Ints& permutation, const DotForm& form) {
  const auto rank = std::ssize(shape);
  int64_t batch = 1;
  for (int64_t p = 0; p <= rank; batch *= p < rank ? shape[p] : 1, ++p) {
    if (batch != form.batch) continue;
    int64_t rows = 1;
    for (int64_t q = p; q <= rank; rows *= q < rank ? shape[q] : 1, ++q) {
      if (rows != form.m) continue;
      Ints swapped;
      for (int64_t i = 0; i < p; ++i) swapped.push_back(i);
      for (int64_t i = q; i < rank; ++i) swapped.push_back(i);
      for (int64_t i = p; i < q; ++i) swapped.push_back(i);
      if (swapped == permutation) return true;
    }
  }
  return false;
}

// The canonical product that the node transposes and that has no other reader; nullptr where there is none.
const Node* transposed_dot(const Graph& graph, const std::vector<int>& uses, const Node& node) {
  if (node.op != Op::transpose) return nullptr;
  ValueId v = node.inputs[0];
  const Shape& shape = graph.aval(v).shape;
  for (; graph.is(v, Op::reshape); v = graph.def(v)->inputs[0]) {
    if (uses[v] != 1) return nullptr;
  }
  const Node* dot = graph.def(v);
  if (!dot || uses[v] != 1 || !is_canonical_dot(graph, *dot) || dot->inputs.size() == 3) return nullptr;
  return swaps_matrix(shape, node.attrs.ints(Attr::permutation), dot_form(graph, *dot)) ? dot : nullptr;
}

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

// The value that was widened from f16, bf16, i8 or u8, then perhaps reshaped or transposed, to become v.
ValueId narrow_of(const Graph& graph, ValueId v) {
  while (graph.is(v, Op::reshape) || graph.is(v, Op::transpose)) v = graph.def(v)->inputs[0];
  if (!graph.is(v, Op::convert) || graph.aval(v).dtype != DType::f32) return no_value;
  const ValueId source = graph.def(v)->inputs[0];
  const DType dtype = graph.aval(source).dtype;
  return dtype == DType::f16 || dtype == DType::bf16 || is_byte(dtype) ? source : no_value;
}

// The same reshapes and transposes of what was widened.
ValueId narrow(Graph& to, const Graph& graph, const std::vector<ValueId>& renamed, ValueId v) {
  const Node& node = *graph.def(v);
  if (node.op == Op::convert) return renamed[node.inputs[0]];
  return to.add(node.op, {narrow(to, graph, renamed, node.inputs[0])}, node.attrs, node.loc);
}

// The canonical product of halves that this conversion, its only reader but for reshapes, rounds to their dtype.
const Node* rounded_dot(const Graph& graph, const std::vector<int>& uses, const Node& node, const Target& target) {
  constexpr int64_t kLeast = 16;  // rows, columns and terms: cooperative matrices have 8 to 32 (device_limits.cpp)
  if (node.op != Op::convert) return nullptr;
  const DType half = graph.aval(node.out()).dtype;
  if (!(half == DType::f16 && target.half_products) && !(half == DType::bf16 && target.bf16_products)) return nullptr;
  ValueId v = node.inputs[0];
  for (; graph.is(v, Op::reshape); v = graph.def(v)->inputs[0]) {
    if (uses[v] != 1) return nullptr;
  }
  const Node* dot = graph.def(v);
  if (!dot || uses[v] != 1 || !is_canonical_dot(graph, *dot) || dot->inputs.size() == 3) return nullptr;
  if (graph.aval(v).dtype != DType::f32) return nullptr;
  const DotForm form = dot_form(graph, *dot);
  if (std::min({form.m, form.n, form.k}) < kLeast || form.batch == 0) return nullptr;
  const bool halves = std::ranges::all_of(dot->inputs, [&](ValueId in) {
    const ValueId narrow = narrow_of(graph, in);
    return narrow != no_value && graph.aval(narrow).dtype == half;
  });
  return halves ? dot : nullptr;
}

bool has_products(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const auto in = [&](Attr body) { return node.attrs.has(body) && has_products(*node.attrs.graph(body)); };
    return node.op == Op::dot_general || in(Attr::body) || in(Attr::otherwise);
  });
}

}  // namespace

ValueId lower_dot(Builder& b, const Term& term) {
  if (term.op != Op::dot_general || term.inputs.size() == 3) return no_value;
  const Attrs& attrs = term.attrs;
  if (has_mark(attrs, Mark::dot_slice) || attrs.has(Attr::dtype)) return no_value;
  const DType dtype = b.aval(term.inputs[0]).dtype;

  Ints lhs_contract = attrs.ints(Attr::lhs_contract), rhs_contract = attrs.ints(Attr::rhs_contract);
  std::vector<size_t> order(lhs_contract.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return lhs_contract[i]; });
  for (size_t i = 0; i < order.size(); ++i) {
    lhs_contract[i] = attrs.ints(Attr::lhs_contract)[order[i]];
    rhs_contract[i] = attrs.ints(Attr::rhs_contract)[order[i]];
  }
  const Side lhs = make_side(b, term.inputs[0], attrs.ints(Attr::lhs_batch), lhs_contract);
  const Side rhs = make_side(b, term.inputs[1], attrs.ints(Attr::rhs_batch), rhs_contract);

  Shape shape;
  const auto append = [&](const Side& side, const Ints& axes) {
    for (const int64_t axis : axes) shape.push_back(b.aval(side.value).shape[axis]);
  };
  append(lhs, lhs.batch);
  append(lhs, lhs.free);
  append(rhs, rhs.free);

  const int64_t batch = extent(b, lhs, lhs.batch), m = extent(b, lhs, lhs.free), n = extent(b, rhs, rhs.free),
                k = extent(b, lhs, lhs.contract);
  const bool reduction = !is_float(dtype) || m <= 1 || n <= 1 || k <= 1 || batch == 0;
  // Halves multiply exactly in f32, and are rounded once, at the end.
  const DType wide = size_of(dtype) == 2 && is_float(dtype) ? DType::f32 : dtype;
  if (!reduction && !is_tiny(batch, m, n, k) && dtype == wide && lhs.value == term.inputs[0] &&
      rhs.value == term.inputs[1]) {
    Graph trial;  // canonical already?
    trial.values = {{b.aval(lhs.value)}, {b.aval(rhs.value)}};
    if (is_canonical_dot(trial, Node{term.op, {0, 1}, attrs, {}, term.loc})) return no_value;
  }
  Side wide_lhs = reduction ? through_arithmetic(b, lhs) : lhs, wide_rhs = reduction ? through_arithmetic(b, rhs) : rhs;
  wide_lhs.value = convert(b, wide_lhs.value, wide, term.loc);
  wide_rhs.value = convert(b, wide_rhs.value, wide, term.loc);
  ValueId product;
  if (reduction) {
    product = as_reduction(b, wide_lhs, wide_rhs, has_mark(attrs, Mark::short_product), term.loc);
  } else if (is_tiny(batch, m, n, k)) {
    product = as_terms(b, wide_lhs, wide_rhs, term.loc);
  } else {
    const bool lhs_transposed = !in_order(b, lhs, lhs.free, lhs.contract) && in_order(b, lhs, lhs.contract, lhs.free);
    const bool rhs_transposed = !in_order(b, rhs, rhs.contract, rhs.free) && in_order(b, rhs, rhs.free, rhs.contract);
    const ValueId left = lhs_transposed ? as_matrices(b, wide_lhs, lhs.contract, lhs.free, term.loc)
                                        : as_matrices(b, wide_lhs, lhs.free, lhs.contract, term.loc);
    const ValueId right = rhs_transposed ? as_matrices(b, wide_rhs, rhs.free, rhs.contract, term.loc)
                                         : as_matrices(b, wide_rhs, rhs.contract, rhs.free, term.loc);
    Attrs canonical{{Attr::lhs_batch, Ints{0}},
                    {Attr::rhs_batch, Ints{0}},
                    {Attr::lhs_contract, Ints{lhs_transposed ? 1 : 2}},
                    {Attr::rhs_contract, Ints{rhs_transposed ? 2 : 1}}};
    if (dtype == DType::bf16 || has_mark(attrs, Mark::of_bf16)) set_mark(canonical, Mark::of_bf16);
    product = b.add(Op::dot_general, {left, right}, std::move(canonical), term.loc);
  }
  return b.reshape(convert(b, product, dtype, term.loc), shape, term.loc);
}

namespace {

// An integer of 8 bits that an operand of a product of integers is widened from.
ValueId byte_of(const Graph& graph, ValueId v) {
  if (graph.is(v, Op::convert) && is_integer(graph.aval(v).dtype)) v = graph.def(v)->inputs[0];
  return is_byte(graph.aval(v).dtype) ? v : no_value;
}

// Whether the node multiplies matrices of bytes of which every sum of products is exact in f32, to numbers of as many
// bytes: narrower ones would need room for the wide ones.
bool is_exact_in_f32(const Graph& graph, const Node& node) {
  constexpr int64_t kLeast = 8;  // rows, columns and terms: others are sums that fuse
  if (node.op != Op::dot_general || node.inputs.size() != 2 || node.attrs.has(Attr::dtype)) return false;
  if (size_of(graph.aval(node.out()).dtype) != size_of(DType::f32)) return false;
  const Aval &lhs = graph.aval(node.inputs[0]), &rhs = graph.aval(node.inputs[1]);
  int64_t k = 1, batch = 1, largest = 1;
  for (const ValueId v : node.inputs) {
    const ValueId byte = byte_of(graph, v);
    if (byte == no_value) return false;
    largest *= graph.aval(byte).dtype == DType::i8 ? 128 : 255;
  }
  for (const int64_t axis : node.attrs.ints(Attr::lhs_contract)) k *= lhs.shape[axis];
  for (const int64_t axis : node.attrs.ints(Attr::lhs_batch)) batch *= lhs.shape[axis];
  if (batch == 0 || k < kLeast || k > (int64_t{1} << 24) / largest) return false;
  return std::min(lhs.size(), rhs.size()) / (batch * k) >= kLeast;
}

}  // namespace

Graph exact_products(const Graph& graph) {
  const auto has_exact = [](const auto& self, const Graph& g) -> bool {
    return std::ranges::any_of(g.nodes, [&](const Node& node) {
      const auto in = [&](Attr body) { return node.attrs.has(body) && self(self, *node.attrs.graph(body)); };
      return is_exact_in_f32(g, node) || in(Attr::body) || in(Attr::otherwise);
    });
  };
  if (!has_exact(has_exact, graph)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (Node node : graph.nodes) {
    for (const Attr body : {Attr::body, Attr::otherwise}) {
      if (node.attrs.has(body)) {
        node.attrs.set(body, std::make_shared<const Graph>(exact_products(*node.attrs.graph(body))));
      }
    }
    if (!is_exact_in_f32(graph, node)) {
      append_renamed(result, graph, node, renamed);
      continue;
    }
    const auto convert_to = [&](ValueId v, DType dtype) {
      return result.add(Op::convert, {v}, {{Attr::dtype, dtype}}, node.loc);
    };
    std::vector<ValueId> floats{convert_to(renamed[byte_of(graph, node.inputs[0])], DType::f32)};
    const bool square = node.inputs[1] == node.inputs[0];
    floats.push_back(square ? floats[0] : convert_to(renamed[byte_of(graph, node.inputs[1])], DType::f32));
    const ValueId sums = result.add(Op::dot_general, std::move(floats), node.attrs, node.loc);
    const ValueId whole = convert_to(sums, DType::i32);
    const DType dtype = graph.aval(node.out()).dtype;
    renamed[node.out()] = dtype == DType::i32 ? whole : convert_to(whole, dtype);  // modulo 2^32, as sums are
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return eliminate_dead_code(result);
}

Graph mark_short_products(Graph graph) {
  for (Node& node : graph.nodes) {
    for (const Attr body : {Attr::body, Attr::otherwise}) {
      if (!node.attrs.has(body) || !has_products(*node.attrs.graph(body))) continue;
      node.attrs.set(body, std::make_shared<const Graph>(mark_short_products(*node.attrs.graph(body))));
    }
    if (node.op != Op::dot_general || node.inputs.size() != 2 || node.attrs.has(Attr::dtype)) continue;
    const Aval &lhs = graph.aval(node.inputs[0]), &rhs = graph.aval(node.inputs[1]), &out = graph.aval(node.out());
    const bool in_f32 = lhs.dtype == DType::f32 || lhs.dtype == DType::f16 || lhs.dtype == DType::bf16;
    int64_t k = 1, batch = 1;
    for (const int64_t axis : node.attrs.ints(Attr::lhs_contract)) k *= lhs.shape[axis];
    for (const int64_t axis : node.attrs.ints(Attr::lhs_batch)) batch *= lhs.shape[axis];
    const auto is_vector = [&](const Aval& side) { return side.size() == batch * k; };
    if (in_f32 && out.size() > 0 && k <= kLongDot && (is_vector(lhs) || is_vector(rhs))) {
      set_mark(node.attrs, Mark::short_product);
    }
  }
  return graph;
}

Graph transpose_dots(Graph graph) {
  const std::vector<int> uses = count_uses(graph);
  const auto swaps = [&](const Node& node) { return transposed_dot(graph, uses, node) != nullptr; };
  if (std::ranges::none_of(graph.nodes, swaps)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    if (const Node* dot = transposed_dot(graph, uses, node)) {
      Attrs attrs = dot->attrs;
      attrs.set(Attr::lhs_contract, dot->attrs.ints(Attr::rhs_contract));
      attrs.set(Attr::rhs_contract, dot->attrs.ints(Attr::lhs_contract));
      const ValueId product =
          result.add(Op::dot_general, {renamed[dot->inputs[1]], renamed[dot->inputs[0]]}, std::move(attrs), dot->loc);
      renamed[node.out()] = result.add(Op::reshape, {product}, {{Attr::shape, graph.aval(node.out()).shape}}, node.loc);
      continue;
    }
    append_renamed(result, graph, node, renamed);
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return drop_dead_code(std::move(result));
}

Graph narrow_dots(const Graph& graph, const Target& target) {
  const std::vector<int> uses = count_uses(graph);
  const auto narrows = [&](const Node& node) { return rounded_dot(graph, uses, node, target) != nullptr; };
  if (std::ranges::none_of(graph.nodes, narrows)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    const Node* dot = rounded_dot(graph, uses, node, target);
    if (!dot) {
      append_renamed(result, graph, node, renamed);
      continue;
    }
    const ValueId product =
        result.add(Op::dot_general,
                   {narrow(result, graph, renamed, dot->inputs[0]), narrow(result, graph, renamed, dot->inputs[1])},
                   dot->attrs, dot->loc);
    const Shape& shape = graph.aval(node.out()).shape;
    renamed[node.out()] = result.aval(product).shape == shape
                              ? product
                              : result.add(Op::reshape, {product}, {{Attr::shape, shape}}, node.loc);
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return eliminate_dead_code(result);
}

Graph read_narrow(const Graph& graph) {
  const auto reads = [&](const Node& node, size_t i) {
    if (!is_canonical_dot(graph, node) || graph.aval(node.out()).dtype != DType::f32) return false;
    const ValueId source = narrow_of(graph, node.inputs[i]);
    // Processors make products of bf16 of nothing but floats and bf16.
    return source != no_value && !(has_mark(node, Mark::of_bf16) && is_byte(graph.aval(source).dtype));
  };
  if (std::ranges::none_of(graph.nodes, [&](const Node& node) { return reads(node, 0) || reads(node, 1); })) {
    return graph;
  }
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    if (node.op != Op::dot_general || !(reads(node, 0) || reads(node, 1))) {
      append_renamed(result, graph, node, renamed);
      continue;
    }
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_narrow = i < 2 && reads(node, i);
      inputs.push_back(is_narrow ? narrow(result, graph, renamed, node.inputs[i]) : renamed[node.inputs[i]]);
    }
    Attrs attrs = node.attrs;
    attrs.set(Attr::dtype, DType::f32);
    renamed[node.out()] = result.add(Op::dot_general, std::move(inputs), std::move(attrs), node.loc);
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return eliminate_dead_code(result);
}

}  // namespace neap::planner
