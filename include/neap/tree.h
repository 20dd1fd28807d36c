// Trees: an Array, or a struct, vector, array, tuple, pair, optional, variant or map of trees. Structs need no
// registration where all members are public and there is no base class nor constructor (aggregates), up to 32 members,
// C arrays among them; other classes name theirs (NEAP_TREE, neap/tree_detail.h). Numbers, enums, strings and dtypes
// inside a tree, and which alternative a variant holds, are static values: part of the signature under which a function
// is compiled, not inputs of it.
#pragma once

#include <neap/array.h>
#include <neap/tree_detail.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
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
inline constexpr bool is_pair = false;  // or a tuple of two
template <class A, class B>
inline constexpr bool is_pair<std::tuple<A, B>> = true;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool holds_references = false;
template <class... T>
inline constexpr bool holds_references<std::tuple<T...>> = (std::is_reference_v<T> || ...);
template <class A, class B>
inline constexpr bool holds_references<std::pair<A, B>> = std::is_reference_v<A> || std::is_reference_v<B>;
template <class T>
inline constexpr bool is_map = requires {  // std::map, and what is like it: ordered, of pairs that stay where they are
  typename T::mapped_type;
  typename T::key_compare;
  typename T::node_type;
};
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
/// sizes of containers. (constexpr, as what calls it: clang compiles it at once then, and so names the user's line.)
template <class T, class OnArray, class OnStatic>
constexpr void visit_tree(T& t, OnArray&& on_array, OnStatic&& on_static) {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, Array>) {
    constexpr bool takes = std::is_invocable_v<OnArray&, T&>;
    static_assert(takes, "neap: not a tree: a const Array in it cannot be replaced by another; make it an Array");
    if constexpr (takes) on_array(t);
  } else if constexpr (!std::is_const_v<T> && holds_references<U>) {
    static_assert(kNever<T>,
                  "neap: not a tree: a tuple or pair of references, as std::tie gives; make it one of values, as "
                  "std::tuple(x, y)");
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

/// CallOf is the call of a function on trees of these types. `ok` says whether there can be one, and whether it gives a
/// tree; where not, Result is an Array.
template <class F, class... A>
struct CallOf {
  static constexpr bool takes = std::is_invocable_v<const F&, const A&...>;
  using Returned = typename decltype([] {
    if constexpr (takes)
      return std::type_identity<std::decay_t<std::invoke_result_t<const F&, const A&...>>>();
    else
      return std::type_identity<Array>();
  }())::type;
  static constexpr bool copies = (std::is_copy_constructible_v<A> && ...);
  static constexpr bool ok = takes && copies && !std::is_void_v<Returned>;
  using Result = std::conditional_t<ok, Returned, Array>;
};

/// The compiler says in a sentence why there is no such call.
template <class F, class... A>
struct NoCall {
  // Asked only where it matters: to ask is to compile generic functions for such arguments.
  template <class G, class... B>
  static constexpr bool takes_else() {
    if constexpr (takes || is_value || !CallOf<F, A...>::copies)
      return false;
    else
      return std::is_invocable_v<G, B...>;
  }
  static constexpr bool takes = CallOf<F, A...>::takes;
  static constexpr bool is_value = std::is_same_v<F, Array> || is_static<F> || is_sequence<F> || is_tuple<F>;
  static constexpr bool if_mutable = takes_else<F&, const A&...>();
  static constexpr bool references = takes_else<F&, A&...>() || takes_else<F&, A&&...>();
  static_assert(CallOf<F, A...>::copies,
                "neap: not a tree: an argument cannot be copied; hold Arrays and containers of them by value");
  static_assert(!is_value, "neap: an array or a number stands where a function is expected");
  static_assert(!if_mutable,
                "neap: the function is a mutable lambda, or its operator() is not const; it may be called at any time");
  static_assert(if_mutable || !references,
                "neap: the function takes an argument by T& or T&&; take it by value or by const T&, and return what "
                "changed");
  static_assert(takes || is_value || if_mutable || references || !CallOf<F, A...>::copies,
                "neap: the function does not take these arguments: it wants another number of them, or other types");
  static_assert(!std::is_void_v<typename CallOf<F, A...>::Returned>,
                "neap: the function returns nothing; return an Array, or a tree of Arrays");
};

/// Stands for the result of what does not compile. no_call() has the compiler say why, at the caller's line.
template <class Result>
Result never() {
  throw InternalError("internal: a call that does not compile");
}
template <class Result, class F, class... A>
auto no_call() {
  static_cast<void>(sizeof(NoCall<F, A...>));
  return never<Result>();
}

/// Throws where f is a null pointer or an empty std::function.
[[noreturn]] void no_function(std::source_location loc);
template <class F>
void check_function(const F& f, std::source_location loc) {
  if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F> || requires {
                  typename F::result_type;
                  f.target_type();
                }) {
    if (!f) no_function(loc);
  }
}

/// Returns what a tree holds beside its arrays: the sizes of containers and static values.
template <class T>
constexpr std::string structure_of(const T& tree) {
  std::string bytes;
  visit_tree(
      tree, [](const Array&) {}, [&](const void* data, size_t n) { bytes.append(static_cast<const char*>(data), n); });
  return bytes;
}

}  // namespace detail

/// Returns the arrays of a tree, in order (struct members as declared, maps by key).
template <class T>
constexpr std::vector<Array> tree_leaves(const T& tree) {
  std::vector<Array> leaves;
  detail::visit_tree(tree, [&](const Array& a) { leaves.push_back(a); }, [](const void*, size_t) {});
  return leaves;
}

/// Returns the tree with its arrays replaced by `leaves`, in order.
template <class T>
constexpr T tree_unflatten(const T& tree, std::span<const Array> leaves) {
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

namespace detail {

/// Throws the error for trees of so many arrays, side by side.
[[noreturn]] void trees_differ(size_t first, size_t other, std::source_location loc);
template <class F, class T, class... R>
T tree_map_at(std::source_location loc, F& f, const T& tree, const R&... rest) {
  check_function(f, loc);
  std::vector<Array> leaves = tree_leaves(tree);
  const std::array<std::vector<Array>, sizeof...(R)> others{tree_leaves(rest)...};
  for (const auto& other : others)
    if (other.size() != leaves.size()) trees_differ(leaves.size(), other.size(), loc);
  if constexpr (std::is_invocable_r_v<Array, F&, Array&, std::conditional_t<true, const Array&, R>...>) {
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] = [&]<size_t... J>(std::index_sequence<J...>) {
        return f(leaves[i], others[J][i]...);
      }(std::index_sequence_for<R...>{});
  } else {
    static_assert(kNever<F>, "neap: tree_map: the function takes an Array of each tree, and returns an Array");
  }
  return tree_unflatten(tree, leaves);
}

}  // namespace detail

/// Calls f on corresponding leaves of trees of equal structure; the result has the structure of the first.
template <class F, class T, class... R>
  requires(sizeof...(R) > 1)
T tree_map(F&& f, const T& tree, const R&... rest) {
  return detail::tree_map_at({}, f, tree, rest...);
}
template <class F, class T>
T tree_map(F&& f, const T& tree, std::source_location loc = std::source_location::current()) {
  return detail::tree_map_at(loc, f, tree);
}
template <class F, class T, class R>
T tree_map(F&& f, const T& tree, const R& other, std::source_location loc = std::source_location::current()) {
  return detail::tree_map_at(loc, f, tree, other);
}

}  // namespace neap

#pragma GCC visibility pop
