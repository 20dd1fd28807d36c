// What does not compile does not exist for the type traits either, so that generic code can ask.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <concepts>
#include <type_traits>

namespace {
using namespace neap;

static_assert(std::is_assignable_v<Array&, Array> && std::is_assignable_v<Array&, const Array&>);
static_assert(!std::is_assignable_v<Array&, float> && !std::is_assignable_v<Array&, std::complex<float>>);
static_assert(!std::is_assignable_v<Array, Array> && !std::is_assignable_v<Array, float>);
static_assert(!std::is_assignable_v<IndexUpdate, Array> && std::is_assignable_v<IndexUpdate&, IndexUpdate>);
static_assert(std::semiregular<Array> && std::is_nothrow_move_constructible_v<Array>);

static_assert(std::is_convertible_v<int, IndexList> && std::is_convertible_v<Array, IndexList>);
static_assert(!std::is_convertible_v<double, IndexList> && !std::is_convertible_v<float, IndexList>);

template <class T, class U>
concept Adds = requires(T&& x, const U& y) { std::forward<T>(x) += y; };
static_assert(Adds<Array&, Array> && Adds<Array&, float>);
static_assert(!Adds<Array, Array> && !Adds<Array, float> && !Adds<IndexUpdate, Array>);

TEST(Traits, WhatATransformGivesTakesWhatItSays) {
  const auto [y, pullback] = vjp([](const Array& x) { return x * x; }, array(3.0f));
  using Pullback = decltype(pullback);
  static_assert(std::is_invocable_r_v<Array, Pullback, const Array&>);
  static_assert(!std::is_invocable_v<Pullback, float> && !std::is_invocable_v<Pullback, Array, Array>);
  EXPECT_EQ(item<float>(pullback(array(1.0f))), 6);

  const auto [z, linear] = linearize([](const Array& x) { return x * x; }, array(3.0f));
  using Linear = decltype(linear);
  static_assert(std::is_invocable_r_v<Array, Linear, const Array&>);
  static_assert(!std::is_invocable_v<Linear> && !std::is_invocable_v<Linear, Array, Array>);
  EXPECT_EQ(item<float>(linear(array(2.0f))), 12);
}

}  // namespace
