// How transforms see a function on trees: as a function on the arrays in them.
#pragma once

#include <neap/tree.h>

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <tuple>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// VmapOptions names the axes that vmap maps over. in_axes: one entry for each argument (for all its arrays), none for
/// an argument that every call gets whole; empty: axis 0 of every argument. out_axes: where the results' axis goes.
/// Negative axes count from the end.
struct VmapOptions {
  std::vector<std::optional<int64_t>> in_axes = {};
  int64_t out_axes = 0;
};

namespace detail {

using LeafFunction = std::function<std::vector<Array>(const std::vector<Array>& leaves)>;

/// LeafwiseCall is a function and its arguments, taken apart. It lives for one call of a transform.
template <class F, class... A>
class LeafwiseCall {
 public:
  using Call = CallOf<F, A...>;
  using Result = typename Call::Result;
  static_assert(Call::ok || sizeof(NoCall<F, A...>) > 0);  // which says why

  constexpr explicit LeafwiseCall(std::source_location loc, const F& f, const A&... arguments)
      : f_(f), arguments_(arguments...) {
    check_function(f, loc);
    [[maybe_unused]] int number = 0;
    [[maybe_unused]] const auto take = [&](const auto& argument) {
      for (Array& leaf : tree_leaves(argument)) {
        leaves.push_back(std::move(leaf));
        argument_of.push_back(number);
      }
      ++number;
    };
    (take(arguments), ...);
  }

  std::vector<Array> leaves;     // of all arguments, in order
  std::vector<int> argument_of;  // each leaf's argument

  /// Returns a function that calls f on other leaves and keeps the structure of what f returned.
  auto function() {
    return [this](const std::vector<Array>& other) {
      const std::tuple<A...> trees =
          tree_unflatten(std::apply([](const A&... t) { return std::tuple<A...>(t...); }, arguments_), other);
      if constexpr (Call::ok)
        result_.emplace(std::apply([&](const A&... t) -> Result { return std::invoke(f_, t...); }, trees));
      return tree_leaves(*result_);
    };
  }
  /// Returns what the latest call returned.
  const Result& returned() const { return *result_; }
  /// Returns the same with other arrays.
  constexpr Result result(std::span<const Array> arrays) const { return tree_unflatten(*result_, arrays); }

  template <size_t I>
  const auto& argument() const {
    return std::get<I>(arguments_);
  }

 private:
  const F& f_;
  std::tuple<const A&...> arguments_;
  std::optional<Result> result_;
};

/// Returns the one element of a tuple, or the tuple.
template <class... T>
auto unwrapped(std::tuple<T...> tuple) {
  if constexpr (sizeof...(T) == 1)
    return std::get<0>(std::move(tuple));
  else
    return tuple;
}

template <class T>
auto as_tuple(const T& t) {
  if constexpr (is_tuple<T>)
    return t;
  else
    return std::tuple<T>(t);
}

/// LinearMap is a linear function of arrays: a graph and the residuals that it uses.
class LinearMap {
 public:
  struct Impl;
  explicit LinearMap(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::vector<Array> operator()(const std::vector<Array>& inputs, std::source_location loc) const;

 private:
  std::shared_ptr<const Impl> impl_;
};
struct Linear {
  std::vector<Array> value;
  LinearMap map;
};

/// Pullback is the second of what vjp() returns.
template <class Result, class... P>
struct Pullback {
  LinearMap map;
  std::tuple<P...> primals;

  auto operator()(const Result& cotangent, std::source_location loc = std::source_location::current()) const {
    return unwrapped(tree_unflatten(primals, std::span<const Array>(map(tree_leaves(cotangent), loc))));
  }
  template <class... A>
    requires(!std::is_invocable_v<void (*)(const Result&), const A&...>)
  void operator()(const A&...) const NEAP_DELETE("neap: vjp: the pullback takes one cotangent, like the result");
};

/// Linearization is the second of what linearize() returns.
template <class Result, class... P>
struct Linearization {
  LinearMap map;
  Result value;

