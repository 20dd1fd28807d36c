// Trees: an Array, or a struct, vector, array, tuple, pair, optional or map of trees. Plain structs (aggregates of up
// to twelve members) need no registration. Numbers, enums, strings and dtypes inside a tree are static values: part of
// the signature under which a function is compiled, not inputs of it.
#pragma once

#include <neap/api.h>
#include <neap/array.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace NEAP_API neap {

namespace detail {

struct AnyMember {
  template <class T>
  operator T() const;  // only in unevaluated brace initialisation
};
template <class T, size_t... I>
constexpr bool braces_take(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember{})...}; };
}
template <class T, size_t N = 12>
constexpr size_t member_count() {
  if constexpr (N == 0 || braces_take<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return member_count<T, N - 1>();
}

/// Calls f on the members of an aggregate: f(m0, m1, ...).
template <class T, class F>
decltype(auto) with_members(T&& t, F&& f) {
  constexpr size_t n = member_count<std::remove_cvref_t<T>>();
  if constexpr (n == 0) {
    return f();
  } else if constexpr (n == 1) {
    auto& [a] = t;
    return f(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = t;
    return f(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = t;
    return f(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = t;
    return f(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = t;
    return f(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, g] = t;
    return f(a, b, c, d, e, g);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, g, h] = t;
    return f(a, b, c, d, e, g, h);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, g, h, i] = t;
    return f(a, b, c, d, e, g, h, i);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = t;
    return f(a, b, c, d, e, g, h, i, j);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = t;
    return f(a, b, c, d, e, g, h, i, j, k);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, g, h, i, j, k, l] = t;
    return f(a, b, c, d, e, g, h, i, j, k, l);
  } else {
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = t;
    return f(a, b, c, d, e, g, h, i, j, k, l, m);
  }
}

template <class T>
inline constexpr bool is_sequence = false;
template <class T, class A>
inline constexpr bool is_sequence<std::vector<T, A>> = true;
template <class T, size_t N>
inline constexpr bool is_sequence<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class V, class... R>
inline constexpr bool is_map<std::map<K, V, R...>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_static = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

/// Visits every leaf of a tree, in order: on_array(Array&) for arrays, on_static(data, bytes) for static values and the
/// sizes of containers.
template <class T, class OnArray, class OnStatic>
void visit_tree(T& t, OnArray&& on_array, OnStatic&& on_static) {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, Array>) {
    on_array(t);
  } else if constexpr (is_sequence<U>) {
    const size_t n = t.size();
    on_static(&n, sizeof n);
    if constexpr (std::is_same_v<U, std::vector<bool>>) {
      for (bool b : t) on_static(&b, 1);
    } else {
      for (auto& e : t) visit_tree(e, on_array, on_static);
    }
  } else if constexpr (is_tuple<U>) {
    std::apply([&](auto&... e) { (visit_tree(e, on_array, on_static), ...); }, t);
  } else if constexpr (is_map<U>) {
    const size_t n = t.size();
    on_static(&n, sizeof n);
    for (auto& [key, value] : t) {
      visit_tree(key, on_array, on_static);
      visit_tree(value, on_array, on_static);
    }
  } else if constexpr (is_optional<U>) {
    const bool has = t.has_value();
    on_static(&has, 1);
    if (has) visit_tree(*t, on_array, on_static);
  } else if constexpr (std::is_same_v<U, std::string>) {
    const size_t n = t.size();
    on_static(&n, sizeof n);
    on_static(t.data(), n);
  } else if constexpr (is_static<U>) {
    on_static(&t, sizeof t);
  } else if constexpr (std::is_same_v<U, std::monostate> || std::is_null_pointer_v<U>) {
  } else {
    static_assert(std::is_aggregate_v<U>,
                  "not a tree: use Array, struct, vector, array, tuple, pair, optional or map of these");
    with_members(t, [&](auto&... m) { (visit_tree(m, on_array, on_static), ...); });
  }
}

}  // namespace detail

/// Returns the arrays of a tree, in order (struct members as declared, maps by key).
template <class T>
std::vector<Array> tree_leaves(const T& tree) {
  std::vector<Array> leaves;
  detail::visit_tree(tree, [&](const Array& a) { leaves.push_back(a); }, [](const void*, size_t) {});
  return leaves;
}

/// Returns the tree with its arrays replaced by `leaves`, in order.
template <class T>
T tree_unflatten(const T& tree, std::span<const Array> leaves) {
  T result = tree;
  size_t next = 0;
  detail::visit_tree(
      result,
      [&](Array& a) {
        if (next == leaves.size()) throw InternalError("tree_unflatten: too few leaves");
        a = leaves[next++];
      },
      [](const void*, size_t) {});
  if (next != leaves.size()) throw InternalError("tree_unflatten: too many leaves");
  return result;
}

/// Calls f on corresponding leaves of trees of equal structure; the result has the structure of the first.
template <class F, class T, class... R>
T tree_map(F&& f, const T& tree, const R&... rest) {
  std::vector<Array> leaves = tree_leaves(tree);
  const std::array<std::vector<Array>, sizeof...(R)> others{tree_leaves(rest)...};
  for (const auto& other : others)
    if (other.size() != leaves.size())
      throw ShapeError("tree_map: trees of " + std::to_string(leaves.size()) + " and " + std::to_string(other.size()) +
                       " arrays; expected the same structure");
  for (size_t i = 0; i < leaves.size(); ++i)
    leaves[i] = [&]<size_t... J>(std::index_sequence<J...>) {
      return f(leaves[i], others[J][i]...);
    }(std::index_sequence_for<R...>{});
  return tree_unflatten(tree, leaves);
}

}  // namespace NEAP_API neap
