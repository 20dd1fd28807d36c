// Loops and branches inside a trace. Bodies are traced once; arrays that they close over are constants of theirs. What
// runs is decided by values on the device, so a compiled program goes through them without returning to its caller.
#pragma once

#include <neap/ops.h>
#include <neap/transform_detail.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

namespace detail {

struct LoopResult {
  std::vector<Array> carry, stacked;
};
/// Runs a scan. f maps leaves of (carry, x) to leaves of (carry, y). length is that of xs unless given. op is the name
/// that errors say.
LoopResult scan_of(std::string_view op, const LeafFunction& f, const std::vector<Array>& init,
                   const std::vector<Array>& xs, std::optional<int64_t> length, bool reverse, int64_t unroll,
                   std::source_location loc);
/// Runs a while_loop. Both functions take the leaves of the carry, of which the first `counters` are not the user's.
std::vector<Array> while_of(std::string_view op, size_t counters, const LeafFunction& condition,
                            const LeafFunction& body, const std::vector<Array>& init, std::source_location loc);
std::vector<Array> cond_of(const Operand& predicate, const LeafFunction& true_fn, const LeafFunction& false_fn,
                           const std::vector<Array>& leaves);
std::vector<Array> switch_of(const Operand& index, const std::vector<LeafFunction>& branches,
                             const std::vector<Array>& leaves);
/// Returns the bounds of a fori_loop as scalars of one integer dtype.
std::pair<Array, Array> bounds_of(const Operand& lo, const Operand& hi);
/// Throws where the leaves are not one or more arrays with equally many slices along axis 0.
void check_slices(const std::vector<Array>& leaves, std::source_location loc);
/// Batches holds those slices, `size` at a time: [batches, size, ...]; `rest` holds those left over. Either is empty
/// where there are none.
struct Batches {
  std::vector<Array> whole, rest;
};
Batches batches_of(const std::vector<Array>& leaves, int64_t size, std::source_location loc);
/// Joins them again: axis 0 holds all slices.
std::vector<Array> joined_batches(const std::vector<Array>& whole, const std::vector<Array>& rest);
/// Runs an associative_scan. f maps leaves of (x, y) to leaves of their join.
std::vector<Array> associative_scan_of(const LeafFunction& f, const std::vector<Array>& leaves, bool reverse,
                                       int64_t axis, std::source_location loc);
/// Returns the numbers lo, lo + 1, ... below hi, i32 where the bounds fit, else i64.
Array counters(int64_t lo, int64_t hi, std::source_location loc);

/// Throws the error for a body that returned a carry of `out` arrays where it takes `in`, or one of another structure.
[[noreturn]] void carry_changes(std::string_view op, size_t in, size_t out, std::source_location loc);
[[noreturn]] void structure_differs(std::string_view op, std::string_view got, std::source_location loc);

/// Throws unless the trees may be one carry before and after a step; `counters` is that of while_of.
template <class T, class U>
void check_carry_tree(std::string_view op, size_t counters, const T& carry, const U& next, std::source_location loc) {
  const size_t in = tree_leaves(carry).size(), out = tree_leaves(next).size();
  bool same = in == out;
  if constexpr (std::is_same_v<T, U>) same = same && structure_of(carry) == structure_of(next);
  if (!same) carry_changes(op, in - counters, out - counters, loc);
}

/// Throws unless the results of two branches are alike in all but their arrays.
template <class T>
void check_branch_tree(std::string_view op, const T& first, const T& other, std::source_location loc) {
  if (structure_of(first) != structure_of(other))
    structure_differs(op, "the branches return different numbers, strings or container sizes", loc);
}

template <class F, class Carry, class Xs>
auto scan_as(std::string_view op, const F& f, const Carry& init, const Xs& xs, std::optional<int64_t> length,
             bool reverse, int64_t unroll, std::source_location loc) {
  using Call = CallOf<F, Carry, Xs>;
  if constexpr (!Call::ok) {
    return no_call<std::pair<Carry, Array>, F, Carry, Xs>();
  } else if constexpr (!is_pair<typename Call::Result>) {
    static_assert(kNever<F, Carry>, "neap: scan: the body returns std::pair{carry, y}");
    return never<std::pair<Carry, Array>>();
  } else {
    LeafwiseCall<F, Carry, Xs> call(loc, f, init, xs);
    // A function is traced once for all steps and for every choice, so what is no array in a carry may not change.
    const auto body = [&, run = call.function()](const std::vector<Array>& in) {
      std::vector<Array> out = run(in);
      check_carry_tree(op, 0, init, std::get<0>(call.returned()), loc);
      return out;
    };
    const LoopResult out = scan_of(op, body, tree_leaves(init), tree_leaves(xs), length, reverse, unroll, loc);
    std::vector<Array> leaves = out.carry;
    leaves.insert(leaves.end(), out.stacked.begin(), out.stacked.end());
    return call.result(leaves);
  }
}

template <class Condition, class Body, class Carry>
Carry while_as(std::string_view op, size_t counters, const Condition& condition, const Body& body, const Carry& init,
               std::source_location loc) {
  using Test = CallOf<Condition, Carry>;
  using Step = CallOf<Body, Carry>;
  if constexpr (!Test::ok) {
    return no_call<Carry, Condition, Carry>();
  } else if constexpr (!Step::ok) {
    return no_call<Carry, Body, Carry>();
  } else if constexpr (!std::is_same_v<typename Test::Result, Array>) {
    static_assert(kNever<Condition>, "neap: while_loop: the condition returns an Array, a bool scalar");
    return init;
  } else if constexpr (!std::is_same_v<typename Step::Result, Carry>) {
    static_assert(kNever<Body>, "neap: while_loop: the body returns a carry of the type that it takes");
    return init;
  } else {
    LeafwiseCall<Condition, Carry> test(loc, condition, init);
    LeafwiseCall<Body, Carry> step(loc, body, init);
    const auto next = [&, run = step.function()](const std::vector<Array>& in) {
      std::vector<Array> out = run(in);
      check_carry_tree(op, counters, init, step.returned(), loc);
      return out;
    };
    const std::vector<Array> out = while_of(op, counters, test.function(), next, tree_leaves(init), loc);
    return tree_unflatten(init, std::span<const Array>(out));
  }
}

/// Has the compiler say why f cannot be the body of a fori_loop.
template <class F, class Carry>
auto no_fori_body() {
  if constexpr (!CallOf<F, Array, Carry>::ok) {
    return no_call<Carry, F, Array, Carry>();
  } else {
    static_assert(kNever<F>, "neap: fori_loop: the body takes (i, carry) and returns the next carry");
    return never<Carry>();
  }
}
template <class F, class Carry>
inline constexpr bool is_fori_body =
    CallOf<F, Array, Carry>::ok && std::is_convertible_v<typename CallOf<F, Array, Carry>::Result, Carry>;

/// ChoiceOf is the call of one of several functions, of a tuple or of another container.
template <class Branches, class... A>
struct ChoiceOf {
  using Branch = std::decay_t<decltype(*std::begin(std::declval<const Branches&>()))>;
  using Result = typename CallOf<Branch, A...>::Result;
  static constexpr bool take = CallOf<Branch, A...>::ok, alike = true;
  static auto no_calls() { no_call<Result, Branch, A...>(); }
};
template <class First, class... Branch, class... A>
struct ChoiceOf<std::tuple<First, Branch...>, A...> {
  using Result = typename CallOf<First, A...>::Result;
  static constexpr bool take = (CallOf<First, A...>::ok && ... && CallOf<Branch, A...>::ok);
  static constexpr bool alike = (std::is_same_v<typename CallOf<Branch, A...>::Result, Result> && ...);
  static auto no_calls() { no_call<Result, First, A...>(), (no_call<Result, Branch, A...>(), ...); }
};
template <class First, class Second, class... A>
struct ChoiceOf<std::pair<First, Second>, A...> : ChoiceOf<std::tuple<First, Second>, A...> {};

/// A StaticBound is a bound that is known while the function is traced.
template <class T>
concept StaticBound = std::is_convertible_v<T, int64_t> && !std::is_floating_point_v<T>;

}  // namespace detail

