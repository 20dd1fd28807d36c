// Functions of the program, called from compiled code: prints, callbacks and checks.
//
// They run on the thread that called the compiled function, on any device, in loops and branches as often as those do.
// One call calls them one after the other; where several threads call a compiled function, they run on each thread, at
// the same time. Prints, checks and callbacks with an effect come in the order in which they were traced, and are never
// left out, called twice or put into another order. Each is a step of its own, so that nothing is fused through it:
// what it reads is stored. On a GPU the host waits for the device and copies what a function reads.
//
// Under vmap a function is called for each example (in a branch that not all take: for those that take it) where an
// argument, or the branch, differs between examples; where none does it is called once, for all of them. Under grad and
// jvp prints and checks see values, not tangents (the rule of a custom_jvp may print those: under jvp they are
// seen); what a function computes, but for integers and bools, has no derivative, unless the function that calls it is
// given one by custom_jvp or custom_vjp. A function whose results are looked at only by a checkpoint() that computes
// again is called once. A solver (neap/solvers.h) calls its functions as often as it needs them; its derivatives solve
// again. An exception that a function throws ends the call of the compiled function, whose donated arguments are gone
// then. A saved function (neap/aot.h) cannot have any.
//
// Arguments lie in the memory of the plan and are not copied. An array that a function keeps is copied when the
// function returns, which takes its bytes beside the plan's; where they are not to be had, the call throws
// OutOfMemoryError (or what the function threw), and so does whoever reads that array. Pointers to its elements
// (data(), span(), raw()) hold until the function returns.
#pragma once

#include <neap/array.h>
#include <neap/error.h>
#include <neap/transform_detail.h>

#include <complex>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
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

/// An argument of a text: an array, or a number of C++, which is written as it is.
struct TextArgument {
  using Number = std::variant<bool, int64_t, uint64_t, float, double, std::complex<float>, std::complex<double>>;
  TextArgument(const Array& array) : value(array) {}
  template <Scalar T>
  TextArgument(T number) : value(Number(static_cast<Written<T>>(number))) {}
  std::variant<Array, Number> value;

 private:
  template <class T>
  using Written =
      std::conditional_t<std::same_as<T, bool> || std::same_as<T, double> || ComplexScalar<T>, T,
                         std::conditional_t<std::same_as<T, long double>, double,
                                            std::conditional_t<std::signed_integral<T>, int64_t,
                                                               std::conditional_t<std::integral<T>, uint64_t, float>>>>;
};

/// Stages a call of f, or calls it; `results` are what it gives. effect: it is called whoever reads them.
std::vector<Array> callback_of(std::string_view op, LeafFunction f, const std::vector<Array>& operands,
                               const std::vector<Aval>& results, bool effect, std::source_location loc);
void print_of(const TextAt& format, const std::vector<TextArgument>& arguments);
void check_of(const Operand& condition, const TextAt& format, const std::vector<TextArgument>& arguments);

/// Stands for an argument that is not given, so that one function with the caller's line takes any few of them.
struct NotGiven {};

/// Returns the arguments that are given.
template <class... A>
auto given(const A&... arguments) {
  const auto one = []<class T>(const T& argument) {
    if constexpr (std::same_as<T, NotGiven>)
      return std::tuple<>();
    else
      return std::tuple<const T&>(argument);
  };
  return std::tuple_cat(one(arguments)...);
}

/// Returns f, on trees like `trees`, on their leaves; the trees' own arrays are let go.
template <bool kResults, class F, class... A>
LeafFunction on_leaves(F f, const std::tuple<const A&...>& trees) {
  std::tuple<A...> like(trees);
  like = tree_unflatten(like, std::span<const Array>(std::vector<Array>(tree_leaves(like).size())));
  return [f = std::move(f), like = std::move(like)](const std::vector<Array>& leaves) mutable {
    std::tuple<A...> inner = tree_unflatten(like, std::span<const Array>(leaves));  // f may return references into it
    if constexpr (kResults) {
      return tree_leaves(std::apply(f, std::move(inner)));
    } else {
      std::apply(f, std::move(inner));
      return std::vector<Array>();
    }
  };
}

template <class F, class... A>
void callback_at(std::source_location loc, F f, const std::tuple<const A&...>& arguments) {
  check_function(f, loc);
  callback_of("callback", on_leaves<false>(std::move(f), arguments), tree_leaves(arguments), {}, true, loc);
}

