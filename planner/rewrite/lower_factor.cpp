#include "planner/rewrite/lower_factor.h"

#include <limits>
#include <numeric>
#include <vector>

#include "planner/kernels/families.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Tells whether v is computed element by element of l and of values smaller than it: else one that is as large would be
// stored beside both, were l needed afterwards.
bool is_made_of(const Graph& graph, ValueId v, ValueId l) {
  std::vector<ValueId> open{v};
  std::vector<bool> seen(graph.values.size(), false);
  while (!open.empty()) {
    const ValueId x = open.back();
    open.pop_back();
    if (seen[x]) continue;
    seen[x] = true;
    const Node* def = x == l ? nullptr : graph.def(x);
    if (def && traits(op_info(def->op).family).fusible && def->op != Op::gather) {
      open.insert(open.end(), def->inputs.begin(), def->inputs.end());
    } else if (x != l && graph.aval(x).size() >= graph.aval(v).size()) {
      return false;
    }
  }
  return true;
}

}  // namespace

ValueId lower_factor(Builder& b, const Term& term) {
  if (term.op != Op::cholesky_cotangent || term.attrs.integer(Attr::packed) != 0) return no_value;
  const ValueId l = term.inputs[0], w = term.inputs[1];
  const Aval a = b.aval(w);
  if (a.size() == 0 || !is_made_of(b.graph, w, l)) return no_value;

  const int64_t rank = a.ndim(), n = a.shape.back();
  const auto add = [&](Op op, std::vector<ValueId> inputs, Attrs attrs) {
    return b.add(op, std::move(inputs), std::move(attrs), term.loc);
  };
  const auto position = [&](int64_t axis) {
    const DType dtype = n > std::numeric_limits<int32_t>::max() ? DType::i64 : DType::i32;
    return add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, a.shape}, {Attr::axis, axis}});
  };
  Ints turned(static_cast<size_t>(rank)), last(2);
  std::iota(turned.begin(), turned.end(), 0);
  std::swap(turned[static_cast<size_t>(rank - 2)], turned[static_cast<size_t>(rank - 1)]);
  std::iota(last.begin(), last.end(), rank - 2);

  const ValueId below = add(Op::greater_equal, {position(rank - 2), position(rank - 1)}, {});
  const ValueId factor =
      b.aval(l).shape == a.shape ? l : add(Op::broadcast_in_dim, {l}, {{Attr::shape, a.shape}, {Attr::axes, last}});
  const ValueId above = add(Op::transpose, {w}, {{Attr::permutation, turned}});
  const ValueId packed = add(Op::select, {below, factor, above}, {});

  Shape rows(a.shape.begin(), a.shape.end() - 2);
  rows.push_back(n * n);
  Ints start(rows.size(), 0), stride(rows.size(), 1);
  stride.back() = n + 1;
  const ValueId diagonal = add(Op::slice, {b.reshape(w, rows, term.loc)},
                               {{Attr::start, start}, {Attr::limit, Ints(rows)}, {Attr::stride, stride}});
  Attrs attrs = term.attrs;
  attrs.set(Attr::packed, int64_t{1});
  return add(term.op, {diagonal, packed}, std::move(attrs));
}

}  // namespace neap::planner
