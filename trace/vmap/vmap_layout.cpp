// Batching of the ops that move elements, and of products.
#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {
namespace {

Array vmap_pad(const VmapSite& site) {
  const Attrs& attrs = site.node.attrs;
  const Ints &low = attrs.ints(Attr::low), &high = attrs.ints(Attr::high), &interior = attrs.ints(Attr::interior);
  const Attrs batched{{Attr::low, after(0, low)}, {Attr::high, after(0, high)}, {Attr::interior, after(0, interior)}};
  if (!site.batched[1]) return site.apply(site.in, batched);
  // A padding value for each example: pad with anything, then put the values where padding is.
  const Array operand = site.with_batch(0);
  const Array padded = site.apply({operand, full({}, 0, operand.dtype())}, batched);
  const Array padding = pad(zeros(site.shape(0), DType::bool_), low, high, full({}, true, DType::bool_), interior);
  return select(repeated(padding, site.size), broadcast_in_dim(site.in[1], padded.shape(), {0}), padded);
}

}  // namespace

Array vmap_layout(const VmapSite& site) {
  Attrs attrs = site.node.attrs;
  const auto prepend = [&](Attr attr, int64_t first) { attrs.set(attr, after(first, attrs.ints(attr))); };
  switch (site.node.op) {
    case Op::broadcast_in_dim:
      prepend(Attr::shape, site.size);
      attrs.set(Attr::axes, after(0, shifted(attrs.ints(Attr::axes))));
      return site.apply(site.in, attrs);
    case Op::reshape: prepend(Attr::shape, site.size); return site.apply(site.in, attrs);
    case Op::transpose:
      attrs.set(Attr::permutation, after(0, shifted(attrs.ints(Attr::permutation))));
      return site.apply(site.in, attrs);
    case Op::slice:
      prepend(Attr::start, 0);
      prepend(Attr::limit, site.size);
      prepend(Attr::stride, 1);
      return site.apply(site.in, attrs);
    case Op::reverse: attrs.set(Attr::axes, shifted(attrs.ints(Attr::axes))); return site.apply(site.in, attrs);
    case Op::pad: return vmap_pad(site);
    case Op::concatenate: {
      attrs.set(Attr::axis, attrs.integer(Attr::axis) + 1);
      Arrays operands;
      for (size_t i = 0; i < site.in.size(); ++i) operands.push_back(site.with_batch(i));
      return site.apply(operands, attrs);
    }
    case Op::dynamic_slice: return vmap_dynamic_slice(site);
    case Op::dynamic_update_slice: return vmap_dynamic_update_slice(site);
    default: break;
  }
  throw InternalError("vmap: no layout rule");
}

// With one batched operand, its batch is a free axis, which the result has after the batch axes (and lhs's free axes).
Array vmap_dot(const VmapSite& site) {
  Attrs attrs = site.node.attrs;
  const auto shift = [&](Attr batch, Attr contract) {
    attrs.set(batch, shifted(attrs.ints(batch)));
    attrs.set(contract, shifted(attrs.ints(contract)));
  };
  const auto batches = static_cast<int64_t>(attrs.ints(Attr::lhs_batch).size());
  const auto contracted = static_cast<int64_t>(attrs.ints(Attr::lhs_contract).size());
  if (site.batched[0]) shift(Attr::lhs_batch, Attr::lhs_contract);
  if (site.batched[1]) shift(Attr::rhs_batch, Attr::rhs_contract);
  if (site.batched[0] && site.batched[1]) {
    attrs.set(Attr::lhs_batch, after(0, attrs.ints(Attr::lhs_batch)));
    attrs.set(Attr::rhs_batch, after(0, attrs.ints(Attr::rhs_batch)));
    return site.apply(site.in, attrs);
  }
  const int64_t place = site.batched[0] ? batches : site.rank(0) - contracted;
  return moveaxis(site.apply(site.in, attrs), place, 0);
}

// The batch becomes part of the groups where both operands have one, else of what the operand with it brings along.
Array vmap_convolution(const VmapSite& site) {
  const Attrs& attrs = site.node.attrs;
  const bool lhs = site.batched[0], rhs = site.batched[1];
  const auto merged = [&](const Array& x, int64_t axis) {
    Shape shape(x.shape().begin() + 1, x.shape().end());
    shape[axis] *= site.size;
    return reshape(moveaxis(x, 0, axis), shape);
  };
  const size_t role_of_lhs = rhs ? 0 : 1, role_of_rhs = lhs ? 0 : 1;
  const size_t role = lhs && rhs ? 0 : lhs ? 1 : 2;  // of the result
  const Array out = site.apply({lhs ? merged(site.in[0], attrs.ints(Attr::lhs_axes)[role_of_lhs]) : site.in[0],
                                rhs ? merged(site.in[1], attrs.ints(Attr::rhs_axes)[role_of_rhs]) : site.in[1]},
                               attrs);
  const int64_t axis = attrs.ints(Attr::out_axes)[role];
  Shape shape = site.graph.aval(site.node.out()).shape;
  shape.insert(shape.begin() + axis, site.size);
  return moveaxis(reshape(out, shape), axis, 0);
}

}  // namespace neap::tracing