  auto operator()(const P&... tangents, std::source_location loc = std::source_location::current()) const {
    return tree_unflatten(value, std::span<const Array>(map(tree_leaves(std::tie(tangents...)), loc)));
  }
  template <class... A>
    requires(!std::is_invocable_v<void (*)(const P&...), const A&...>)
  void operator()(const A&...) const NEAP_DELETE("neap: linearize: the map takes a tangent like each argument");
};

// The following are the transforms on leaves (autodiff/transforms.cpp).
/// Returns the value where with_value, then gradients of the leaves of each argument of `wrt`, in that order.
std::vector<Array> grad_of(const LeafFunction& f, const std::vector<Array>& leaves, const std::vector<int>& argument_of,
                           const std::vector<int>& wrt, bool with_value, bool holomorphic, std::source_location loc);
/// Returns results, then as many tangents.
std::vector<Array> jvp_of(const LeafFunction& f, const std::vector<Array>& leaves, const std::vector<Array>& tangents,
                          std::source_location loc);
Linear vjp_of(const LeafFunction& f, const std::vector<Array>& leaves, std::source_location loc);
Linear linearize_of(const LeafFunction& f, const std::vector<Array>& leaves, std::source_location loc);
std::vector<Array> vmap_of(const LeafFunction& f, const std::vector<Array>& leaves, const std::vector<int>& argument_of,
                           size_t arguments, const VmapOptions& options, std::source_location loc);
/// Returns, for each result and each leaf of the argument, the derivative: shape of the result, then of the leaf.
std::vector<Array> jacobian_of(const LeafFunction& f, const std::vector<Array>& leaves,
                               const std::vector<int>& argument_of, int argument, bool forward, bool holomorphic,
                               std::source_location loc);

template <class F, class... P>
auto vjp_at(std::source_location loc, const F& f, const P&... primals) {
  LeafwiseCall flat(loc, f, primals...);
  Linear linear = vjp_of(flat.function(), flat.leaves, loc);
  auto out = flat.result(linear.value);
  Pullback<decltype(out), P...> pullback{std::move(linear.map), std::tuple<P...>(primals...)};
  return std::pair{std::move(out), std::move(pullback)};
}
template <class F, class... P>
auto linearize_at(std::source_location loc, const F& f, const P&... primals) {
  LeafwiseCall flat(loc, f, primals...);
  Linear linear = linearize_of(flat.function(), flat.leaves, loc);
  auto out = flat.result(linear.value);
  Linearization<decltype(out), P...> map{std::move(linear.map), out};
  return std::pair{std::move(out), std::move(map)};
}

/// While one lives, what is traced is part of a checkpoint().
class CheckpointScope {
 public:
  explicit CheckpointScope(const std::string& saveable);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

 private:
  std::shared_ptr<void> impl_;
};

/// Makes a custom_jvp. rule maps leaves, then their tangents to tangents of the results.
std::vector<Array> custom_jvp_of(const LeafFunction& f, const LeafFunction& rule, const std::vector<Array>& leaves,
                                 std::source_location loc);
/// A LeafForward maps leaves to {results, residuals}.
using LeafForward = std::function<std::pair<std::vector<Array>, std::vector<Array>>(const std::vector<Array>& leaves)>;
/// A LeafBackward maps residuals and cotangents of all results to those of all leaves. It is called after forward.
using LeafBackward =
    std::function<std::vector<Array>(const std::vector<Array>& residuals, const std::vector<Array>& cotangents)>;
std::vector<Array> custom_vjp_of(const LeafFunction& f, const LeafForward& forward, const LeafBackward& backward,
                                 const std::vector<Array>& leaves, std::source_location loc);

template <class F>
struct Checkpoint {
  F f;
  std::string saveable;

  template <class... A>
  auto operator()(const A&... arguments) const {
    if constexpr (!CallOf<F, A...>::ok) {
      return no_call<Array, F, A...>();
    } else {
      const CheckpointScope scope(saveable);
      return std::invoke(f, arguments...);
    }
  }
};

template <class F, class Rule>
struct CustomJvp {
  F f;
  Rule rule;
  std::source_location loc;

  template <class... A>
  auto operator()(const A&... arguments) const {
    using Call = CallOf<F, A...>;
    using Tangent = CallOf<Rule, A..., A...>;
    if constexpr (!Call::ok) {
      return no_call<Array, F, A...>();
    } else if constexpr (!Tangent::ok) {
      return no_call<typename Call::Result, Rule, A..., A...>();
    } else if constexpr (!std::is_same_v<typename Tangent::Result, typename Call::Result>) {
      static_assert(
          kNever<F, A...>,
          "neap: custom_jvp: the rule takes the arguments, then their tangents, and returns a tangent like the result");
      return never<typename Call::Result>();
    } else {
      LeafwiseCall<F, A...> flat(loc, f, arguments...);
      LeafwiseCall<Rule, A..., A...> derivative(loc, rule, arguments..., arguments...);
      return flat.result(custom_jvp_of(flat.function(), derivative.function(), flat.leaves, loc));
    }
  }
};

template <class F, class Forward, class Backward>
struct CustomVjp {
  F f;
  Forward forward;
  Backward backward;
  std::source_location loc;

