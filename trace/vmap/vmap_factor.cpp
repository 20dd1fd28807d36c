#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {

// Where all examples share one triangle, the examples become right-hand sides.
Array vmap_factor(const VmapSite& site) {
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
