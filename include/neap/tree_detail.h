// The members of a struct, one by one, without a word from its author: how many there are, and a call with all of them.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// Names the members that make a tree of a class with private members, a base class, a constructor or more than 32
/// members; written in its public part:
///
///     class Layer {
///      public:
///       NEAP_TREE(weight_, bias_)
///      private:
///       neap::Array weight_, bias_;
///     };
///
/// Where a class is not one's own, a free function tree_members(x) beside it, for a const and for another x, returns
/// references to its members (std::tie). What is not named stays as it is in copies and is no part of a signature: a
/// jitted function keeps what it was when it was traced. So name the numbers, too, that the function reads. A class
/// does not inherit the names of its base: it names those members again beside its own.
#define NEAP_TREE(...)                                                           \
  auto tree_members() { return ::neap::detail::members_of(*this, __VA_ARGS__); } \
  auto tree_members() const { return ::neap::detail::members_of(*this, __VA_ARGS__); }

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {
namespace detail {

/// The members that a class names, and which class that is.
template <class Class, class... Members>
struct MembersOf {
  std::tuple<Members&...> members;
};
template <class Class, class... Members>
MembersOf<std::remove_const_t<Class>, Members...> members_of(Class&, Members&... members) {
  return {{members...}};
}

struct AnyMember {
  template <class T>
  operator T() const;  // only in unevaluated brace initialisation
};
/// Becomes a base class of T and nothing else.
template <class T>
struct AnyBase {
  template <class U>
    requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
  operator U() const;
};
struct Nothing {};  // becomes only what is made of anything, such as std::any

inline constexpr size_t kMostMembers = 32, kMostElements = 128;

template <size_t>
using Any = AnyMember;
/// T{any, ..., any}
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{Any<I>{}...}; };
}
/// T{any, ..., {any, ..., any}, any, ..., any}
template <class T, size_t... Before, size_t... Inside, size_t... After>
constexpr bool takes_inside(std::index_sequence<Before...>, std::index_sequence<Inside...>,
                            std::index_sequence<After...>) {
  return requires { T{Any<Before>{}..., {Any<Inside>{}...}, Any<After>{}...}; };
}
template <class T, size_t kBefore, size_t kInside, size_t kAfter>
constexpr bool takes_inside() {
  return takes_inside<T>(std::make_index_sequence<kBefore>{}, std::make_index_sequence<kInside>{},
                         std::make_index_sequence<kAfter>{});
}

/// Returns the most elements that T's braces take, those of arrays one by one: the end of the first run of numbers that
/// they take; 0 where they take none.
template <class T, bool kBegun = false, size_t N = 0>
constexpr size_t element_count_of() {
  constexpr bool here = takes<T>(std::make_index_sequence<N>{});
  if constexpr (kBegun && !here) {
    return N - 1;
  } else if constexpr (N > kMostElements) {
    return here ? N : 0;
  } else {
    return element_count_of<T, here, N + 1>();
  }
}

/// Whether the element at kAt is a member of its own: then braces in its place, empty or with what its constructor
/// wants, leave room for all others. Those of an array take several elements.
template <class T, size_t kAt, size_t kAll, size_t kInside = 0>
constexpr bool is_member() {
  constexpr size_t kMostArguments = 4;
  if constexpr (takes_inside<T, kAt, kInside, kAll - kAt - 1>()) {
    return true;
  } else if constexpr (kInside == kMostArguments) {
    return false;
  } else {
    return is_member<T, kAt, kAll, kInside + 1>();
  }
}
/// Returns how many elements the array has that begins at kAt.
template <class T, size_t kAt, size_t kAll, size_t kLength>
constexpr size_t array_length() {
  if constexpr (kLength <= 1 || takes_inside<T, kAt, kLength, kAll - kAt - kLength>()) {
    return kLength;
  } else {
    return array_length<T, kAt, kAll, kLength - 1>();
  }
}

template <class T, size_t kAt, size_t kAll>
constexpr size_t members_from() {
  if constexpr (kAt == kAll) {
    return 0;
  } else if constexpr (is_member<T, kAt, kAll>()) {
    return 1 + members_from<T, kAt + 1, kAll>();
  } else {
    return 1 + members_from<T, kAt + array_length<T, kAt, kAll, kAll - kAt>(), kAll>();
  }
}

template <class T>
inline constexpr bool has_base = requires { T{AnyBase<T>{}}; } && !requires { T{Nothing{}}; };

/// Returns how many members an aggregate has; more than kMostMembers where they cannot be counted.
template <class T>
constexpr size_t member_count() {
  constexpr size_t kAll = element_count_of<T>();
  if constexpr (kAll > kMostElements || (kAll == 0 && !std::is_empty_v<T>)) {
    return kMostMembers + 1;
  } else {
    return members_from<T, 0, kAll>();
  }
}

/// Calls f on the members of an aggregate: f(m1, m2, ...).
template <class T, class F>
decltype(auto) with_members(T& t, F&& f) {
  constexpr size_t n = member_count<std::remove_cv_t<T>>();
#define NEAP_MEMBERS(count, ...) \
  if constexpr (n == count) {    \
    auto& [__VA_ARGS__] = t;     \
    return f(__VA_ARGS__);       \
  }
  if constexpr (n == 0) return f();
  NEAP_MEMBERS(1, m1)
  NEAP_MEMBERS(2, m1, m2)
  NEAP_MEMBERS(3, m1, m2, m3)
  NEAP_MEMBERS(4, m1, m2, m3, m4)
  NEAP_MEMBERS(5, m1, m2, m3, m4, m5)
  NEAP_MEMBERS(6, m1, m2, m3, m4, m5, m6)
  NEAP_MEMBERS(7, m1, m2, m3, m4, m5, m6, m7)
  NEAP_MEMBERS(8, m1, m2, m3, m4, m5, m6, m7, m8)
  NEAP_MEMBERS(9, m1, m2, m3, m4, m5, m6, m7, m8, m9)
  NEAP_MEMBERS(10, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10)
  NEAP_MEMBERS(11, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11)
  NEAP_MEMBERS(12, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12)
  NEAP_MEMBERS(13, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13)
  NEAP_MEMBERS(14, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14)
  NEAP_MEMBERS(15, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15)
  NEAP_MEMBERS(16, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16)
  NEAP_MEMBERS(17, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17)
  NEAP_MEMBERS(18, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18)
  NEAP_MEMBERS(19, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19)
  NEAP_MEMBERS(20, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20)
  NEAP_MEMBERS(21, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21)
  NEAP_MEMBERS(22, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22)
  NEAP_MEMBERS(23, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23)
  NEAP_MEMBERS(24, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24)
  NEAP_MEMBERS(25, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25)
  NEAP_MEMBERS(26, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26)
  NEAP_MEMBERS(27, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27)
  NEAP_MEMBERS(28, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28)
  NEAP_MEMBERS(29, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29)
  NEAP_MEMBERS(30, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29, m30)
  NEAP_MEMBERS(31, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29, m30, m31)
  NEAP_MEMBERS(32, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23, m24, m25, m26, m27, m28, m29, m30, m31, m32)
#undef NEAP_MEMBERS
}

}  // namespace detail
}  // namespace neap

#pragma GCC visibility pop
