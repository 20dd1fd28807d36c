// Reductions by a function of the caller's (neap/reduce.h), on leaves: of axes by halves, of windows axis by axis.
//
// Elements are joined in their order, so that f need be associative only.
#include <neap/creation.h>
#include <neap/reduce.h>

#include <fmt/format.h>

#include "trace/library/taps.h"
#include "trace/tracing/tracing.h"

namespace neap::detail {

using namespace tracing;

namespace {

// A longer window is joined by doubling, whose joins are as many as the length has bits, but each of a whole array.
constexpr int64_t kShort = 8;

Arrays map_each(const Arrays& all, const std::function<Array(const Array&)>& f) {
  Arrays result;
  for (const Array& a : all) result.push_back(f(a));
  return result;
}

// Joiner is f on two lists of leaves, and what each element begins with.
class Joiner {
 public:
  Joiner(std::string_view op, const LeafFunction& f, Arrays init, std::source_location loc)
      : op_(op), f_(f), init_(std::move(init)), loc_(loc) {}

  Arrays operator()(const Arrays& x, const Arrays& y) const {
    Arrays pair = x;
    pair.insert(pair.end(), y.begin(), y.end());
    Arrays joined = f_(pair);
    if (joined.size() != x.size())
      throw_user<ShapeError>(op_, fmt::format("f gives {} arrays", joined.size()), fmt::format("{}", x.size()), "",
                             user_line(loc_));
    for (size_t i = 0; i < x.size(); ++i) {
      const Aval &given = x[i].aval(), &made = aval_of(joined[i], loc_);
      const std::string got = fmt::format("f gives {} of {}", to_string(made), to_string(given));
      if (made.shape != given.shape)
        throw_user<ShapeError>(op_, got, "what it takes", "f works element by element", user_line(loc_));
      if (made.dtype != given.dtype)
        throw_user<DTypeError>(op_, got, "what it takes", "convert it with astype()", user_line(loc_));
    }
    return joined;
  }
  Arrays init_like(const Arrays& x) const {
    Arrays result;
    for (size_t i = 0; i < x.size(); ++i) result.push_back(broadcast_to(init_[i], x[i].shape()));
    return result;
  }
  Arrays with_init(const Arrays& x) const { return (*this)(init_like(x), x); }
  const Arrays& init() const { return init_; }

