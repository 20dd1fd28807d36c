// Reductions besides those of ops.h: of segments, of windows, and by a function of the caller's (jax.ops, jax.lax).
//
// Values are compared with JAX's: tests/golden/more.json.
#pragma once

#include <neap/control.h>
#include <neap/numpy.h>

#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

namespace detail {
/// Runs reduce() and reduce_window(). f maps leaves of (x, y) to leaves of their join.
std::vector<Array> reduce_of(const LeafFunction& f, const std::vector<Array>& leaves, const std::vector<Array>& init,
                             const Axes& axes, std::source_location loc);
std::vector<Array> reduce_window_of(const LeafFunction& f, const std::vector<Array>& leaves,
                                    const std::vector<Array>& init, const Shape& window, const Windows& windows,
                                    std::source_location loc);

/// Returns run(f on leaves, leaves of x), as a tree like x.
template <class T, class F, class Run>
T reduce_tree(std::string_view op, const T& x, const F& f, std::source_location loc, const Run& run) {
  using Call = CallOf<F, T, T>;
  if constexpr (!Call::ok) {
    return no_call<T, F, T, T>();
  } else if constexpr (!std::is_same_v<typename Call::Result, T>) {
    static_assert(kNever<F>, "neap: reduce, reduce_window: f takes two trees and gives one like them");
    return x;
  } else {
    LeafwiseCall<F, T, T> call(loc, f, x, x);
    const auto join = [&, apply = call.function()](const std::vector<Array>& in) {
      std::vector<Array> joined = apply(in);
      if (structure_of(x) != structure_of(call.returned()))
        structure_differs(op, "f returns other numbers, strings or container sizes than it takes", loc);
      return joined;
    };
    const std::vector<Array> out = run(join, tree_leaves(x));
    return tree_unflatten(x, std::span<const Array>(out));
  }
}
}  // namespace detail

// --- segments: data [ids..., rest...] and integers segment_ids [ids...] -> [num_segments, rest...]
/// Adds up the slices of each segment: row s of the result is the sum of those data[i] whose segment_ids[i] is s; of
/// none 0. Ids below 0, or num_segments and above, are dropped. The dtype is that of data; half types are added up in
/// f32 and rounded once. ShapeError where the ids are no leading axes of data or num_segments is negative, DTypeError
/// where they are no integers or data is bool.
Array segment_sum(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Multiplies the slices of each segment; of none 1. Third and higher derivatives are right where at most one of the
/// elements that are multiplied is 0.
Array segment_prod(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Returns the largest of each segment, NaN where one is; of none the lowest value of the dtype (-inf of floats).
Array segment_max(const Operand& data, const Operand& segment_ids, int64_t num_segments);
/// Returns the smallest of each segment, NaN where one is; of none the highest value (inf of floats).
Array segment_min(const Operand& data, const Operand& segment_ids, int64_t num_segments);

// --- by a function: f(x, y) joins two arrays, or two trees of arrays of one shape, element by element
/// Joins all elements along these axes, all unless given: f(init, f(x0, f(x1, ...))), in any nesting, as f is
/// associative. init holds a scalar for each array, which f(init, x) leaves x; of no elements it is the result. The
/// result has the other axes. Where f is +, *, maximum or minimum, it is sum(), prod(), max() or min(), in the dtype of
/// x. ShapeError or DTypeError where f gives something else than it takes.
template <class T, class F>
T reduce(const T& x, const T& init, const F& f, const Axes& axes = {},
         std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("reduce", x, f, loc, [&](const detail::LeafFunction& join, const std::vector<Array>& in) {
    return detail::reduce_of(join, in, tree_leaves(init), axes, loc);
  });
}
template <class F>
Array reduce(const Array& x, const Operand& init, const F& f, const Axes& axes = {},
             std::source_location loc = std::source_location::current()) {
  return reduce<Array, F>(x, init.as(x.dtype()), f, axes, loc);
}

/// Joins the elements of each window over the last axes of x, as many as `window` has, in their order axis by axis;
/// padding, and what an input dilation puts between elements, is init. No window is stored: short ones are joined
/// element by element, longer ones by doubling (a window of n elements takes log2(n) joins of the whole array).
template <class T, class F>
T reduce_window(const T& x, const T& init, const F& f, const Shape& window, const Windows& windows = {},
                std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("reduce_window", x, f, loc,
                             [&](const detail::LeafFunction& join, const std::vector<Array>& in) {
                               return detail::reduce_window_of(join, in, tree_leaves(init), window, windows, loc);
                             });
}
template <class F>
Array reduce_window(const Array& x, const Operand& init, const F& f, const Shape& window, const Windows& windows = {},
                    std::source_location loc = std::source_location::current()) {
  return reduce_window<Array, F>(x, init.as(x.dtype()), f, window, windows, loc);
}
/// Adds up each such window; bool and small integers as sum() does. Half types are added up in f32 and rounded once.
Array sum_pool(const Operand& x, const Shape& window, const Windows& windows = {});

}  // namespace neap

#pragma GCC visibility pop
