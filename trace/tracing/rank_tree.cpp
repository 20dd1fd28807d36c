#include "trace/tracing/rank_tree.h"

#include <neap/ops.h>

#include "trace/graph/collective.h"

namespace neap::tracing {

Array tree_over_ranks(Op reduction, const Array& x) {
  const DType dtype = x.dtype();
  const auto rows = [](const Array& of, int64_t from, int64_t to) { return slice_in_dim(of, from, to, 0); };
  Array left = convert(x, combined_in(reduction, dtype));
  for (int64_t n = left.shape()[0]; n > 1; n = rank_tree_half(n)) {
    const int64_t h = rank_tree_half(n);
    const Array pairs =
        apply(combined_by(reduction), {rows(left, 0, n - h), rows(left, h, n)}, {}, std::source_location());
    left = n - h == h ? pairs : concatenate({pairs, rows(left, n - h, h)}, 0);
  }
  Shape one = x.shape();
  one.erase(one.begin());
  return convert(reshape(left, one), dtype);
}

}  // namespace neap::tracing
