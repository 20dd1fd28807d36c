// Functions of the program, called from compiled code: prints, callbacks and checks.
//
// They run on the thread that called the compiled function, on any device, in loops and branches as often as those do,
// and are called by one call after the other. Prints, checks and callbacks with an effect come in the order in which
// they were traced, and are never left out, called twice or put into another order. Each is a step of its own, so that
// nothing is fused through it: what it reads is stored. On a GPU the host waits for the device and copies what a
// function reads.
//
// Under vmap a function is called for each example (in a branch that not all take: for those that take it). Under grad
// and jvp prints and checks see values, not tangents (the rule of a custom_jvp may print those: under jvp they are
// seen); what a function computes has no derivative, unless the function that calls it is given one by custom_jvp or
// custom_vjp. A function whose results are looked at only by a checkpoint()
// that computes again is called once. An exception that a function throws ends the call of the compiled function, whose
// donated arguments are gone then. A saved function (neap/aot.h) cannot have any.
#pragma once

#include <neap/array.h>
#include <neap/error.h>
#include <neap/transform_detail.h>

#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// CheckError means that what check() looks at is false.
struct CheckError : UserError {
  using UserError::UserError;
};

namespace detail {

/// A text with the line it stands in.
struct TextAt {
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  TextAt(const T& text, std::source_location loc = std::source_location::current()) : text(text), loc(loc) {}
  std::string_view text;
  std::source_location loc;
};

/// Stages a call of f, or calls it; `results` are what it gives. effect: it is called whoever reads them.
std::vector<Array> callback_of(std::string_view op, LeafFunction f, const std::vector<Array>& operands,
                               const std::vector<Aval>& results, bool effect, std::source_location loc);
void print_of(const TextAt& format, const std::vector<Operand>& arguments);
void check_of(const Operand& condition, const TextAt& format, const std::vector<Operand>& arguments);

/// Returns f, on trees like `trees`, on their leaves; the trees' own arrays are let go.
template <class F, class... A>
auto on_leaves(F f, const A&... trees) {
  std::tuple<A...> like(trees...);
  like = tree_unflatten(like, std::span<const Array>(std::vector<Array>(tree_leaves(like).size())));
  return [f = std::move(f), like = std::move(like)](const std::vector<Array>& leaves) mutable -> decltype(auto) {
    return std::apply(f, tree_unflatten(like, std::span<const Array>(leaves)));
  };
}

template <class F, class... A>
void callback_at(std::source_location loc, F f, const A&... arguments) {
  check_function(f, loc);
  auto call = on_leaves(std::move(f), arguments...);
  callback_of(
      "callback",
      [call = std::move(call)](const std::vector<Array>& leaves) mutable {
        call(leaves);
        return std::vector<Array>();
      },
      tree_leaves(std::tie(arguments...)), {}, true, loc);
}

template <class F, class R, class... A>
R callback_with_results(std::string_view op, bool effect, std::source_location loc, F f, const R& result,
                        const A&... arguments) {
  check_function(f, loc);
  std::vector<Aval> avals;
  for (const Array& leaf : tree_leaves(result)) avals.push_back(leaf.aval(loc));
  auto call = on_leaves(std::move(f), arguments...);
  return tree_unflatten(
      result,
      std::span<const Array>(callback_of(
          op, [call = std::move(call)](const std::vector<Array>& leaves) mutable { return tree_leaves(call(leaves)); },
          tree_leaves(std::tie(arguments...)), avals, effect, loc)));
}

}  // namespace detail

namespace debug {

/// Prints a line to the standard output each time that compiled code comes by: debug::print("loss {} in step {}", loss,
/// i). Each {} is an argument: a number or a scalar, as std::format writes it and in its formats ({:.3f}), or an array,
/// as to_string() writes it; {{ and }} are braces.
template <class... A>
void print(detail::TextAt format, const A&... arguments) {
  detail::print_of(format, {Operand(arguments, format.loc)...});
}

/// Calls f(arguments...), trees of arrays whose elements are there, each time that compiled code comes by. They lie in
/// the memory of the plan: one that f keeps is copied when f returns. What f returns is left.
template <class F, class... A>
void callback(F f, const A&... arguments) {
  detail::callback_at(std::source_location{}, std::move(f), arguments...);
}
template <class F, class A>
void callback(F f, const A& argument, std::source_location loc = std::source_location::current()) {
  detail::callback_at(loc, std::move(f), argument);
}
template <class F, class A, class B>
void callback(F f, const A& first, const B& second, std::source_location loc = std::source_location::current()) {
  detail::callback_at(loc, std::move(f), first, second);
}

}  // namespace debug

/// Returns what f(arguments...) returns, a tree of arrays like `result`, of which shapes and dtypes count: specs will
/// do. f is a function of its arguments alone: it may be called more than once or not at all. Throws UserError from the
/// call where f returns something else.
template <class F, class R, class... A>
R pure_callback(F f, const R& result, const A&... arguments) {
  return detail::callback_with_results("pure_callback", false, std::source_location{}, std::move(f), result,
                                       arguments...);
}
template <class F, class R, class A>
R pure_callback(F f, const R& result, const A& argument, std::source_location loc = std::source_location::current()) {
  return detail::callback_with_results("pure_callback", false, loc, std::move(f), result, argument);
}

/// Returns what f(arguments...) returns, as pure_callback, where f does more than that: it is called each time that
/// compiled code comes by, in order.
template <class F, class R, class... A>
R io_callback(F f, const R& result, const A&... arguments) {
  return detail::callback_with_results("io_callback", true, std::source_location{}, std::move(f), result, arguments...);
}
template <class F, class R, class A>
R io_callback(F f, const R& result, const A& argument, std::source_location loc = std::source_location::current()) {
  return detail::callback_with_results("io_callback", true, loc, std::move(f), result, argument);
}

/// Throws CheckError from compiled code, with the text and the line, where an element of the condition, a bool array,
/// is false: check(all(x > 0), "x must be positive, but is {}", x). The text is that of debug::print.
template <class... A>
void check(const Operand& condition, detail::TextAt format, const A&... arguments) {
  detail::check_of(condition, format, {Operand(arguments, format.loc)...});
}

}  // namespace neap

#pragma GCC visibility pop
