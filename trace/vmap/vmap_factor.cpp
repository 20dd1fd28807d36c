#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {

namespace {

// One factor for many cotangents or tangents stays one; else each matrix has its own.
Array vmap_derivative_of_cholesky(const VmapSite& site) {
  const bool one = site.rank(0) == 2, alone = site.rank(1) == 2;
  if (one && !site.batched[0]) return site.apply({site.in[0], site.with_batch(1)}, site.node.attrs);
  Array l = site.with_batch(0);
  const Array v = site.with_batch(1);
  if (one && !alone) {
    Shape apart(v.shape().size(), 1);
    apart.front() = site.size;
    std::copy(v.shape().end() - 2, v.shape().end(), apart.end() - 2);
    l = broadcast_to(reshape(l, apart), v.shape());
  }
  return site.apply({l, v}, site.node.attrs);
}

}  // namespace

// Where all examples share one triangle, the examples become right-hand sides.
Array vmap_factor(const VmapSite& site) {
  const bool derivative = site.node.op == Op::cholesky_tangent || site.node.op == Op::cholesky_cotangent;
  if (derivative && site.node.attrs.integer_or(Attr::packed, 0) == 0) return vmap_derivative_of_cholesky(site);
  if (site.node.op != Op::triangular_solve || site.batched[0]) {
    Arrays operands;
    for (size_t i = 0; i < site.in.size(); ++i) operands.push_back(site.with_batch(i));
    return site.apply(operands, site.node.attrs);
  }
  const Shape& shape = site.shape(1);
  const int64_t last = site.rank(1) - 1;
  Shape together = shape;
  together[last] *= site.size;
  const Array b = reshape(moveaxis(site.in[1], 0, last), together);
  Shape apart = shape;
  apart.insert(apart.begin() + last, site.size);
  return moveaxis(reshape(site.apply({site.in[0], b}, site.node.attrs), apart), last, 0);
}

}  // namespace neap::tracing
