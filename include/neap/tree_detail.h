// The members of a struct, one by one, without a word from its author: how many there are, and a call with all of them.
#pragma once

#include <neap/api.h>

#include <algorithm>
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
/// It defines a function tree_members() that returns references to them (std::tie). Where a class is not one's own, a
/// free function tree_members(x) beside it, for a const and for another x, does the same. What is not named stays as it
/// is in copies.
#define NEAP_TREE(...)                                  \
  auto tree_members() { return std::tie(__VA_ARGS__); } \
  auto tree_members() const { return std::tie(__VA_ARGS__); }

namespace NEAP_API neap {
namespace detail {

struct AnyMember {
  template <class T>
  operator T() const;  // only in unevaluated brace initialisation
};
struct AnyOf {
  template <class T>
  struct Base {
    template <class U>
      requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
    operator U() const;
  };
};

inline constexpr size_t kMostMembers = 32;

template <size_t>
using Any = AnyMember;
/// T{any, ..., any}
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{Any<I>{}...}; };
}
/// T{any, ..., {}, any, ..., any}: the element in the middle is one member, not a part of an array.
template <class T, size_t... Before, size_t... After>
constexpr bool takes_empty(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { T{Any<Before>{}..., {}, Any<After>{}...}; };
}
/// T{any, ..., {any, ..., any}, any, ..., any}
template <class T, size_t... Before, size_t... Inside, size_t... After>
constexpr bool takes_array(std::index_sequence<Before...>, std::index_sequence<Inside...>,
                           std::index_sequence<After...>) {
  return requires { T{Any<Before>{}..., {Any<Inside>{}...}, Any<After>{}...}; };
}

/// Returns the most elements that T's braces take, those of arrays one by one.
template <class T, size_t N = 4 * kMostMembers>
constexpr size_t element_limit() {
  if constexpr (N == 0 || takes<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return element_limit<T, N - 1>();
  }
}

/// Returns how many of the elements of T from `at` on are one member: more than one where it is an array.
template <class T, size_t kAt, size_t kAll, size_t kLength>
constexpr size_t length_at() {
  if constexpr (kLength <= 1 ||
                takes_empty<T>(std::make_index_sequence<kAt>{}, std::make_index_sequence<kAll - kAt - 1>{})) {
    return 1;
  } else if constexpr (takes_array<T>(std::make_index_sequence<kAt>{}, std::make_index_sequence<kLength>{},
                                      std::make_index_sequence<kAll - kAt - kLength>{})) {
    return kLength;
  } else {
    return length_at<T, kAt, kAll, kLength - 1>();
  }
}

template <class T, size_t kAt, size_t kAll>
constexpr size_t members_from() {
  if constexpr (kAt == kAll) {
    return 0;
  } else {
    return 1 + members_from<T, kAt + length_at<T, kAt, kAll, kAll - kAt>(), kAll>();
  }
}

template <class T>
inline constexpr bool has_base = requires { T{AnyOf::Base<T>{}}; };

template <class T>
constexpr size_t member_count() {
  constexpr size_t kAll = element_limit<T, std::min(4 * kMostMembers, sizeof(T))>();
  return members_from<T, 0, kAll>();
}

/// Calls f on the members of an aggregate: f(m0, m1, ...).
template <class T, class F>
decltype(auto) with_members(T& t, F&& f) {
  constexpr size_t n = member_count<std::remove_cv_t<T>>();
  if constexpr (n == 0) {
    return f();
  } else if constexpr (n == 1) {
    auto& [m1] = t;
    return f(m1);
  } else if constexpr (n == 2) {
    auto& [m1, m2] = t;
    return f(m1, m2);
  } else if constexpr (n == 3) {
    auto& [m1, m2, m3] = t;
    return f(m1, m2, m3);
  } else if constexpr (n == 4) {
    auto& [m1, m2, m3, m4] = t;
    return f(m1, m2, m3, m4);
  } else if constexpr (n == 5) {
    auto& [m1, m2, m3, m4, m5] = t;
    return f(m1, m2, m3, m4, m5);
  } else if constexpr (n == 6) {
    auto& [m1, m2, m3, m4, m5, m6] = t;
    return f(m1, m2, m3, m4, m5, m6);
  } else if constexpr (n == 7) {
    auto& [m1, m2, m3, m4, m5, m6, m7] = t;
    return f(m1, m2, m3, m4, m5, m6, m7);
  } else if constexpr (n == 8) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8);
  } else if constexpr (n == 9) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9);
  } else if constexpr (n == 10) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  } else if constexpr (n == 11) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  } else if constexpr (n == 12) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  } else if constexpr (n == 13) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  } else if constexpr (n == 14) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  } else if constexpr (n == 15) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  } else if constexpr (n == 16) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  } else if constexpr (n == 17) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  } else if constexpr (n == 18) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  } else if constexpr (n == 19) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  } else if constexpr (n == 20) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
  } else if constexpr (n == 21) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
  } else if constexpr (n == 22) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22);
  } else if constexpr (n == 23) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] =
        t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23);
  } else if constexpr (n == 24) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24);
  } else if constexpr (n == 25) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25);
  } else if constexpr (n == 26) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26);
  } else if constexpr (n == 27) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27);
  } else if constexpr (n == 28) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27, m28);
  } else if constexpr (n == 29) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27, m28, m29);
  } else if constexpr (n == 30) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27, m28, m29, m30);
  } else if constexpr (n == 31) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30, m31] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27, m28, m29, m30, m31);
  } else if constexpr (n == 32) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30, m31, m32] = t;
    return f(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
             m24, m25, m26, m27, m28, m29, m30, m31, m32);
  }
}

}  // namespace detail
}  // namespace NEAP_API neap
