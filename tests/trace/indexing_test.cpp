// x[...], x.at(...) and windows as a user of NumPy expects them, run at once and compiled.
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

// Large windows, which kernels write apart from what lies around them: of each side, of none, of one element of an
// axis.
TEST(Indexing, UpdatesOfLargeWindows) {
  const Array x = reshape(sin(arange(300 * 17 * 70)), {300, 17, 70});
  const IndexList windows[] = {
      {slice(1, -1), slice(1, -1), slice(1, -1)},           {slice(none, 250)},  {ellipsis, slice(20, none)},
      {slice(3, none), slice(none, none), slice(none, -1)}, {slice(none, none)}, {slice(40, 290), slice(2, 16)}};
  for (const IndexList& window : windows) {
    const Array y = reshape(cos(arange(x[window].size())), x[window].shape());
    const auto expect = [&](const auto& update) {
      const auto all = [&](const Array& x, const Array& y) { return update(x, y); };
      const Array now = all(x, y);
      EXPECT_EQ(jit(all)(x, y).template to_vector<float>(), now.to_vector<float>());
      // Beside another result, which keeps what it updates, and in a loop, which does not.
      const auto both = jit([&](const Array& x, const Array& y) { return std::pair(update(x, y), x * 2); });
      EXPECT_EQ(both(x, y).first.template to_vector<float>(), now.to_vector<float>());
      EXPECT_EQ(both(x, y).second.template to_vector<float>(), (x * 2).to_vector<float>());
      const auto twice = [&](const Array& x, const Array& y) {
        return fori_loop(0, 2, [&](const Array&, const Array& x) { return update(x, y) + 1; }, x);
      };
      EXPECT_EQ(jit(twice)(x, y).template to_vector<float>(), (all(all(x, y) + 1, y) + 1).template to_vector<float>());
    };
    expect([&](const Array& x, const Array& y) { return x.at(window).set(y); });
    expect([&](const Array& x, const Array& y) { return x.at(window).add(y); });
    expect([&](const Array& x, const Array& y) { return x.at(window).mul(y); });
    expect([&](const Array& x, const Array& y) { return x.at(window).min(y); });
    expect([&](const Array& x, const Array& y) { return x.at(window).max(x[window] + y); });
    const auto loss = [&](const Array& x, const Array& y) { return sum(square(x.at(window).set(y * 2))); };
    const auto [of_x, of_y] = jit(grad<0, 1>(loss))(x, y);
    EXPECT_EQ(of_x.template to_vector<float>(), (2 * x).at(window).set(0).to_vector<float>());
    EXPECT_EQ(of_y.template to_vector<float>(), (8 * y).to_vector<float>());
    const auto of_each = jit(vmap([&](const Array& x) { return x.at(window).add(1); }))(stack({x, -x}));
    EXPECT_EQ(of_each.template to_vector<float>(),
              stack({x.at(window).add(1), (-x).at(window).add(1)}).to_vector<float>());
  }
  const auto flags = jit([](const Array& x) { return (x > 0).at({slice(1, none)}).set(x[slice(1, none)] < 0); })(x);
  EXPECT_EQ(sum(flags.astype(i32)).item<int>(),
            sum((x[0] > 0).astype(i32)).item<int>() + sum((x[slice(1, none)] < 0).astype(i32)).item<int>());
}

