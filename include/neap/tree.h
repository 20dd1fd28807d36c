// Trees: an Array, or a struct, vector, array, tuple, pair, optional, variant or map of trees. Structs need no
// registration where all members are public and there is no base class nor constructor (aggregates), up to 32 members,
// C arrays among them; other classes name theirs (NEAP_TREE, neap/tree_detail.h). Numbers, enums, strings and dtypes
// inside a tree, and which alternative a variant holds, are static values: part of the signature under which a function
// is compiled, not inputs of it.
#pragma once

#include <neap/array.h>
#include <neap/tree_detail.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

namespace detail {

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
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T, class U>
inline constexpr bool is_named_by = true;
template <class T, class Class, class... Members>
inline constexpr bool is_named_by<T, MembersOf<Class, Members...>> = std::is_same_v<T, Class>;
template <class... T>
const std::tuple<T...>& tuple_of(const std::tuple<T...>& members) {
  return members;
}
template <class... T>
auto tuple_of(const MembersOf<T...>& members) {
  return members.members;
}
template <class T>
inline constexpr bool names_members = requires(T& t) { t.tree_members(); };
template <class T>
inline constexpr bool members_are_named = requires(T& t) { tree_members(t); };  // found beside T
template <class T>
inline constexpr bool is_static =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || Scalar<T>;

/// Whether members of T can be found without a word from its author.
template <class T>
constexpr bool is_struct() {
  if constexpr (!std::is_aggregate_v<T> || std::is_union_v<T> || has_base<T>) {
    return false;
  } else {
    return member_count<T>() <= kMostMembers;
  }
}
/// The compiler says once what is wanted in place of T.
template <class T>
struct NoTree {
  static constexpr bool aggregate = std::is_aggregate_v<T> && !std::is_union_v<T>;
  static_assert(aggregate,
                "neap: not a tree: expected an Array, a number, a string, an enum, a struct of public members, or a "
                "vector, array, tuple, pair, optional, variant or map of such; a class names its members by NEAP_TREE");
  static_assert(!aggregate || !has_base<T>,
                "neap: not a tree: a struct with a base class names its members by NEAP_TREE");
  static_assert(!aggregate || has_base<T>,
                "neap: not a tree: a struct of more than 32 members, or with references or arrays of more than 128 "
                "elements, names its members by NEAP_TREE");
};

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
  } else if constexpr (is_variant<U>) {
    const size_t which = t.index();
    on_static(&which, sizeof which);
    if (!t.valueless_by_exception()) std::visit([&](auto& e) { visit_tree(e, on_array, on_static); }, t);
  } else if constexpr (std::is_array_v<U>) {
    for (auto& e : t) visit_tree(e, on_array, on_static);
  } else if constexpr (names_members<T>) {
    static_assert(
        is_named_by<U, decltype(t.tree_members())>,
        "neap: not a tree: the base class names its members by NEAP_TREE, and this class must name all of its own");
    std::apply([&](auto&... e) { (visit_tree(e, on_array, on_static), ...); }, tuple_of(t.tree_members()));
  } else if constexpr (members_are_named<T>) {
    std::apply([&](auto&... e) { (visit_tree(e, on_array, on_static), ...); }, tree_members(t));
  } else if constexpr (!is_struct<U>()) {
    static_cast<void>(sizeof(NoTree<U>));
  } else {
    with_members(t, [&](auto&... m) { (visit_tree(m, on_array, on_static), ...); });
  }
}

/// CallOf is the call of a function on trees of these types. Where there can be none, or its result is no tree, the
/// compiler says so in a sentence; `ok` is false then, and Result an Array, so that it says nothing else.
template <class F, class... A>
struct CallOf {
  static constexpr bool takes = std::is_invocable_v<const F&, const A&...>;
  // Asked only where it matters: to ask is to compile generic functions for such arguments.
  template <class G, class... B>
  static constexpr bool takes_else() {
    if constexpr (takes)
      return false;
    else
      return std::is_invocable_v<G, B...>;
  }
  static constexpr bool takes_if_mutable = takes_else<F&, const A&...>();
  static constexpr bool takes_references = takes_else<F&, A&...>();
  static_assert(takes || !takes_if_mutable,
                "neap: the function is a mutable lambda, or its operator() is not const; it may be called at any time");
  static_assert(takes || takes_if_mutable || !takes_references,
                "neap: the function takes an argument by T&; take it by value or by const T&, and return what changed");
  static_assert(takes || takes_if_mutable || takes_references,
                "neap: the function does not take these arguments: it wants another number of them, or other types");
  using Returned = typename decltype([] {
    if constexpr (takes)
      return std::type_identity<std::decay_t<std::invoke_result_t<const F&, const A&...>>>();
    else
      return std::type_identity<Array>();
  }())::type;
  static_assert(!std::is_void_v<Returned>, "neap: the function returns nothing; return an Array, or a tree of Arrays");
  static constexpr bool ok = takes && !std::is_void_v<Returned>;
  using Result = std::conditional_t<ok, Returned, Array>;
};

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

}  // namespace neap

#pragma GCC visibility pop