  template <class... A>
  auto operator()(const A&... arguments) const {
    using Call = CallOf<F, A...>;
    using First = CallOf<Forward, A...>;
    using Result = typename Call::Result;
    if constexpr (!Call::ok) {
      return no_call<Array, F, A...>();
    } else if constexpr (!First::ok) {
      return no_call<Result, Forward, A...>();
    } else if constexpr (!is_forward<typename First::Result, Result>()) {
      static_assert(kNever<F, A...>,
                    "neap: custom_vjp: forward returns std::pair{what the function returns, residuals}");
      return never<Result>();
    } else {
      using Residuals = std::tuple_element_t<1, typename First::Result>;
      using Back = CallOf<Backward, Residuals, Result>;
      if constexpr (!Back::ok) {
        return no_call<Result, Backward, Residuals, Result>();
      } else if constexpr (!std::is_same_v<decltype(as_tuple(std::declval<typename Back::Result>())),
                                           std::tuple<A...>>) {
        static_assert(kNever<F, A...>,
                      "neap: custom_vjp: backward(residuals, cotangent) returns a tuple of trees like the arguments");
        return never<Result>();
      } else {
        return call(arguments...);
      }
    }
  }

 private:
  template <class Both, class Result>
  static constexpr bool is_forward() {
    if constexpr (is_pair<Both>)
      return std::is_same_v<std::tuple_element_t<0, Both>, Result>;
    else
      return false;
  }

  template <class... A>
  auto call(const A&... arguments) const {
    LeafwiseCall<F, A...> flat(loc, f, arguments...);
    LeafwiseCall<Forward, A...> first(loc, forward, arguments...);
    std::optional<typename CallOf<Forward, A...>::Result> made;
    const auto run_forward = [&](const std::vector<Array>& leaves) {
      made = first.result(first.function()(leaves));
      return std::pair{tree_leaves(std::get<0>(*made)), tree_leaves(std::get<1>(*made))};
    };
    const auto run_backward = [&](const std::vector<Array>& residuals, const std::vector<Array>& of_results) {
      const auto residual = tree_unflatten(std::get<1>(*made), std::span<const Array>(residuals));
      const auto cotangent = tree_unflatten(std::get<0>(*made), std::span<const Array>(of_results));
      return tree_leaves(std::invoke(backward, residual, cotangent));
    };
    return flat.result(custom_vjp_of(flat.function(), run_forward, run_backward, flat.leaves, loc));
  }
};

template <bool with_value, class F, size_t... I>
struct Grad {
  F f;
  std::source_location loc;
  bool holomorphic = false;

  template <class... A>
  auto operator()(const A&... arguments) const {
    constexpr bool there = ((I < sizeof...(A)) && ...);
    static_assert(there, "neap: grad: there is no such argument: the function is called with fewer");
    if constexpr (there) {
      LeafwiseCall<F, A...> flat(loc, f, arguments...);
      const std::vector<Array> out = grad_of(flat.function(), flat.leaves, flat.argument_of, {static_cast<int>(I)...},
                                             with_value, holomorphic, loc);
      const std::tuple<std::decay_t<decltype(flat.template argument<I>())>...> whole(flat.template argument<I>()...);
      auto gradients = unwrapped(tree_unflatten(whole, std::span<const Array>(out).subspan(with_value ? 1 : 0)));
      if constexpr (with_value)
        return std::pair{flat.result(std::span<const Array>(out).first(1)), std::move(gradients)};
      else
        return gradients;
    }
  }
};

template <class F>
struct Vmap {
  F f;
  VmapOptions options;
  std::source_location loc;

  template <class... A>
  auto operator()(const A&... arguments) const {
    LeafwiseCall<F, A...> flat(loc, f, arguments...);
    const std::vector<Array> out = vmap_of(flat.function(), flat.leaves, flat.argument_of, sizeof...(A), options, loc);
    return flat.result(out);
  }
};

template <size_t I, bool forward, class F>
struct Jacobian {
  F f;
  std::source_location loc;
  bool holomorphic = false;

  template <class... A>
  auto operator()(const A&... arguments) const {
    static_assert(I < sizeof...(A), "neap: jacobian: there is no such argument: the function is called with fewer");
    if constexpr (I < sizeof...(A)) {
      LeafwiseCall<F, A...> flat(loc, f, arguments...);
      const std::vector<Array> out =
          jacobian_of(flat.function(), flat.leaves, flat.argument_of, static_cast<int>(I), forward, holomorphic, loc);
      const auto& argument = flat.template argument<I>();
      using Argument = std::decay_t<decltype(argument)>;
      if constexpr (std::is_same_v<Argument, Array>) {
        return flat.result(out);
      } else if constexpr (std::is_same_v<typename LeafwiseCall<F, A...>::Result, Array>) {
        return tree_unflatten(argument, std::span<const Array>(out));
      } else {
        const size_t columns = tree_leaves(argument).size();
        std::vector<Argument> rows;
        for (size_t i = 0; i < out.size(); i += columns)
          rows.push_back(tree_unflatten(argument, std::span<const Array>(out).subspan(i, columns)));
        return rows;
      }
    }
  }
};

}  // namespace detail
}  // namespace neap

#pragma GCC visibility pop
