// Running joins beside the loops that they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include "tests/message.h"
#include "tests/near.h"

namespace neap {
namespace {

using testing::HasSubstr;

// y[i] = a[i] * y[i - 1] + b[i], whose steps join as maps do: not commutative.
struct Affine {
  Array a, b;
};
Affine then(const Affine& first, const Affine& next) { return {first.a * next.a, next.a * first.b + next.b}; }

Array recurrence(const Array& a, const Array& b) {
  return scan([](const Array& y, const Affine& step) { return std::pair(step.a * y + step.b, step.a * y + step.b); },
              zeros(b[0].shape(), b.dtype()), Affine{a, b})
      .second;
}

void expect_near(const Array& got, const Array& expected) { neap::expect_near(got, expected, 1e-12, 1e-12); }

Affine steps(int64_t n) {
  return {random::uniform(random::key(1), {n, 3}, f64, 0.5, 1.1), random::normal(random::key(2), {n, 3}, f64)};
}

TEST(AssociativeScan, IsARecurrence) {
  for (const int64_t n : {1, 2, 3, 4, 7, 8, 31, 100}) {
    SCOPED_TRACE(n);
    const Affine s = steps(n);
    const Array expected = recurrence(s.a, s.b);
    expect_near(associative_scan(then, s).b, expected);
    expect_near(jit([](const Array& a, const Array& b) { return associative_scan(then, Affine{a, b}).b; })(s.a, s.b),
                expected);
    const auto turned = [](const Array& x) { return flip(x, 0); };
    expect_near(associative_scan(then, Affine{turned(s.a), turned(s.b)}, true).b, turned(expected));
    expect_near(associative_scan(then, Affine{transpose(s.a), transpose(s.b)}, false, -1).b, transpose(expected));
  }
  EXPECT_EQ(associative_scan(then, steps(0)).b.shape(), Shape({0, 3}));
}

TEST(AssociativeScan, HasDerivativesAndBatches) {
  const Affine s = steps(13);
  const auto fast = [](const Array& a, const Array& b) { return sum(square(associative_scan(then, Affine{a, b}).b)); };
  const auto slow = [](const Array& a, const Array& b) { return sum(square(recurrence(a, b))); };
  const auto [fast_a, fast_b] = grad<0, 1>(fast)(s.a, s.b);
  const auto [slow_a, slow_b] = grad<0, 1>(slow)(s.a, s.b);
  expect_near(fast_a, slow_a);
  expect_near(fast_b, slow_b);
  const auto each = vmap([](const Array& a, const Array& b) { return associative_scan(then, Affine{a, b}).b; },
                         {.in_axes = {1, 1}, .out_axes = 1});
  expect_near(each(s.a, s.b), recurrence(s.a, s.b));
}

TEST(AssociativeScan, IsOneOfMatrices) {
  const Array m = random::normal(random::key(3), {9, 2, 2}, f64);
  const Array products = associative_scan([](const Array& x, const Array& y) { return matmul(y, x); }, m);
  Array expected = m[0];
  for (int64_t i = 1; i < 9; ++i) {
    expected = matmul(m[i], expected);
    expect_near(products[i], expected);
  }
}

TEST(AssociativeScan, OfAdditionsAndTheLikeIsCumulative) {
  const auto add = [](const Array& x, const Array& y) { return x + y; };
  const auto larger = [](const Array& x, const Array& y) { return maximum(y, x); };
  const auto smaller = [](const Array& x, const Array& y) { return minimum(x, y); };
  const auto times = [](const Array& x, const Array& y) { return x * y; };
  const Array x = random::uniform(random::key(4), {5, 70}, f64, 0.5, 1.5);
  for (const bool reverse : {false, true}) {
    for (const int64_t axis : {0, 1, -1}) {
      expect_near(associative_scan(add, x, reverse, axis), cumsum(x, axis, reverse));
      expect_near(associative_scan(times, x, reverse, axis), cumprod(x, axis, reverse));
      expect_near(associative_scan(larger, x, reverse, axis), cummax(x, axis, reverse));
      expect_near(associative_scan(smaller, x, reverse, axis), cummin(x, axis, reverse));
    }
  }
  const Array one = ones({}, f64);  // captured, so that f is no such op alone
  const auto by_joins = [&](const Array& a, const Array& b) { return a * b * one; };
  expect_near(grad([&](const Array& a) { return sum(square(associative_scan(times, a, false, 1))); })(x),
              grad([&](const Array& a) { return sum(square(associative_scan(by_joins, a, false, 1))); })(x));
  const Array bytes = full({300}, 3, DType::u8);  // wrap, as additions of them do
  EXPECT_EQ(associative_scan(add, bytes)[299].item<uint8_t>(), static_cast<uint8_t>(900));
  const Array bits = array({true, false, true});
  EXPECT_EQ(associative_scan(add, bits).dtype(), DType::bool_);
  using Two = std::pair<Array, Array>;
  const Two both =
      associative_scan([](const Two& a, const Two& b) { return Two(a.first + b.first, maximum(a.second, b.second)); },
                       Two(x, -x), true, 1);
  expect_near(both.first, cumsum(x, 1, true));
  expect_near(both.second, cummax(-x, 1, true));
  const Two crossed = associative_scan(
      [](const Two& a, const Two& b) { return Two(a.second + b.second, a.first + b.first); }, Two(x, x), false, 1);
  expect_near(crossed.first, cumsum(x, 1));  // of two that are alike
}

TEST(AssociativeScan, CallsTheHostAsOftenAsItJoins) {
  int calls = 0;
  const auto seen = [&](const Array& x, const Array& y) {
    debug::callback([&](const Array&) { ++calls; }, x);
    return x + y;
  };
  const Array x = arange(4.0f);
  EXPECT_EQ(associative_scan(seen, x).to_vector<float>(), (std::vector<float>{0, 1, 3, 6}));
  EXPECT_GT(calls, 0);
}

TEST(AssociativeScan, SaysWhatIsWrong) {
  try {
    associative_scan([](const Array& x, const Array&) { return sum(x); }, arange(5));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("associative_scan"));
    EXPECT_THAT(e.what(), HasSubstr("associative_scan_test.cpp"));
  }
  EXPECT_THROW(associative_scan(then, Affine{zeros({3}), zeros({4})}), ShapeError);
  EXPECT_THAT(message_of<DTypeError>([] {
                associative_scan([](const Array& x, const Array& y) { return (x + y).astype(f64); }, ones({5}));
              }),
              HasSubstr("f gives f64[2] of f32[2]; expected what it takes; convert it with astype()"));
  using Numbered = std::pair<Array, int>;
  const auto counts = [](const Numbered& x, const Numbered& y) { return Numbered(x.first, x.second + y.second); };
  EXPECT_THAT(message_of<UserError>([&] { associative_scan(counts, Numbered(ones({5}), 1)); }),
              HasSubstr("associative_scan: f returns other numbers, strings or container sizes than it takes"));
  EXPECT_THAT(
      message_of<UserError>([] { associative_scan([](const Array&, const Array&) { return Array(); }, ones({5})); }),
      HasSubstr("an Array without a value is used; assign it first  [associative_scan_test.cpp:"));
  EXPECT_THAT(message_of<UserError>(
                  [] { associative_scan([](const Array& x, const Array& y) { return x + y; }, spec({4}, f32)); }),
              HasSubstr("associative_scan: a spec f32[4] has no elements"));
}

}  // namespace
}  // namespace neap