// The loop's carry and what it begins with, and nothing beside them.
// Of small arrays, and of wide windows with steps: arrays that fuse, with the bits of what is run at once.
TEST(Indexing, UpdatesOfKnownWindows) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<IndexList::Entry>> windows{{2},
                                                           {-1},
                                                           {slice(1, 4)},
                                                           {slice(none, none, 2)},
                                                           {slice(1, none, 3), 2},
                                                           {slice(), 0},
                                                           {0, slice(1, none, 2)},
                                                           {slice(5, 2)},
                                                           {slice(none, none, -1)},
                                                           {slice(-3, none), slice(none, -2)},
                                                           {slice(none, none, kMost), 1}};
  const Array odd = array({1.5, -0.0, 0.0, double{NAN}, HUGE_VAL, -HUGE_VAL, 3.0, -2.25, 7.0});
  for (const int64_t rows : {6, 600}) {
    for (const DType dtype : {f32, f64, DType::f16, i32, u8, DType::i8, bool_, DType::c64}) {
      const auto drawn = [&](int64_t shift) {
        const Array x = reshape(odd[(arange(rows * 5) + shift) % 9], {rows, 5});
        return is_float(dtype) ? x.astype(dtype) : where(abs(x) < 100, x, 1).astype(dtype);
      };
      const Array x = drawn(0), other = drawn(4);
      for (const std::vector<IndexList::Entry>& window : windows) {
        const auto expect = [&](const auto& update) {
          const auto f = [&](const Array& x, const Array& y) { return update(x.at(window), y[window]); };
          const Array once = f(x, other), compiled = jit(f)(x, other);
          const auto bits = [&](const Array& a) {
            return (dtype == bool_        ? a.astype(u8)
                    : dtype == DType::c64 ? stack({real(a), imag(a)})
                                          : a)
                .to_vector<double>();
          };
          const auto want = bits(once), got = bits(compiled);
          ASSERT_EQ(want.size(), got.size());
          for (size_t i = 0; i < want.size(); ++i) {
            ASSERT_TRUE(std::memcmp(&want[i], &got[i], sizeof(double)) == 0 ||
                        (std::isnan(want[i]) && std::isnan(got[i])))
                << want[i] << " and " << got[i] << " at " << i << " of " << to_string(x.aval());
          }
        };
        expect([](const IndexUpdate& at, const Array& y) { return at.set(y); });
        if (dtype == bool_) continue;
        expect([](const IndexUpdate& at, const Array& y) { return at.add(y); });
        if (dtype == DType::c64) continue;
        expect([](const IndexUpdate& at, const Array& y) { return at.mul(y); });
        expect([](const IndexUpdate& at, const Array& y) { return at.min(y); });
        expect([](const IndexUpdate& at, const Array& y) { return at.max(y); });
      }
    }
  }
  const Array x = reshape(linspace(0.5, 2.0, 30), {6, 5});
  const auto loss = [](const Array& x) {
    const Array y =
        x.at({slice(none, none, 2), 1}).mul(x[{slice(1, none, 2), 2}]).at({slice(1, 3)}).add(square(x[{slice(0, 2)}]));
    return sum(y * y.at({3}).max(1.0));
  };
  const auto want = grad(loss)(x).to_vector<float>(), got = jit(grad(loss))(x).to_vector<float>();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], 1e-5);
}

TEST(Indexing, LargeWindowsOfACarryAreUpdatedInPlace) {
  const Array x = spec({512, 512}, f32);
  const auto peak = [&](const auto& update) {
    const auto f = jit([&](const Array& x) {
      return fori_loop(0, 5, [&](const Array&, const Array& u) { return update(u.at({slice(), slice(1, 500)})); }, x);
    });
    return f.plan(x).peak_bytes();
  };
  const size_t most = 2 * 512 * 512 * sizeof(float) + 4096;
  EXPECT_LE(peak([](const IndexUpdate& u) { return u.set(1); }), most);
  EXPECT_LE(peak([](const IndexUpdate& u) { return u.add(1); }), most);
  EXPECT_LE(peak([](const IndexUpdate& u) { return u.max(sin(arange(499))); }), most);
  const auto twice = jit([](const Array& x) {
    const Array u = sin(exp(sin(x)));  // computed once for each element, in the window or outside of it
    return u.at({slice(), slice(1, 500)}).add(1);
  });
  EXPECT_LE(twice.plan(x).peak_bytes(), most);
}

