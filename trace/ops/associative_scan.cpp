// Running joins along an axis, on leaves.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <fmt/format.h>

#include <optional>
#include <span>
#include <vector>

#include "trace/tracing/tracing.h"

namespace neap::detail {

using namespace tracing;

namespace {

// PairwiseScan runs along axis 0.
class PairwiseScan {
 public:
  explicit PairwiseScan(const LeafFunction& f) : f_(f) {}

  // Neighbours are joined; the running joins of those are every second result, and one join more gives the others.
  Arrays operator()(const Arrays& elements) const {
    const int64_t n = elements[0].shape(0), pairs = n / 2;
    if (n < 2) return elements;
    const Arrays odd = (*this)(join(every_second(elements, 0, pairs), every_second(elements, 1, pairs)));
    Arrays even = cut(elements, 0, 1);
    if (const int64_t more = (n - 1) / 2; more > 0) {
      const Arrays later = join(cut(odd, 0, more), every_second(elements, 2, more));
      for (size_t i = 0; i < even.size(); ++i) even[i] = concatenate({even[i], later[i]}, 0);
    }
    Arrays result;
    for (size_t i = 0; i < even.size(); ++i) {
      const Array first = slice_in_dim(even[i], 0, pairs, 0);
      Shape shape = first.shape();
      shape[0] = 2 * pairs;
      const Array woven = reshape(stack({first, odd[i]}, 1), shape);
      result.push_back(n % 2 == 0 ? woven : concatenate({woven, slice_in_dim(even[i], pairs, pairs + 1, 0)}, 0));
    }
    return result;
  }

 private:
  Arrays join(Arrays x, const Arrays& y) const {
    x.insert(x.end(), y.begin(), y.end());
    return f_(x);
  }
  Arrays every_second(const Arrays& all, int64_t begin, int64_t count) const {
    Arrays result;
    for (const Array& a : all) {
      Shape start(a.shape().size(), 0), limit = a.shape(), stride(a.shape().size(), 1);
      start[0] = begin, limit[0] = begin + 2 * (count - 1) + 1, stride[0] = 2;
      result.push_back(strided_slice(a, start, limit, stride));
    }
    return result;
  }
  Arrays cut(const Arrays& all, int64_t begin, int64_t end) const {
    Arrays result;
    for (const Array& a : all) result.push_back(slice_in_dim(a, begin, end, 0));
    return result;
  }

  const LeafFunction& f_;
};

// What running joins of an array are where each is this op on two elements.
std::optional<Op> running(Op join, DType dtype) {
  if (dtype == DType::bool_) return std::nullopt;
  if (join == Op::add) return Op::cumsum;
  if (is_complex(dtype)) return std::nullopt;
  switch (join) {
    case Op::multiply: return Op::cumprod;
    case Op::maximum: return Op::cummax;
    case Op::minimum: return Op::cummin;
    default: return std::nullopt;
  }
}

// The op that gives the running joins of each leaf, if f joins each by itself and by such an op alone.
std::optional<std::vector<Op>> running_ops(const LeafFunction& f, std::span<const Aval> leaves,
                                           std::source_location loc) {
  std::vector<Aval> pair(leaves.begin(), leaves.end());
  pair.insert(pair.end(), leaves.begin(), leaves.end());
  const TracedFunction traced = neap::tracing::trace(pair, [&](const Arrays& in) {
    Arrays joined = f(in);
    for (const Array& a : joined) aval_of(a, loc);  // throws where it has no value
    return joined;
  });
  const Graph& graph = traced.graph;
  const bool is_one_op_each = graph.outputs.size() == leaves.size() && graph.nodes.size() == leaves.size();
  if (!traced.captured.empty() || !is_one_op_each) return std::nullopt;
  std::vector<Op> ops;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Node* node = graph.def(graph.outputs[i]);
    if (!node || node->inputs.size() != 2) return std::nullopt;
    const ValueId x = graph.inputs[i], y = graph.inputs[leaves.size() + i];
    const std::vector<ValueId> forwards{x, y}, backwards{y, x};
    const std::optional<Op> op = running(node->op, leaves[i].dtype);
    if (!op || (node->inputs != forwards && node->inputs != backwards)) return std::nullopt;
    ops.push_back(*op);
  }
  return ops;
}

void check_like(const Arrays& pair, const Arrays& joined, std::source_location loc) {
  const size_t n = pair.size() / 2;
  if (joined.size() != n)
    throw_user<ShapeError>("associative_scan", fmt::format("f gives {} arrays", joined.size()), fmt::format("{}", n),
                           "", loc);
  for (size_t i = 0; i < n; ++i) {
    const Aval &given = pair[i].aval(), &made = aval_of(joined[i], loc);
    const std::string got = fmt::format("f gives {} of {}", to_string(made), to_string(given));
    if (made.shape != given.shape) throw_user<ShapeError>("associative_scan", got, "what it takes", "", loc);
    if (made.dtype != given.dtype)
      throw_user<DTypeError>("associative_scan", got, "what it takes", "convert it with astype()", loc);
  }
}

}  // namespace

Arrays associative_scan_of(const LeafFunction& f, const Arrays& leaves, bool reverse, int64_t axis,
                           std::source_location loc) {
  const AtLine line(loc);
  if (leaves.empty()) return {};
  std::vector<Aval> avals;
  int64_t length = 0;
  for (const Array& leaf : leaves) {
    check_usable(leaf, "associative_scan", loc);
    avals.push_back(leaf.aval());
    const auto ndim = static_cast<int64_t>(avals.back().shape.size());
    const int64_t n = avals.back().shape[normalize_axis(axis, ndim, "associative_scan", loc)];
    if (avals.size() > 1 && n != length)
      throw_user<ShapeError>("associative_scan", fmt::format("axes of {} and of {} slices", length, n),
                             "equally many of all arrays", "", loc);
    length = n;
  }
  const TracedFunction traced = neap::tracing::trace(avals, [&](const Arrays& in) {
    if (const std::optional<std::vector<Op>> ops = running_ops(f, avals, loc)) {
      Arrays result;
      for (size_t i = 0; i < in.size(); ++i) {
        const int64_t along = normalize_axis(axis, in[i].ndim(), "associative_scan", loc);
        result.push_back(apply((*ops)[i], {in[i]}, {{Attr::axis, along}, {Attr::reverse, int64_t{reverse}}}, loc));
      }
      return result;
    }
    Arrays first;  // with the axis in front, as their ranks may differ
    for (const Array& a : in) {
      const Array moved = moveaxis(a, axis, 0);
      first.push_back(reverse ? flip(moved, 0) : moved);
    }
    const auto back = [&](const Arrays& arrays) {
      Arrays result;
      for (const Array& a : arrays) result.push_back(moveaxis(a, 0, axis));
      return result;
    };
    // f sees slices where the caller has them.
    const LeafFunction in_front = [&](const Arrays& pair) {
      const Arrays given = back(pair);
      Arrays joined = f(given);
      check_like(given, joined, loc);
      for (Array& a : joined) a = moveaxis(a, axis, 0);
      return joined;
    };
    Arrays out = PairwiseScan(in_front)(first);
    if (reverse)
      for (Array& a : out) a = flip(a, 0);
    return back(out);
  });
  Arrays inputs = leaves;
  inputs.insert(inputs.end(), traced.captured.begin(), traced.captured.end());
  return stage_or_run(traced.graph, inputs);
}

}  // namespace neap::detail
