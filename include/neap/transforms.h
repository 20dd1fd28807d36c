// Function transforms. Each takes a function on trees (see tree.h) and gives a function, or a value and a function;
// they compose with each other and with jit in any order. Numbers, strings and enums among the arguments pass through.
// Outside a trace a transformed function is traced, transformed and run at each call, as one program; jit keeps it.
#pragma once

#include <neap/transform_detail.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Pass holomorphic in the place of the caller's line for the derivative of a function of complex numbers that is
/// holomorphic, which then is one complex number. All its arguments and results are complex.
struct Holomorphic {};
inline constexpr Holomorphic holomorphic{};  // grad(f, holomorphic)

/// Returns the gradient of a function that returns one floating scalar, as a function of the same arguments. grad(f) is
/// in the first argument and returns a tree like it; grad<0, 2>(f) returns a tuple. Arrays of those arguments must be
/// floating, or complex: in z = x + i y it is df/dx - i df/dy, as JAX's.
template <size_t... I, class F>
auto grad(F f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return detail::Grad<false, F, 0>{std::move(f), loc};
  else
    return detail::Grad<false, F, I...>{std::move(f), loc};
}

template <size_t... I, class F>
auto grad(F f, Holomorphic, std::source_location loc = std::source_location::current()) {
  auto result = grad<I...>(std::move(f), loc);
  result.holomorphic = true;
  return result;
}

/// Does the same, returning std::pair{value, gradient}.
template <size_t... I, class F>
auto value_and_grad(F f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return detail::Grad<true, F, 0>{std::move(f), loc};
  else
    return detail::Grad<true, F, I...>{std::move(f), loc};
}

/// Jvp is what jvp() gives: two trees like the function's result.
template <class T>
struct Jvp {
  T value;    // f(primals...)
  T tangent;  // its derivative in the direction of the tangents
};

/// Returns f(primals...) and its derivative in the direction of the tangents. Primals and tangents are tuples of trees
/// (one tree may stand for itself). Integer arrays have no tangent: theirs are ignored, and zero in the result.
template <class F, class P, class T>
auto jvp(const F& f, const P& primals, const T& tangents, std::source_location loc = std::source_location::current()) {
  return std::apply(
      [&](const auto&... p) {
        detail::LeafwiseCall flat(loc, f, p...);
        const auto out = detail::jvp_of(flat.function(), flat.leaves, tree_leaves(tangents), loc);
        const std::span<const Array> all(out);
        return Jvp{flat.result(all.first(out.size() / 2)), flat.result(all.last(out.size() / 2))};
      },
      detail::as_tuple(primals));
}

/// Returns std::pair{f(primals...), pullback}. pullback(cotangent) takes a tree like the result and returns a tuple of
/// trees like the primals (the tree itself when there is one). Integer arrays have zeros as cotangents.
template <class F, class... P>
auto vjp(const F& f, const P&... primals) {
  return detail::vjp_at(std::source_location{}, f, primals...);
}
template <class F, class P>
auto vjp(const F& f, const P& primal, std::source_location loc = std::source_location::current()) {
  return detail::vjp_at(loc, f, primal);
}
template <class F, class P, class Q>
auto vjp(const F& f, const P& first, const Q& second, std::source_location loc = std::source_location::current()) {
  return detail::vjp_at(loc, f, first, second);
}

/// Returns std::pair{f(primals...), linear}. linear(tangents...) is what jvp gives at these primals, without computing
/// f again.
template <class F, class... P>
auto linearize(const F& f, const P&... primals) {
  return detail::linearize_at(std::source_location{}, f, primals...);
}
template <class F, class P>
auto linearize(const F& f, const P& primal, std::source_location loc = std::source_location::current()) {
  return detail::linearize_at(loc, f, primal);
}
template <class F, class P, class Q>
auto linearize(const F& f, const P& first, const Q& second,
               std::source_location loc = std::source_location::current()) {
  return detail::linearize_at(loc, f, first, second);
}

/// Returns f mapped over an axis of its arguments, as one program without a loop. Inside, arrays do not have that axis.
template <class F>
auto vmap(F f, VmapOptions options = {}, std::source_location loc = std::source_location::current()) {
  return detail::Vmap<F>{std::move(f), std::move(options), loc};
}