// Rows that index arrays of the first axes choose: in range, from the end, out of range, twice.
TEST(Indexing, UpdatesOfRows) {
  const Array x = reshape(arange(24).astype(i32), {2, 3, 4});
  const Array i = array({0, -1, 5, 0}), j = array({{2, 0, 1, 2}, {1, 1, 1, -4}});
  expect_both([&](const Array& v) { return sum(v.at(i).set(0), {1, 2}); }, x, {0, 0});
  expect_both([&](const Array& v) { return sum(v.at(i).add(1), {1, 2}); }, x, {66 + 24, 210 + 12});
  expect_both([&](const Array& v) { return sum(v.at({i, j}).add(1), 2); }, x, {6, 22 + 4, 38 + 8, 54 + 4, 70 + 4, 86});
  expect_both([&](const Array& v) { return sum(v.at({i, j, 1}).add(1), 2); }, x,
              {6, 22 + 1, 38 + 2, 54 + 1, 70 + 1, 86});
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

// A window's start as its own array, so that it is traced; by the reference too.
void expect_window(const Array& x, const Array& start, const Shape& shape, const std::vector<int>& expected) {
  const auto f = [&](const Array& v, const Array& i) { return dynamic_slice(v, i, shape); };
  const auto g = [&](const Array& v) { return dynamic_slice(v, start, shape); };
  EXPECT_EQ(f(x, start).to_vector<int>(), expected);
  EXPECT_EQ(jit(f)(x, start).to_vector<int>(), expected);
  EXPECT_EQ(jit(g)(x).to_vector<int>(), expected);  // a start that is known
  const eager_reference reference;
  EXPECT_EQ(f(x, start).to_vector<int>(), expected);
}

TEST(Indexing, WindowsStartFromTheEndWhereTheirStartIsNegative) {
  const Array x = arange(10);
  for (const DType t : {i8, i16, i32, i64}) {
    expect_window(x, full({1}, -1, t), {3}, {7, 8, 9});
    expect_window(x, full({1}, -5, t), {3}, {5, 6, 7});
    expect_window(x, full({1}, -10, t), {3}, {0, 1, 2});
    expect_window(x, full({1}, -11, t), {3}, {0, 1, 2});
    expect_window(x, full({1}, -128, t), {3}, {0, 1, 2});
    expect_window(x, full({1}, 4, t), {3}, {4, 5, 6});
    expect_window(x, full({1}, 12, t), {3}, {7, 8, 9});
  }
  expect_window(x, full({1}, std::numeric_limits<int64_t>::min(), i64), {3}, {0, 1, 2});
  expect_window(x, full({1}, std::numeric_limits<int64_t>::max(), i64), {3}, {7, 8, 9});
  for (const DType t : {u8, u16, u32, u64}) {
    expect_window(x, full({1}, 4, t), {3}, {4, 5, 6});
    expect_window(x, full({1}, 255, t), {3}, {7, 8, 9});
  }
  expect_window(x, array(std::vector<uint64_t>{(uint64_t{1} << 63) + 5}), {3}, {7, 8, 9});
  expect_window(arange(1000), full({1}, -3, i8), {2}, {997, 998});
  const Array rows = reshape(arange(24), {2, 3, 4});  // axes of three lengths
  expect_window(rows, array({-1, -2, -3}), {1, 1, 2}, {17, 18});
  expect_window(rows, array({1, -9, 1}), {1, 2, 4}, {12, 13, 14, 15, 16, 17, 18, 19});
  EXPECT_THROW(dynamic_slice(x, array({1.5f}), {3}), DTypeError);
  EXPECT_THROW(dynamic_slice(x, array({true}), {3}), DTypeError);
  EXPECT_THROW(dynamic_slice(x, array({1, 2}), {3}), ShapeError);
}

TEST(Indexing, UpdatesStartFromTheEndWhereTheirStartIsNegative) {
  const Array x = zeros({5}, i32), y = array({7, 8});
  const std::vector<std::pair<int, std::vector<int>>> cases = {
      {-1, {0, 0, 0, 7, 8}}, {-4, {0, 7, 8, 0, 0}}, {-6, {7, 8, 0, 0, 0}}, {2, {0, 0, 7, 8, 0}}, {9, {0, 0, 0, 7, 8}}};
  for (const auto& [first, expected] : cases) {
    const Array start = full({1}, first, i32);
    const auto f = [&](const Array& v, const Array& i) { return dynamic_update_slice(v, y, i); };
    EXPECT_EQ(f(x, start).to_vector<int>(), expected);
    EXPECT_EQ(jit(f)(x, start).to_vector<int>(), expected);
    EXPECT_EQ(jit([&](const Array& v) { return f(v, start); })(x).to_vector<int>(), expected);
    const eager_reference reference;
    EXPECT_EQ(f(x, start).to_vector<int>(), expected);
  }
}

// What a rule makes of a window has its start: counted once, not once more.
TEST(Indexing, TransformsOfWindowsFromTheEnd) {
  const Array x = arange(6.0f), starts = array({{-1}, {-5}, {-9}, {3}});
  const auto window = [](const Array& v, const Array& i) { return dynamic_slice(v, i, {2}); };
  const auto each = vmap(window, {.in_axes = {none, 0}});
  const std::vector<int> expected = {4, 5, 1, 2, 0, 1, 3, 4};
  EXPECT_EQ(each(x, starts).to_vector<int>(), expected);
  EXPECT_EQ(jit(each)(x, starts).to_vector<int>(), expected);
  const auto slope = [&](const Array& i) {
    return grad([&](const Array& v) { return sum(dynamic_slice(v, i, {2}) * array({1.0f, 2.0f})); })(x);
  };
  const std::vector<std::pair<int, std::vector<int>>> slopes = {
      {-1, {0, 0, 0, 0, 1, 2}}, {-5, {0, 1, 2, 0, 0, 0}}, {-7, {1, 2, 0, 0, 0, 0}}, {-9, {1, 2, 0, 0, 0, 0}}};
  for (const auto& [first, gradient] : slopes) {
    EXPECT_EQ(slope(array({first})).to_vector<int>(), gradient);
    EXPECT_EQ(jit(slope)(array({first})).to_vector<int>(), gradient);
    const auto kept = [&](const Array& i) {
      return grad([&](const Array& v) { return sum(dynamic_update_slice(v, zeros({5}), i) * x); })(ones({6}));
    };
    EXPECT_EQ(jit(kept)(array({first})).to_vector<int>(),
              (first == -1 || first == -5 ? std::vector<int>{0, 0, 0, 0, 0, 0} : std::vector<int>{0, 0, 0, 0, 0, 5}));
  }
  const auto backwards = [&](const Array& v) {
    return fori_loop(
        0, 6,
        [&](const Array& i, const Array& out) {
          return dynamic_update_slice(out, dynamic_slice(v, reshape(-1 - i, {1}), {1}), reshape(i, {1}));
        },
        zeros({6}));
  };
  EXPECT_EQ(jit(backwards)(x).to_vector<int>(), (std::vector<int>{5, 4, 3, 2, 1, 0}));
}

TEST(Indexing, KnownStartsCostNothing) {
  const auto operations = [](const Array& start) {
    return trace([&](const Array& x) { return dynamic_slice(x, start, {2}); }, spec({5}, f32)).operations();
  };
  EXPECT_EQ(operations(array({int64_t{3}})), 1U);
  EXPECT_EQ(operations(array({int64_t{-3}})), 1U);
  const auto of_unsigned = [](const Array& x, const Array& i) { return dynamic_slice(x, i, {2}); };
  EXPECT_EQ(trace(of_unsigned, spec({5}, f32), spec({1}, u32)).operations(), 2U);  // as i64
  const auto whole = [](const Array& x, const Array& i) { return dynamic_slice(x, i, {5}); };
  EXPECT_EQ(trace(whole, spec({5}, f32), spec({1}, i64)).operations(), 1U);
}

TEST(Indexing, SliceInDimCountsFromTheEnd) {
  const Array x = arange(10);
  expect_both([](const Array& v) { return slice_in_dim(v, -3, 10, 0); }, x, {7, 8, 9});
  expect_both([](const Array& v) { return slice_in_dim(v, 6, -2, -1); }, x, {6, 7});
  EXPECT_THROW(slice_in_dim(x, -11, 10, 0), IndexError);
}

// What an assignment to x[0] or x.at(0) would lose, the compiler says: tests/misuse.
template <class T, class U>
constexpr bool can_assign = std::is_assignable_v<T, U>;
static_assert(std::copyable<IndexUpdate> && can_assign<IndexUpdate&, IndexUpdate>);
static_assert(can_assign<Array&, Array> && can_assign<Array&, const Array&>);
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
