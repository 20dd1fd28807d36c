// Loops inside a trace. The body is traced once; arrays that it closes over are constants of the loop.
#pragma once

#include <neap/transform_detail.h>

namespace neap {

namespace detail {

struct LoopResult {
  std::vector<Array> carry, stacked;
};
/// f: leaves of (carry, x) -> leaves of (carry, y). length: that of xs unless given.
LoopResult scan_of(const LeafFunction& f, const std::vector<Array>& init, const std::vector<Array>& xs,
                   std::optional<int64_t> length, bool reverse, std::source_location loc);
/// The slices of the leaves along axis 0, so many at a time: [batches, size, ...]; `rest` holds those left over. Either
/// is empty where there are none.
struct Batches {
  std::vector<Array> whole, rest;
};
Batches batches_of(const std::vector<Array>& leaves, int64_t size, std::source_location loc);
/// The inverse: one axis 0 of all slices.
std::vector<Array> joined_batches(const std::vector<Array>& whole, const std::vector<Array>& rest);
/// f: leaves of (x, y) -> leaves of their join.
std::vector<Array> associative_scan_of(const LeafFunction& f, const std::vector<Array>& leaves, bool reverse,
                                       int64_t axis, std::source_location loc);
/// The numbers lo, lo + 1, ... below hi, i32 where they fit, else i64.
Array counters(int64_t lo, int64_t hi, std::source_location loc);

}  // namespace detail

/// f(carry, x) -> std::pair{next carry, y} for each slice x of xs along axis 0, in order (reverse: from the last).
/// Gives std::pair{last carry, the ys stacked along axis 0}. The carry keeps its shapes and dtypes. xs may hold no
/// array (nullptr): then length says how often.
template <class F, class Carry, class Xs>
auto scan(const F& f, const Carry& init, const Xs& xs, std::optional<int64_t> length = {}, bool reverse = false,
          std::source_location loc = std::source_location::current()) {
  detail::LeafwiseCall<F, Carry, Xs> call(f, init, xs);
  static_assert(detail::is_tuple<typename detail::LeafwiseCall<F, Carry, Xs>::Result>,
                "scan: the body returns std::pair{carry, y}");
  const detail::LoopResult out =
      detail::scan_of(call.function(), tree_leaves(init), tree_leaves(xs), length, reverse, loc);
  std::vector<Array> leaves = out.carry;
  leaves.insert(leaves.end(), out.stacked.begin(), out.stacked.end());
  return call.result(leaves);
}

/// carry = f(i, carry) for i = lo, ..., hi - 1, where i is an i32 scalar (i64 where a bound is beyond i32).
template <class F, class Carry>
Carry fori_loop(int64_t lo, int64_t hi, const F& f, const Carry& init,
                std::source_location loc = std::source_location::current()) {
  return scan(
             [&](const Carry& carry, const Array& i) { return std::pair<Carry, std::nullptr_t>(f(i, carry), nullptr); },
             init, detail::counters(lo, hi, loc), {}, false, loc)
      .first;
}

/// f of each slice of xs along axis 0, stacked: vmap as a loop. batch_size: so many slices at a time, by vmap.
template <class F, class Xs>
auto map(const F& f, const Xs& xs, std::optional<int64_t> batch_size = {},
         std::source_location loc = std::source_location::current()) {
  const auto loop = [&](const auto& body, const std::vector<Array>& leaves) {
    return scan([&](std::nullptr_t, const Xs& x) { return std::pair(nullptr, body(x)); }, nullptr,
                tree_unflatten(xs, std::span<const Array>(leaves)), {}, false, loc)
        .second;
  };
  const std::vector<Array> leaves = tree_leaves(xs);
  if (!batch_size) return loop(f, leaves);
  const detail::Vmap<std::decay_t<F>> mapped{f, {}, loc};
  const detail::Batches batches = detail::batches_of(leaves, *batch_size, loc);
  if (batches.whole.empty()) return mapped(xs);
  const auto stacked = loop(mapped, batches.whole);
  std::vector<Array> rest;
  if (!batches.rest.empty()) rest = tree_leaves(mapped(tree_unflatten(xs, std::span<const Array>(batches.rest))));
  return tree_unflatten(stacked, std::span<const Array>(detail::joined_batches(tree_leaves(stacked), rest)));
}

/// Running joins along an axis: the first slice, then f of the first two, ... (reverse: from the last). f is
/// associative and maps over whole slices: it takes two trees like `elements`, of any length along the axis, and gives
/// one. Joins are made pairwise, in about 2 log2(n) steps, each of which works on many slices at once; scan() takes n
/// steps.
template <class F, class T>
T associative_scan(const F& f, const T& elements, bool reverse = false, int64_t axis = 0,
                   std::source_location loc = std::source_location::current()) {
  detail::LeafwiseCall<F, T, T> call(f, elements, elements);
  static_assert(std::is_same_v<typename detail::LeafwiseCall<F, T, T>::Result, T>,
                "associative_scan: f takes two trees and gives one like them");
  const std::vector<Array> out =
      detail::associative_scan_of(call.function(), tree_leaves(elements), reverse, axis, loc);
  return tree_unflatten(elements, std::span<const Array>(out));
}

}  // namespace neap
