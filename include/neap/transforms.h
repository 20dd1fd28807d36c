// Function transforms. Each takes a function on trees (see tree.h) and gives a function, or a value and a function;
// they compose with each other and with jit in any order. Numbers, strings and enums among the arguments pass through.
// Outside a trace a transformed function is traced, transformed and run at each call, as one program; jit keeps it.
#pragma once

#include <neap/transform_detail.h>

namespace neap {

/// The gradient of a function that returns one floating scalar, as a function of the same arguments. grad(f) is in the
/// first argument and returns a tree like it; grad<0, 2>(f) returns a tuple. Arrays of those arguments must be
/// floating.
template <size_t... I, class F>
auto grad(F f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return detail::Grad<false, F, 0>{std::move(f), loc};
  else
    return detail::Grad<false, F, I...>{std::move(f), loc};
}

/// The same, returning std::pair{value, gradient}.
template <size_t... I, class F>
auto value_and_grad(F f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return detail::Grad<true, F, 0>{std::move(f), loc};
  else
    return detail::Grad<true, F, I...>{std::move(f), loc};
}

/// std::pair{f(primals...), its derivative in the direction of the tangents}. Both are tuples of trees (one tree may
/// stand for itself). Integer arrays have no tangent: theirs are ignored, and zero in the result.
template <class F, class P, class T>
auto jvp(const F& f, const P& primals, const T& tangents, std::source_location loc = std::source_location::current()) {
  return std::apply(
      [&](const auto&... p) {
        detail::LeafwiseCall flat(f, p...);
        const auto out = detail::jvp_of(flat.function(), flat.leaves, tree_leaves(tangents), loc);
        const std::span<const Array> all(out);
        return std::pair{flat.result(all.first(out.size() / 2)), flat.result(all.last(out.size() / 2))};
      },
      detail::as_tuple(primals));
}

/// std::pair{f(primals...), pullback}. pullback(cotangent) takes a tree like the result and returns a tuple of trees
/// like the primals (the tree itself when there is one). Integer arrays have zeros as cotangents.
template <class F, class... P>
auto vjp(const F& f, const P&... primals) {
  const auto loc = std::source_location{};
  detail::LeafwiseCall flat(f, primals...);
  detail::Linear linear = detail::vjp_of(flat.function(), flat.leaves, loc);
  auto out = flat.result(linear.value);
  std::tuple<P...> trees(primals...);
  auto pullback = [map = std::move(linear.map), trees](const std::type_identity_t<decltype(out)>& cotangent,
                                                       std::source_location at = std::source_location::current()) {
    return detail::unwrapped(tree_unflatten(trees, std::span<const Array>(map(tree_leaves(cotangent), at))));
  };
  return std::pair{std::move(out), std::move(pullback)};
}

/// std::pair{f(primals...), linear}. linear(tangents...) is what jvp gives at these primals, without computing f again.
template <class F, class... P>
auto linearize(const F& f, const P&... primals) {
  const auto loc = std::source_location{};
  detail::LeafwiseCall flat(f, primals...);
  detail::Linear linear = detail::linearize_of(flat.function(), flat.leaves, loc);
  auto out = flat.result(linear.value);
  auto map = [map = std::move(linear.map), out, loc](const P&... tangents) {
    return tree_unflatten(out, std::span<const Array>(map(tree_leaves(std::tie(tangents...)), loc)));
  };
  return std::pair{std::move(out), std::move(map)};
}

/// f mapped over an axis of its arguments, as one program without a loop. Inside, arrays do not have that axis.
template <class F>
auto vmap(F f, VmapOptions options = {}, std::source_location loc = std::source_location::current()) {
  return detail::Vmap<F>{std::move(f), std::move(options), loc};
}

/// The derivatives of a function in its argument I. Of an array in an array: an array, shape of the result, then of the
/// argument. A tree in the place of one of them gives a tree like it; in the place of both, a vector: for each array of
/// the result, in order, a tree like the argument. jacfwd costs one forward pass for each element of the argument,
/// jacrev one backward for each of the result. All these arrays must be floating.
template <size_t I = 0, class F>
auto jacfwd(F f, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, true, F>{std::move(f), loc};
}
template <size_t I = 0, class F>
auto jacrev(F f, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, false, F>{std::move(f), loc};
}
/// Second derivatives of an array function: the shape of the result, then the argument's twice. In a tree: for each
/// array of the argument, in order, the derivatives of the gradient in it, a tree like the argument.
template <size_t I = 0, class F>
auto hessian(F f, std::source_location loc = std::source_location::current()) {
  return jacfwd<I>(jacrev<I>(std::move(f), loc), loc);
}

}  // namespace neap
