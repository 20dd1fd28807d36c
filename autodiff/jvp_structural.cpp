// Tangents of the ops that move, reduce, sort and multiply.
#include <algorithm>

#include "autodiff/jvp.h"
#include "autodiff/jvp_rules.h"
#include "trace/library/cumulative.h"

namespace neap::autodiff {
namespace {

// Broadcasts r back over the axes that were reduced.
Array spread(const Array& r, const Shape& shape, const Ints& reduced) {
  Shape kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (std::ranges::find(reduced, axis) == reduced.end()) kept.push_back(axis);
  return broadcast_in_dim(r, shape, kept);
}

// All elements that reach the extreme share its derivative equally. None reaches NaN, whose derivative then is NaN: so
// the share is a product and not a select.
Array extreme(const JvpSite& site) {
  const Array& x = site.in[0];
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  const Array t = widened(site.tangent[0]), reached = convert(x == spread(site.out, x.shape(), axes), t.dtype());
  return convert(sum(t * reached, axes) / sum(reached, axes), site.out.dtype());
}

// Multiplies by halves, with the product rule at each: no division, so zeros are exact.
Array product(const JvpSite& site) {
  const Shape& shape = site.in[0].shape();
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  Ints order;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) order.push_back(axis);
  order.insert(order.end(), axes.begin(), axes.end());
  Shape flat = site.out.shape();
  flat.push_back(1);
  for (const int64_t axis : axes) flat.back() *= shape[axis];
  if (flat.back() == 0) return {};

  const int64_t last = static_cast<int64_t>(flat.size()) - 1;
  Array p = reshape(transpose(widened(site.in[0]), order), flat);
  Array t = reshape(transpose(widened(site.tangent[0]), order), flat);
  while (p.shape().back() > 1) {
    if (p.shape().back() % 2 != 0) {
      Shape none(flat.size(), 0), one = none;
      one.back() = 1;
      p = pad(p, none, one, 1);
      t = pad(t, none, one, 0);
    }
    const int64_t n = p.shape().back();
    const Array a = slice_in_dim(p, 0, n / 2, last), b = slice_in_dim(p, n / 2, n, last);
    t = slice_in_dim(t, 0, n / 2, last) * b + a * slice_in_dim(t, n / 2, n, last);
    p = a * b;
  }
  return convert(reshape(t, site.out.shape()), site.out.dtype());
}

}  // namespace

Array jvp_layout(const JvpSite& site) {
  const Arrays& t = site.tangent;
  switch (site.node.op) {
    case Op::pad:
    case Op::concatenate: {
      Arrays operands;
      for (size_t i = 0; i < t.size(); ++i) operands.push_back(or_zeros(t[i], site.in[i]));
      return site.apply(operands);
    }
    case Op::dynamic_slice: return site.apply({t[0], site.in[1]});
    case Op::dynamic_update_slice:
      return site.apply({or_zeros(t[0], site.in[0]), or_zeros(t[1], site.in[1]), site.in[2]});
    default: return site.apply({t[0]});
  }
}

Array jvp_reduce(const JvpSite& site) {
  switch (site.node.op) {
    case Op::reduce_sum: return site.apply({site.tangent[0]});
    case Op::reduce_max:
    case Op::reduce_min: return extreme(site);
    case Op::reduce_prod: return product(site);
    default: break;
  }
  throw InternalError("jvp: no reduction");
}

// The tangents move as their elements do.
Array jvp_sort(const JvpSite& site) {
  const Array order = tracing::apply(Op::argsort, {site.in[0]}, site.node.attrs, site.node.loc);
  return take_along_axis(site.tangent[0], order, site.node.attrs.integer(Attr::axis), GatherMode::promise_in_bounds);
}

// That of a product or an extreme is that of the blocks which it could be made of.
Array jvp_cumulative(const JvpSite& site) {
  if (site.node.op == Op::cumsum) return site.apply(site.tangent);
  const tracing::Attrs& attrs = site.node.attrs;
  const Graph by_blocks = tracing::trace_closed(std::array{site.in[0].aval()}, [&](const Arrays& in) {
    return Arrays{tracing::cumulative_by_blocks(site.node.op, in[0], attrs.integer(Attr::axis),
                                                attrs.integer(Attr::reverse) != 0)};
  });
  return tracing::inline_graph(jvp_active(by_blocks, {true}).graph, {site.in[0], site.tangent[0]})[1];
}

Array jvp_bilinear(const JvpSite& site) {
  const Arrays& t = site.tangent;
  return sum_of(is_zero(t[0]) ? Array() : site.apply({t[0], site.in[1]}),
                is_zero(t[1]) ? Array() : site.apply({site.in[0], t[1]}));
}

}  // namespace neap::autodiff