/// Calls f(carry, x) -> std::pair{next carry, y} for each slice x of xs along axis 0, in order (reverse: from the
/// last). It returns std::pair{last carry, the ys stacked along axis 0}. The carry keeps its shapes and dtypes, and
/// what it holds beside arrays. xs may hold no array (nullptr): then length says how often. unroll: so many steps in
/// each iteration of the loop, where a step is so little work that the loop itself costs time; values are the same.
template <class F, class Carry, class Xs>
auto scan(const F& f, const Carry& init, const Xs& xs, std::optional<int64_t> length = {}, bool reverse = false,
          int64_t unroll = 1, std::source_location loc = std::source_location::current()) {
  return detail::scan_as("scan", f, init, xs, length, reverse, unroll, loc);
}

/// Computes carry = f(i, carry) for i = lo, ..., hi - 1, where i is an i32 scalar (i64 where a bound is beyond i32).
template <detail::StaticBound Lo, detail::StaticBound Hi, class F, class Carry>
Carry fori_loop(Lo lo, Hi hi, const F& f, const Carry& init,
                std::source_location loc = std::source_location::current()) {
  if constexpr (!detail::is_fori_body<F, Carry>) {
    return detail::no_fori_body<F, Carry>();
  } else {
    detail::check_function(f, loc);
    const auto step = [&](const Carry& carry, const Array& i) {
      return std::pair<Carry, std::nullptr_t>(std::invoke(f, i, carry), nullptr);
    };
    return detail::scan_as("fori_loop", step, init, detail::counters(lo, hi, loc), {}, false, 1, loc).first;
  }
}