template <class F, class R, class... A>
R callback_with_results(std::string_view op, bool effect, std::source_location loc, F f, const R& result,
                        const std::tuple<const A&...>& arguments) {
  check_function(f, loc);
  std::vector<Aval> avals;
  for (const Array& leaf : tree_leaves(result)) avals.push_back(leaf.aval(loc));
  return tree_unflatten(result, std::span<const Array>(callback_of(op, on_leaves<true>(std::move(f), arguments),
                                                                   tree_leaves(arguments), avals, effect, loc)));
}

}  // namespace detail

namespace debug {

/// Prints a line to the standard output each time that compiled code comes by: debug::print("loss {} in step {}", loss,
/// i). Each {} is an argument: a number or a scalar, as std::format writes it and in its formats ({:.3f}), or an array,
/// as to_string() writes it; {{ and }} are braces.
template <class... A>
void print(detail::TextAt format, const A&... arguments) {
  detail::print_of(format, {detail::TextArgument(arguments)...});
}

/// Calls f(arguments...), trees of arrays whose elements are there, each time that compiled code comes by. What f
/// returns is left.
template <class F, class A = detail::NotGiven, class B = detail::NotGiven, class C = detail::NotGiven,
          class D = detail::NotGiven>
void callback(F f, const A& first = {}, const B& second = {}, const C& third = {}, const D& fourth = {},
              std::source_location loc = std::source_location::current()) {
  detail::callback_at(loc, std::move(f), detail::given(first, second, third, fourth));
}
/// Does the same with more of them; errors do not say the line then.
template <class F, class A, class B, class C, class D, class E, class... More>
void callback(F f, const A& a, const B& b, const C& c, const D& d, const E& e, const More&... more) {
  detail::callback_at(std::source_location{}, std::move(f), std::tie(a, b, c, d, e, more...));
}

}  // namespace debug

/// Returns what f(arguments...) returns, a tree of arrays like `result`, of which shapes and dtypes count: specs will
/// do. f is a function of its arguments alone: it may be called more than once or not at all. Throws UserError from the
/// call where f returns something else.
template <class F, class R, class A = detail::NotGiven, class B = detail::NotGiven, class C = detail::NotGiven,
          class D = detail::NotGiven>
R pure_callback(F f, const R& result, const A& first = {}, const B& second = {}, const C& third = {},
                const D& fourth = {}, std::source_location loc = std::source_location::current()) {
  return detail::callback_with_results("pure_callback", false, loc, std::move(f), result,
                                       detail::given(first, second, third, fourth));
}
/// Does the same with more arguments; errors do not say the line then.
template <class F, class R, class A, class B, class C, class D, class E, class... More>
R pure_callback(F f, const R& result, const A& a, const B& b, const C& c, const D& d, const E& e, const More&... more) {
  return detail::callback_with_results("pure_callback", false, std::source_location{}, std::move(f), result,
                                       std::tie(a, b, c, d, e, more...));
}

/// Returns what f(arguments...) returns, as pure_callback, where f does more than that: it is called each time that
/// compiled code comes by, in order.
template <class F, class R, class A = detail::NotGiven, class B = detail::NotGiven, class C = detail::NotGiven,
          class D = detail::NotGiven>
R io_callback(F f, const R& result, const A& first = {}, const B& second = {}, const C& third = {},
              const D& fourth = {}, std::source_location loc = std::source_location::current()) {
  return detail::callback_with_results("io_callback", true, loc, std::move(f), result,
                                       detail::given(first, second, third, fourth));
}
/// Does the same with more arguments; errors do not say the line then.
template <class F, class R, class A, class B, class C, class D, class E, class... More>
R io_callback(F f, const R& result, const A& a, const B& b, const C& c, const D& d, const E& e, const More&... more) {
  return detail::callback_with_results("io_callback", true, std::source_location{}, std::move(f), result,
                                       std::tie(a, b, c, d, e, more...));
}

/// Throws CheckError from compiled code, with the text and the line, where an element of the condition, a bool array,
/// is false: check(all(x > 0), "x must be positive, but is {}", x). The text is that of debug::print.
template <class... A>
void check(const Operand& condition, detail::TextAt format, const A&... arguments) {
  detail::check_of(condition, format, {detail::TextArgument(arguments)...});
}

}  // namespace neap

#pragma GCC visibility pop
