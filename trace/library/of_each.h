// Functions of one matrix, for batches of them.
#pragma once

#include <neap/transforms.h>

#include "trace/library/linalg.h"

namespace neap::tracing {

/// Returns f of each matrix [m, n] of a batch [..., m, n]; f gives a tree.
template <class F>
auto of_each(const F& f, const Array& a) {
  if (a.ndim() == 2) return f(a);
  const Shape batch = batch_of(a);
  const auto out = vmap(f)(reshape(a, {element_count(batch), a.shape(-2), a.shape(-1)}));
  return tree_map(
      [&](const Array& x) {
        Shape shape = batch;
        shape.insert(shape.end(), x.shape().begin() + 1, x.shape().end());
        return reshape(x, shape);
      },
      out);
}

/// Returns f of a matrix, a tree, as one executable outside a trace.
template <class F>
auto as_one_tree(const Array& a, const F& f) {
  using Tree = std::invoke_result_t<F, const Array&>;
  std::optional<Tree> made;
  const Arrays leaves = as_one({a}, [&](const Arrays& in) {
    made = f(in[0]);
    return tree_leaves(*made);
  });
  return tree_unflatten(*made, std::span<const Array>(leaves));
}

}  // namespace neap::tracing