/// Computes carry = body(carry) while condition(carry), a bool scalar, is true. The carry keeps its shapes and dtypes,
/// and what it holds beside arrays. It has derivatives forward (jvp, jacfwd); the way back would need as much memory as
/// the loop takes steps, which nobody knows before: use scan or fori_loop where their number is fixed. Under vmap the
/// loop runs until all examples are done; those that are keep their carry.
template <class Condition, class Body, class Carry>
Carry while_loop(const Condition& condition, const Body& body, const Carry& init,
                 std::source_location loc = std::source_location::current()) {
  return detail::while_as("while_loop", 0, condition, body, init, loc);
}

/// Does the same where a bound is known only when the loop runs: it is a while_loop, with its derivatives. i has the
/// dtype that the bounds promote to.
template <class F, class Carry>
Carry fori_loop(const Operand& lo, const Operand& hi, const F& f, const Carry& init) {
  if constexpr (!detail::is_fori_body<F, Carry>) {
    return detail::no_fori_body<F, Carry>();
  } else {
    const std::source_location loc = (lo.is_scalar() ? hi : lo).loc();
    detail::check_function(f, loc);
    const auto [first, last] = detail::bounds_of(lo, hi);
    using State = std::pair<Array, Carry>;
    return detail::while_as(
               "fori_loop", 1, [&last = last](const State& s) { return less(s.first, last); },
               [&](const State& s) { return State(s.first + 1, std::invoke(f, s.first, s.second)); },
               State(first, init), loc)
        .second;
  }
}

/// Computes true_fn(arguments...) where the predicate, a scalar, is true (not 0), else false_fn(arguments...); one of
/// them runs. Both give trees of the same shapes and dtypes, alike in all but their arrays. Under vmap with a predicate
/// for each example both run, and each example takes its own.
template <class F, class G, class... A>
auto cond(const Operand& predicate, const F& true_fn, const G& false_fn, const A&... arguments) {
  using Yes = detail::CallOf<F, A...>;
  using No = detail::CallOf<G, A...>;
  if constexpr (!Yes::ok) {
    return detail::no_call<typename Yes::Result, F, A...>();
  } else if constexpr (!No::ok) {
    return detail::no_call<typename Yes::Result, G, A...>();
  } else if constexpr (!std::is_same_v<typename Yes::Result, typename No::Result>) {
    static_assert(detail::kNever<F, G>, "neap: cond: both functions return the same type");
    return detail::never<typename Yes::Result>();
  } else {
    detail::LeafwiseCall<F, A...> yes(predicate.loc(), true_fn, arguments...);
    detail::LeafwiseCall<G, A...> no(predicate.loc(), false_fn, arguments...);
    const std::vector<Array> out = detail::cond_of(predicate, yes.function(), no.function(), yes.leaves);
    detail::check_branch_tree("cond", yes.returned(), no.returned(), predicate.loc());
    return yes.result(out);
  }
}