/// Returns the derivatives of a function in its argument I. Of an array in an array: an array, shape of the result,
/// then of the argument. A tree in the place of one of them gives a tree like it; in the place of both, a vector: for
/// each array of the result, in order, a tree like the argument. jacfwd costs one forward pass for each element of the
/// argument, jacrev one backward for each of the result. All these arrays must be floating; but the results of jacfwd
/// and the arguments of jacrev may be complex.
template <size_t I = 0, class F>
auto jacfwd(F f, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, true, F>{std::move(f), loc};
}
/// Does the same by backward passes, one for each element of the result.
template <size_t I = 0, class F>
auto jacrev(F f, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, false, F>{std::move(f), loc};
}
/// Does what jacfwd(f) does for a holomorphic function: complex arguments, complex results.
template <size_t I = 0, class F>
auto jacfwd(F f, Holomorphic, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, true, F>{std::move(f), loc, true};
}
/// Does what jacrev(f) does for a holomorphic function.
template <size_t I = 0, class F>
auto jacrev(F f, Holomorphic, std::source_location loc = std::source_location::current()) {
  return detail::Jacobian<I, false, F>{std::move(f), loc, true};
}
/// Returns the second derivatives of an array function: the shape of the result, then the argument's twice. In a tree:
/// for each array of the argument, in order, the derivatives of the gradient in it, a tree like the argument.
template <size_t I = 0, class F>
auto hessian(F f, std::source_location loc = std::source_location::current()) {
  return jacfwd<I>(jacrev<I>(std::move(f), loc), loc);
}

/// CheckpointPolicy says what checkpoint() keeps of a function for its backward pass beside its arguments.
struct CheckpointPolicy {
  std::string saveable = {};  // in the planner's own words; take one of checkpoint_policies
};
// Never destroyed, so that functions may be traced while the process ends.
namespace checkpoint_policies {
/// Keeps nothing: the usual policy.
inline const CheckpointPolicy& nothing_saveable = *new CheckpointPolicy{};
/// Keeps everything, as without checkpoint().
inline const CheckpointPolicy& everything_saveable = *new CheckpointPolicy{"*"};
/// Keeps the results of matrix products and convolutions.
inline const CheckpointPolicy& dots_saveable = *new CheckpointPolicy{"*dots"};
/// Keeps what checkpoint_name() gave one of these names.
CheckpointPolicy save_only_these_names(const std::vector<std::string>& names,
                                       std::source_location loc = std::source_location::current());
}  // namespace checkpoint_policies

/// Returns x, whose computation has from now on a name that save_only_these_names() can say.
Array checkpoint_name(const Array& x, const std::string& name,
                      std::source_location loc = std::source_location::current());

/// Returns f, whose backward pass keeps only its arguments and what the policy says, and computes the rest again. (A
/// memory budget has the planner find by itself what to compute again: see JitOptions.) Inside another checkpoint it is
/// part of that.
template <class F>
auto checkpoint(F f, CheckpointPolicy policy = {}, std::source_location loc = std::source_location::current()) {
  detail::check_function(f, loc);
  return detail::Checkpoint<F>{std::move(f), std::move(policy.saveable)};
}

/// Returns f with a derivative of its own: rule(arguments..., tangents...) gives the tangent of the result, and must be
/// linear in the tangents; reverse mode is its transpose. Integer arrays have zeros as tangents. f and rule may close
/// over arrays, but a derivative in those is a UserError.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, std::source_location loc = std::source_location::current()) {
  return detail::CustomJvp<F, Rule>{std::move(f), std::move(rule), loc};
}

/// Returns f with a reverse derivative of its own: forward(arguments...) gives std::pair{what f gives, residuals} (any
/// tree), and backward(residuals, cotangent) a tuple of cotangents like the arguments (the cotangent itself where there
/// is one argument). It has no forward derivative: jvp and jacfwd are a UserError. Integer arrays have zeros as
/// cotangents.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, std::source_location loc = std::source_location::current()) {
  detail::check_function(backward, loc);
  return detail::CustomVjp<F, Forward, Backward>{std::move(f), std::move(forward), std::move(backward), loc};
}

}  // namespace neap

#pragma GCC visibility pop
