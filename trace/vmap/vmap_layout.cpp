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

}  // namespace neap::tracing