 private:
  std::string_view op_;
  const LeafFunction& f_;
  Arrays init_;
  std::source_location loc_;
};

// Returns elements first, first + step, ... along the axis, `count` of them.
Arrays every(const Arrays& all, int64_t axis, int64_t first, int64_t count, int64_t step) {
  return map_each(all, [=](const Array& a) {
    Shape start(a.shape().size(), 0), limit = a.shape(), stride(a.shape().size(), 1);
    start[axis] = first, limit[axis] = first + (count - 1) * step + 1, stride[axis] = step;
    return strided_slice(a, start, limit, stride);
  });
}

// Returns the join of all elements along the axis, which has one or more: its extent is 1 then. Neighbours are joined;
// what has none waits for the end.
Arrays join_axis(const Joiner& join, Arrays x, int64_t axis) {
  Arrays last;
  while (x[0].shape(axis) > 1) {
    const int64_t n = x[0].shape(axis), pairs = n / 2;
    if (n % 2 != 0) {
      const Arrays odd = every(x, axis, n - 1, 1, 1);
      last = last.empty() ? odd : join(odd, last);
    }
    x = join(every(x, axis, 0, pairs, 2), every(x, axis, 1, pairs, 2));
  }
  return last.empty() ? x : join(x, last);
}

// Along is the windows along one axis: their length, how many there are, and how far apart they and their elements are.
struct Along {
  int64_t axis, length, count, stride, dilation;
};

Arrays join_short(const Joiner& join, const Arrays& x, const Along& w) {
  Arrays result = every(x, w.axis, 0, w.count, w.stride);
  for (int64_t i = 1; i < w.length; ++i) result = join(result, every(x, w.axis, i * w.dilation, w.count, w.stride));
  return result;
}

// Windows that do not overlap are rows of another shape.
Arrays join_apart(const Joiner& join, const Arrays& x, const Along& w) {
  Arrays rows;
  for (size_t i = 0; i < x.size(); ++i) {
    Shape low(x[i].shape().size(), 0), high = low;
    high[w.axis] = w.count * w.stride - x[i].shape(w.axis);
    const Array whole = pad(x[i], low, high, join.init()[i]);
    Shape shape = whole.shape();
    shape[w.axis] = w.count;
    shape.insert(shape.begin() + w.axis + 1, w.stride);
    rows.push_back(slice_in_dim(reshape(whole, shape), 0, w.length, w.axis + 1));
  }
  return map_each(join_axis(join, rows, w.axis + 1), [&](const Array& a) { return squeeze(a, w.axis + 1); });
}

// The join of 2^i elements from each place on is that of two of half as many; a window is made of those that the bits
// of its length name.
Arrays join_doubling(const Joiner& join, const Arrays& x, const Along& w) {
  Arrays power = x, result;
  for (int64_t bit = 1, before = 0; bit <= w.length; bit *= 2) {
    if ((w.length & bit) != 0) {
      const Arrays part = every(power, w.axis, before * w.dilation, w.count, w.stride);
      result = result.empty() ? part : join(result, part);
      before += bit;
    }
    if (2 * bit > w.length) break;
    const int64_t left = power[0].shape(w.axis) - bit * w.dilation;
    power = join(every(power, w.axis, 0, left, 1), every(power, w.axis, bit * w.dilation, left, 1));
  }
  return result;
}

Arrays join_windows(const Joiner& join, const Arrays& x, const Along& w) {
  if (w.length <= kShort) return join_short(join, x, w);
  if (w.stride >= w.length && w.dilation == 1) return join_apart(join, x, w);
  return join_doubling(join, x, w);
}

// Returns the one op that f is, where it is one on two arrays alone.
std::optional<Op> single_op(const LeafFunction& f, const Aval& aval) {
  const TracedFunction traced = neap::tracing::trace(std::vector<Aval>{aval, aval}, f);
  const Graph& g = traced.graph;
  if (!traced.captured.empty() || g.nodes.size() != 1 || g.outputs.size() != 1) return {};
  const Node& node = g.nodes[0];
  if (g.outputs[0] != node.out() || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return {};
  return node.op;
}

// Returns what a reduction of ops.h gives, where f is the op of one.
std::optional<Array> reduced_by_op(const LeafFunction& f, const Array& x, const Shape& axes) {
  const std::optional<Op> op = single_op(f, x.aval());
  if (op == Op::add) return sum(x, axes, true).astype(x.dtype());
  if (op == Op::multiply) return prod(x, axes, true).astype(x.dtype());
  if (op == Op::maximum) return max(x, axes, true);
  if (op == Op::minimum) return min(x, axes, true);
  return {};
}

// Runs f on the leaves and the scalars that each element begins with, as one executable outside a trace.
Arrays run(std::string_view op, const Arrays& leaves, const Arrays& init, std::source_location loc,
           const std::function<Arrays(const Arrays&, const Arrays&)>& f) {
  if (leaves.empty()) return {};
  if (init.size() != leaves.size())
    throw_user<ShapeError>(op, fmt::format("{} initial values for {} arrays", init.size(), leaves.size()),
                           "one for each", "", user_line(loc));
  std::vector<Aval> avals;
  for (const Arrays* all : {&leaves, &init})
    for (const Array& a : *all) {
      check_usable(a, op, loc);
      avals.push_back(a.aval());
    }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (avals[i].shape != avals[0].shape)
      throw_user<ShapeError>(op, to_string(avals[0]) + " and " + to_string(avals[i]), "arrays of one shape", "",
                             user_line(loc));
    const Aval& begins = avals[leaves.size() + i];
    if (!begins.shape.empty())
      throw_user<ShapeError>(op, "an initial value " + to_string(begins), "a scalar", "", user_line(loc));
    if (begins.dtype != avals[i].dtype)
      throw_user<DTypeError>(op, "an initial value " + to_string(begins) + " for " + to_string(avals[i]),
                             "the same dtype", "convert it with astype()", user_line(loc));
  }
  const TracedFunction traced = neap::tracing::trace(avals, [&](const Arrays& in) {
    const auto middle = in.begin() + std::ssize(leaves);
    return f({in.begin(), middle}, {middle, in.end()});
  });
  Arrays inputs = leaves;
  inputs.insert(inputs.end(), init.begin(), init.end());
  inputs.insert(inputs.end(), traced.captured.begin(), traced.captured.end());
  return stage_or_run(traced.graph, inputs);
}

}  // namespace

Arrays reduce_of(const LeafFunction& f, const Arrays& leaves, const Arrays& init, const Axes& axes,
                 std::source_location loc) {
  const AtLine line(loc);
  return run("reduce", leaves, init, loc, [&](const Arrays& in, const Arrays& begins) {
    const Joiner join("reduce", f, begins, loc);
    const Shape over = axes.resolve(in[0].ndim(), "reduce", user_line(loc));
    Shape left;
    bool empty = false;
    for (int64_t axis = 0; axis < in[0].ndim(); ++axis) {
      const bool reduced = std::ranges::find(over, axis) != over.end();
      if (!reduced) left.push_back(in[0].shape(axis));
      empty = empty || (reduced && in[0].shape(axis) == 0);
    }
    const auto shaped = [&](const Array& a) { return reshape(a, left); };
    if (empty) return map_each(begins, [&](const Array& a) { return broadcast_to(a, left); });
    Arrays x = in;
    const std::optional<Array> by_op = in.size() == 1 ? reduced_by_op(f, in[0], over) : std::nullopt;
    if (by_op)
      x = {*by_op};
    else
      for (auto axis = over.rbegin(); axis != over.rend(); ++axis) x = join_axis(join, x, *axis);
    return join.with_init(map_each(x, shaped));
  });
}

Arrays reduce_window_of(const LeafFunction& f, const Arrays& leaves, const Arrays& init, const Shape& window,
                        const Windows& windows, std::source_location loc) {
  const AtLine line(loc);
  return run("reduce_window", leaves, init, loc, [&](const Arrays& in, const Arrays& begins) {
    const Array& first = in[0];
    if (window.empty() || std::ssize(window) > first.ndim())
      throw_user<ShapeError>("reduce_window",
                             fmt::format("window {} over {}", to_string(window), to_string(first.aval())),
                             "one to as many axes as the array has", "", user_line(loc));
    if (windows.groups != 1)
      throw_user<ShapeError>("reduce_window", fmt::format("{} groups", windows.groups), "none: they are conv_general's",
                             "", user_line(loc));
    const Taps taps("reduce_window", first.shape(), window, windows, user_line(loc));
    const Joiner join("reduce_window", f, begins, loc);
    const int64_t lead = first.ndim() - std::ssize(window);
    if (taps.empty()) {
      Shape none(first.shape().begin(), first.shape().begin() + lead);
      none.insert(none.end(), taps.count().begin(), taps.count().end());
      return map_each(begins, [&](const Array& a) { return broadcast_to(a, none); });
    }
    Arrays x;
    for (size_t i = 0; i < in.size(); ++i) x.push_back(taps.padded(in[i], begins[i]));
    for (size_t i = window.size(); i-- > 0;)
      x = join_windows(
          join, x, {lead + static_cast<int64_t>(i), window[i], taps.count()[i], taps.stride()[i], taps.dilation()[i]});
    return join.with_init(x);
  });
}

}  // namespace neap::detail
