// x[...] and x.at(...) as a user of NumPy expects them, run at once and compiled.
#include <neap/neap.h>

#include <concepts>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/message.h"

namespace neap {
namespace {

using testing::ElementsAre;

template <class F>
void expect_both(F f, const Array& x, const std::vector<int>& expected) {
  EXPECT_EQ(f(x).template to_vector<int>(), expected);
  EXPECT_EQ(jit(f)(x).template to_vector<int>(), expected);
}

TEST(Indexing, StepsLongerThanTheAxis) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const Array x = arange(5);
  expect_both([](const Array& v) { return v[slice(0, 5, kMost)]; }, x, {0});
  expect_both([](const Array& v) { return v[slice(none, none, kLeast)]; }, x, {4});
  expect_both([](const Array& v) { return v[slice(none, none, -kMost)]; }, x, {4});
  EXPECT_THAT(strided_slice(x, {1}, {5}, Shape{kMost}).to_vector<int>(), ElementsAre(1));
}

TEST(Indexing, BackwardSlices) {
  const Array x = arange(10);
  expect_both([](const Array& v) { return v[slice(8, 2, -3)]; }, x, {8, 5});
  expect_both([](const Array& v) { return v[slice(-1, none, -4)]; }, x, {9, 5, 1});
  expect_both([](const Array& v) { return v[slice(2, 8, -1)]; }, x, {});
}

TEST(Indexing, UpdatesOfWindows) {
  const Array x = arange(6).astype(i32);
  expect_both([](const Array& v) { return v.at(slice(1, 4)).set(array({7, 8, 9})); }, x, {0, 7, 8, 9, 4, 5});
  expect_both([](const Array& v) { return v.at(-1).add(10); }, x, {0, 1, 2, 3, 4, 15});
  expect_both([](const Array& v) { return v.at(slice(4, none)).mul(3); }, x, {0, 1, 2, 3, 12, 15});
  expect_both([](const Array& v) { return v.at(slice(none, 2)).max(1); }, x, {1, 1, 2, 3, 4, 5});
  expect_both([](const Array& v) { return v.at(slice(2, 2)).set(1); }, x, {0, 1, 2, 3, 4, 5});
  expect_both([](const Array& v) { return v.at(slice(none, none, 2)).min(1); }, x, {0, 1, 1, 3, 1, 5});
  expect_both([](const Array& v) { return v.at(slice(none, none, -1)).set(v); }, x, {5, 4, 3, 2, 1, 0});
}

TEST(Indexing, UpdatesOfMatrices) {
  const Array x = zeros({2, 3}, i32);
  expect_both([](const Array& v) { return v.at({ellipsis, 1}).set(array({4, 5})); }, x, {0, 4, 0, 0, 5, 0});
  expect_both([](const Array& v) { return v.at(1).add(array({1, 2, 3})); }, x, {0, 0, 0, 1, 2, 3});
  expect_both([](const Array& v) { return v.at({newaxis, 0, slice(1, 3)}).set(6); }, x, {0, 6, 6, 0, 0, 0});
  expect_both([](const Array& v) { return v.at({array({0, 1}), 2}).add(1); }, x, {0, 0, 1, 0, 0, 1});
  EXPECT_EQ(zeros({}).at(ellipsis).set(3).item<float>(), 3);
  EXPECT_THROW(x.at(2).set(1), IndexError);
}

TEST(Indexing, BrokenPromisesStayInsideTheArray) {
  constexpr auto kPromise = GatherMode::promise_in_bounds;
  const Array far = array({1, 2'000'000'000, -2'000'000'000});
  expect_both([&](const Array& v) { return take(v, far, 0, kPromise); }, arange(4), {1, 3, 0});
  expect_both([&](const Array& v) { return v.at(far, kPromise).add(10); }, arange(4), {0, 11, 2, 3});
}

TEST(Indexing, OneExecutableServesAllPlaces) {
  const Array x = arange(1 << 16);
  x[0], x.at(0).set(1);  // compiled here
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  for (int i = 1; i < 300; ++i) EXPECT_EQ(x[i].item<int>(), i);
  // No array of positions: the result, beside what was there.
  x.at(5).set(1);
  EXPECT_LE(memory::peak_bytes() - before, x.bytes() + 4096);
}

TEST(Indexing, OneHotOfNarrowIndicesCountsEveryClassOnce) {
  for (const DType t : {u8, i8, bool_}) {
    const Array y = one_hot(full({1}, 1, t), 1000);
    EXPECT_EQ(sum(y).item<float>(), 1);
    EXPECT_EQ((y[{0, 1}].item<float>()), 1);
  }
}

TEST(Indexing, IndicesBesideArraysMayPass31Bits) {
  const auto f = jit([](const Array& x, const Array& i) { return x[{i, int64_t{1} << 32}]; });
  const std::string text = f.plan(spec({2, int64_t{1} << 33}, u8), spec({1}, i32)).to_text();
  EXPECT_FALSE(text.empty());  // the index was no number of i32 before
}

TEST(Indexing, ArgmaxRefusesAxesThatAnI32DoesNotCount) {
  const auto f = jit([](const Array& x) { return argmax(x); });
  EXPECT_THROW(f.plan(spec({int64_t{1} << 31}, u8)), ShapeError);
}

// An array of its own is what x[0] gives: an assignment to it would be lost.
template <class T, class U>
constexpr bool can_assign = std::is_assignable_v<T, U>;
static_assert(!can_assign<Array, Array> && !can_assign<Array, const Array&> && !can_assign<Array, float>);
static_assert(!can_assign<IndexUpdate, Array> && !can_assign<IndexUpdate, float>);
static_assert(can_assign<Array&, Array> && can_assign<Array&, const Array&> && !can_assign<Array&, float>);
static_assert(std::is_nothrow_move_constructible_v<Array> && std::is_nothrow_move_assignable_v<Array>);
static_assert(std::copyable<Array> && std::swappable<Array> && std::is_assignable_v<std::optional<Array>&, Array>);

TEST(Indexing, ArraysAreCopiedAndMovedAsValues) {
  struct Pair {
    Array a, b;
  };
  Array x = arange(3)[1], y;
  y = x + 1;
  x = std::move(y);
  std::tie(x, y) = std::pair(arange(2), arange(4));
  std::swap(x, y);
  Pair pair{x, y};
  pair = Pair{y, x};
  std::vector<Array> many(2);
  many[0] = x;
  many = {x, y};
  EXPECT_EQ(many[1].size() + pair.a.size() + std::exchange(x, Array()).size(), 2 + 2 + 4);
}

TEST(Errors, NameTheCallersLineThroughFunctionsMadeOfOthers) {
  const Array x = ones({3});
  const std::string here = "[indexing_test.cpp:";
  EXPECT_THAT(message_of<IndexError>([&] { softmax(x, 7); }), testing::HasSubstr(here));
  EXPECT_THAT(message_of<IndexError>([&] { logsumexp(x, 7); }), testing::HasSubstr(here));
  EXPECT_THAT(message_of<UserError>([&] { spec({2}, f32) + 1; }), testing::HasSubstr("add: a spec"));
  EXPECT_THAT(message_of<UserError>([&] { spec({2}, f32) + 1; }), testing::HasSubstr(here));
}

TEST(Errors, ShapesWithoutMeaningAreTheUsers) {
  EXPECT_THROW(array(std::vector<float>{1, 2}, Shape{-2}), ShapeError);
  EXPECT_THROW(reshape(ones({4}), {-1, int64_t{1} << 62, 8}), ShapeError);
  EXPECT_THROW(random::normal(random::key(0), {int64_t{1} << 62}), ShapeError);
  EXPECT_THROW(iota({int64_t{1} << 62}, 0), ShapeError);
}

}  // namespace
}  // namespace neap