/// Computes branches[index](arguments...): one of several functions, in a tuple or a vector, as cond takes two. The
/// index is an integer scalar; below 0 the first branch is taken, beyond the last the last.
template <class Branches, class... A>
auto switch_(const Operand& index, const Branches& branches, const A&... arguments) {
  if constexpr (!detail::is_tuple<Branches> && !requires { *std::begin(branches); }) {
    static_assert(detail::kNever<Branches>, "neap: switch_: the branches are a std::tuple or std::vector of functions");
    return detail::never<Array>();
  } else if constexpr (!detail::ChoiceOf<Branches, A...>::take) {
    detail::ChoiceOf<Branches, A...>::no_calls();
    return detail::never<typename detail::ChoiceOf<Branches, A...>::Result>();
  } else if constexpr (!detail::ChoiceOf<Branches, A...>::alike) {
    static_assert(detail::kNever<Branches>, "neap: switch_: all branches return the same type");
    return detail::never<typename detail::ChoiceOf<Branches, A...>::Result>();
  } else {
    using Function = std::function<typename detail::ChoiceOf<Branches, A...>::Result(const A&...)>;
    std::vector<Function> functions;
    if constexpr (detail::is_tuple<Branches>)
      std::apply([&](const auto&... f) { (functions.push_back(f), ...); }, branches);
    else
      functions.assign(std::begin(branches), std::end(branches));
    using Call = detail::LeafwiseCall<Function, A...>;
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<detail::LeafFunction> leafwise;
    for (const Function& f : functions) {
      leafwise.push_back(calls.emplace_back(new Call(index.loc(), f, arguments...))->function());
    }
    const std::vector<Array> out =
        detail::switch_of(index, leafwise, calls.empty() ? std::vector<Array>() : calls[0]->leaves);
    for (const auto& call : calls)
      detail::check_branch_tree("switch_", calls[0]->returned(), call->returned(), index.loc());
    return calls.at(0)->result(out);
  }
}

/// Returns f of each slice of xs along axis 0, stacked: it is vmap as a loop. batch_size: so many slices at a time, by
/// vmap.
template <class F, class Xs>
auto map(const F& f, const Xs& xs, std::optional<int64_t> batch_size = {},
         std::source_location loc = std::source_location::current()) {
  if constexpr (!detail::CallOf<F, Xs>::ok) {
    return detail::no_call<Array, F, Xs>();
  } else {
    detail::check_function(f, loc);
    const auto loop = [&](const auto& body, const std::vector<Array>& leaves) {
      return detail::scan_as(
                 "map", [&](std::nullptr_t, const Xs& x) { return std::pair(nullptr, std::invoke(body, x)); }, nullptr,
                 tree_unflatten(xs, std::span<const Array>(leaves)), {}, false, 1, loc)
          .second;
    };
    const std::vector<Array> leaves = tree_leaves(xs);
    detail::check_slices(leaves, loc);
    if (!batch_size) return loop(f, leaves);
    const detail::Vmap<std::decay_t<F>> mapped{f, {}, loc};
    const detail::Batches batches = detail::batches_of(leaves, *batch_size, loc);
    if (batches.whole.empty()) return mapped(xs);
    const auto stacked = loop(mapped, batches.whole);
    std::vector<Array> rest;
    if (!batches.rest.empty()) rest = tree_leaves(mapped(tree_unflatten(xs, std::span<const Array>(batches.rest))));
    return tree_unflatten(stacked, std::span<const Array>(detail::joined_batches(tree_leaves(stacked), rest)));
  }
}

/// Returns running joins along an axis: the first slice, then f of the first two, ... (reverse: from the last). f is
/// associative and maps over whole slices: it takes two trees like `elements`, of any length along the axis, and gives
/// one. Joins are made pairwise, in about 2 log2(n) steps, each of which works on many slices at once; scan() takes n
/// steps. Where f only adds, multiplies or takes the larger or smaller of two arrays, they are cumsum() and its kin,
/// with their derivatives.
template <class F, class T>
T associative_scan(const F& f, const T& elements, bool reverse = false, int64_t axis = 0,
                   std::source_location loc = std::source_location::current()) {
  using Call = detail::CallOf<F, T, T>;
  if constexpr (!Call::ok) {
    return detail::no_call<T, F, T, T>();
  } else if constexpr (!std::is_same_v<typename Call::Result, T>) {
    static_assert(detail::kNever<F>, "neap: associative_scan: f takes two trees and gives one like them");
    return elements;
  } else {
    detail::LeafwiseCall<F, T, T> call(loc, f, elements, elements);
    const auto join = [&, run = call.function()](const std::vector<Array>& in) {
      std::vector<Array> joined = run(in);
      if (detail::structure_of(elements) != detail::structure_of(call.returned()))
        detail::structure_differs("associative_scan",
                                  "f returns other numbers, strings or container sizes than it takes", loc);
      return joined;
    };
    const std::vector<Array> out = detail::associative_scan_of(join, tree_leaves(elements), reverse, axis, loc);
    return tree_unflatten(elements, std::span<const Array>(out));
  }
}

}  // namespace neap

#pragma GCC visibility pop
