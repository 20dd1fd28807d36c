// Sizes that are asked for: at the ends of int64 they are refused or right, never another size.
#include <gmock/gmock.h>
#include <neap/fft.h>
#include <neap/neap.h>

#include <limits>

#include "core/size.h"
#include "tests/message.h"

namespace neap {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kFar[] = {kLeast, kLeast + 1, -(int64_t{1} << 62), int64_t{1} << 62, kMost - 1, kMost};

using testing::HasSubstr;

TEST(Sizes, RememberThatTheyLeftInt64) {
  EXPECT_EQ((Size(3) * 4 + 5 - 1).value(), 16);
  EXPECT_FALSE((Size(kMost) + 1).fits());
  EXPECT_FALSE((Size(kMost) + 1 - 1).fits());
  EXPECT_FALSE((Size(kLeast) - 1).fits());
  EXPECT_FALSE((Size(kMost) * 2).fits());
  EXPECT_TRUE((Size(kMost) + kLeast).fits());
  EXPECT_THROW((void)(Size(kMost) + 1).value(), InternalError);
}

TEST(Sizes, ArangeCountsIntegersExactly) {
  constexpr int64_t k53 = int64_t{1} << 53;
  EXPECT_EQ(arange(k53, k53 + 3, 1, i64).to_vector<int64_t>(), (std::vector<int64_t>{k53, k53 + 1, k53 + 2}));
  EXPECT_EQ(arange(kMost - 2, kMost, 1, i64).to_vector<int64_t>(), (std::vector<int64_t>{kMost - 2, kMost - 1}));
  EXPECT_EQ(arange(kLeast, kLeast + 2, 1, i64).to_vector<int64_t>(), (std::vector<int64_t>{kLeast, kLeast + 1}));
  EXPECT_EQ(arange(kMost, kMost - 2, -1, i64).to_vector<int64_t>(), (std::vector<int64_t>{kMost, kMost - 1}));
  EXPECT_EQ(arange(kLeast, kMost, kMost, i64).to_vector<int64_t>(), (std::vector<int64_t>{kLeast, -1, kMost - 1}));
  constexpr uint64_t top = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(arange(top - 2, top, 1, u64).to_vector<uint64_t>(), (std::vector<uint64_t>{top - 2, top - 1}));
  EXPECT_EQ(arange(3, 0, -1, u8).to_vector<int>(), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(arange(-100, 101, 200, i8).to_vector<int>(), (std::vector<int>{-100, 100}));
  EXPECT_EQ(arange(5, 0).size(), 0);
  EXPECT_THROW(arange(kLeast, kMost, 1, i64), ShapeError);
  EXPECT_THROW(arange(kMost, i64), ShapeError);  // of 8 bytes each
  EXPECT_THROW(arange(0, 300, 1, u8), DTypeError);
  EXPECT_THAT(message_of<UserError>([] { arange(1e300); }), HasSubstr("arange: more than 2^63 numbers"));
}

TEST(Sizes, PaddingsAreRefusedOrRight) {
  const Array x = ones({3});
  for (const int64_t low : kFar)
    for (const int64_t high : {kLeast, int64_t{-1}, int64_t{0}, int64_t{7}, kMost}) {
      EXPECT_THAT(message_of<ShapeError>([&] { pad(x, {low}, {high}); }), HasSubstr("pad: low"));
      EXPECT_THAT(message_of<ShapeError>([&] { pad(x, {high}, {low}); }), HasSubstr("pad: low"));
    }
  EXPECT_THROW(pad(x, {0}, {0}, 0, Shape{kMost}), ShapeError);
  EXPECT_EQ(pad(ones({1}), {0}, {0}, 0, Shape{kMost}).size(), 1);  // there is nothing between
  EXPECT_THROW(pad(x, {-2}, {-2}), ShapeError);
  EXPECT_EQ(pad(x, {-1000}, {1001}).to_vector<int>(), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_THROW(pad(x, {{kMost, kMost}}, PadMode::wrap), ShapeError);
}

TEST(Sizes, WindowsAreRefusedOrRight) {
  const Array x = ones({1, 1, 4}), w = ones({1, 1, 2});
  for (const int64_t n : kFar) {
    for (const int64_t m : {kMost, int64_t{1}, kLeast})
      EXPECT_THROW(conv_general(x, w, {.padding = {{n, m}}}), ShapeError) << n << " " << m;
    EXPECT_THROW(max_pool(x, {n}, {.same = true}), ShapeError) << n;
    if (n > 0) {
      EXPECT_EQ(conv_general(x, w, {.dilation = {n}}).shape(), (Shape{1, 1, 0}));
      EXPECT_EQ(conv_general(x, w, {.stride = {n}}).shape(), (Shape{1, 1, 1}));
      EXPECT_EQ(avg_pool(x, {n}).shape(), (Shape{1, 1, 0}));
      EXPECT_THROW(conv_general(x, w, {.input_dilation = {n}}), ShapeError);
      EXPECT_THROW(conv_general(x, w, {.groups = n}), ShapeError);
    } else {
      EXPECT_THROW(avg_pool(x, {n}), ShapeError);
      EXPECT_THROW(conv_general(x, w, {.dilation = {n}}), ShapeError);
    }
  }
  const auto pools = jit([](const Array& v) { return max_pool(v, {1 << 20}); });
  EXPECT_THAT(message_of<ShapeError>([&] { pools.plan(spec({1 << 21}, f32)); }), HasSubstr("at most 65536"));
}

TEST(Sizes, OffsetsBeyondTheCornersAreAllAlike) {
  const Array x = ones({2, 3});
  for (const int64_t k : kFar) {
    const int all = k > 0 ? 6 : 0;
    EXPECT_EQ(sum(tri(2, 3, k)).item<int>(), all) << k;
    EXPECT_EQ(sum(tril(x, k)).item<int>(), all) << k;
    EXPECT_EQ(sum(triu(x, k)).item<int>(), 6 - all) << k;
    EXPECT_EQ(diagonal(x, k).size(), 0) << k;
    EXPECT_THROW(diag(ones({2}), k), ShapeError) << k;
    EXPECT_EQ(roll(arange(3), k).size(), 3);
    EXPECT_EQ(rot90(x, k).size(), 6);
    EXPECT_THAT(message_of<IndexError>([&] { flip(x, k); }), HasSubstr("flip: axis"));
    EXPECT_EQ(round(ones({1}), k).item<float>(), k > 0 ? 1 : 0) << k;
  }
}

TEST(Sizes, CountsBeyondMemoryAreRefused) {
  const Array x = ones({2}), m = ones({2, 2}), key = random::key(0);
  for (const int64_t n : {int64_t{1} << 62, kMost}) {
    EXPECT_THROW(repeat(x, n), ShapeError);
    EXPECT_THROW(tile(x, {n}), ShapeError);
    EXPECT_THROW(tile(m, {n, n}), ShapeError);
    EXPECT_THROW(tile(zeros({0, 4}), {1, n}), ShapeError);  // no elements, but an extent that is no int64
    EXPECT_THROW(linspace(0, 1, n), ShapeError);
    EXPECT_THROW(eye(n), ShapeError);
    EXPECT_THROW(tri(n), ShapeError);
    EXPECT_THROW(vander(x, n), ShapeError);
    EXPECT_THROW(one_hot(array({0, 1}), n), ShapeError);
    EXPECT_THROW(histogram(x, n, 0, 1), ShapeError);
    EXPECT_THROW(bincount(array({0}), n), ShapeError);
    EXPECT_THROW(unique(x, n), ShapeError);
    EXPECT_THROW(nonzero(x, n), ShapeError);
    EXPECT_THROW(top_k(x, n), ShapeError);
    EXPECT_THROW(fft::fft(x, {.n = n}), ShapeError);
    EXPECT_THROW(fft::irfft(x, {.n = n}), ShapeError);
    EXPECT_THROW(fft::fftfreq(n), ShapeError);
    EXPECT_THROW(random::split(key, n), ShapeError);
    EXPECT_THROW(random::normal(key, {n, 4}), ShapeError);
    EXPECT_THROW(random::choice(key, 3, {n, 4}), ShapeError);
    EXPECT_THROW(random::gamma(key, 1.0f, Shape{n, 4}), ShapeError);
    EXPECT_THROW(random::orthogonal(key, n), ShapeError);
    EXPECT_THROW(random::permutation(key, n), UserError);
    EXPECT_THROW(split(x, n), ShapeError);
    EXPECT_THROW(split(zeros({0}), n), ShapeError);
    EXPECT_THROW(array_split(x, n), ShapeError);
    EXPECT_THROW(kron(broadcast_to(x, {0, 2}), full({0, n}, 1, u8)), ShapeError);
    EXPECT_EQ(diff(x, n).size(), 0);
    EXPECT_THROW(scan([](const Array& c, std::nullptr_t) { return std::pair(c, c); }, x, nullptr, n), ShapeError);
  }
  const auto step = [](const Array& c, std::nullptr_t) { return std::pair(c, nullptr); };
  for (const int64_t unroll : {kLeast, int64_t{0}, kMost})
    EXPECT_THROW(scan(step, x, nullptr, int64_t{1} << 40, false, unroll), OptionError);
  for (const int64_t n : {kLeast, int64_t{-1}}) {
    EXPECT_THROW(vander(x, n), ShapeError);
    EXPECT_THROW(one_hot(array({0, 1}), n), ShapeError);
    EXPECT_THROW(tile(x, {n}), ShapeError);
    EXPECT_THROW(repeat(x, n), ShapeError);
    EXPECT_THROW(repeat(x, array({1, 1}), n), ShapeError);
    EXPECT_THROW(tri(n), ShapeError);
    EXPECT_THROW(eye(n), ShapeError);
    EXPECT_THROW(linspace(0, 1, n), ShapeError);
    EXPECT_THROW(bincount(array({0}), n), ShapeError);
    EXPECT_THROW(fft::fft(x, {.n = n}), ShapeError);
    EXPECT_THROW(random::split(key, n), ShapeError);
    EXPECT_THROW(random::choice(key, 3, {n}), ShapeError);
    EXPECT_THROW(random::gamma(key, 1.0f, Shape{n}), ShapeError);
    EXPECT_THROW(random::orthogonal(key, n), ShapeError);
    EXPECT_THROW(array_split(x, n), ShapeError);
    EXPECT_THROW(reshape(x, {n, n}), ShapeError);
    EXPECT_THROW(diff(x, n), ShapeError);
  }
}

TEST(Sizes, NothingOfInt64IsPlannedAway) {
  const auto joined = jit([](const Array& x) { return concatenate({x, x}); });
  EXPECT_THAT(message_of<ShapeError>([&] { joined.plan(spec({int64_t{1} << 62}, u8)); }), HasSubstr("concatenate"));
  const auto full_svd = jit([](const Array& x) { return linalg::svd(x, true).s; });
  EXPECT_THROW(full_svd.plan(spec({int64_t{1} << 33, 2}, f32)), ShapeError);
  const auto strided = jit([](const Array& x) { return x[slice(none, none, -kMost)]; });
  EXPECT_EQ(strided.plan(spec({kMost}, u8)).to_text().empty(), false);
}

// Indices and counts of more than 2^31 - 1 elements are i64.
TEST(Sizes, IndicesOfManyElementsAreWide) {
  constexpr int64_t n = int64_t{1} << 31;
  const auto dtype_of = [](const auto& f, auto... specs) {
    const std::string text = trace(f, specs...).text();
    return text.substr(text.rfind("return"));
  };
  const auto dtype = [&](const auto& f, auto... specs) {
    const std::string text = trace(f, specs...).text(), result = dtype_of(f, specs...);
    const std::string value = result.substr(7, result.find_first_of(",\n ", 8) - 7);
    return text.substr(text.find("\n  " + value + ": ") + value.size() + 5, 3);
  };
  for (const int64_t size : {n - 1, n}) {
    const std::string expected = size < n ? "i32" : "i64";
    EXPECT_EQ(dtype([](const Array& x) { return count_nonzero(x); }, spec({size}, bool_)), expected);
    EXPECT_EQ(dtype([](const Array& x) { return count_nonzero(x, 1); }, spec({2, size}, bool_)), expected);
    EXPECT_EQ(dtype([](const Array& x) { return count_nonzero(x, 0); }, spec({2, size}, bool_)), "i32");
    EXPECT_EQ(dtype([](const Array& x, const Array& v) { return searchsorted(x, v); }, spec({size}, u8), spec({3}, u8)),
              expected);
    EXPECT_EQ(dtype([](const Array& x) { return bincount(x, 3); }, spec({size}, u8)), expected);
    EXPECT_EQ(dtype([](const Array& x) { return nonzero(x, 3)[0]; }, spec({size}, u8)), expected);
    EXPECT_EQ(dtype([&](const Array& i) { return argmax(one_hot(i, size, u8)[{0, slice(5)}]); }, spec({1}, u8)), "i32");
  }
  const Array many = jit([&](const Array& x) { return count_nonzero(broadcast_to(x, {n + 5})); })(array(true));
  EXPECT_EQ(many.item<int64_t>(), n + 5);
}

TEST(Sizes, VandermondeMatricesOfAnyWidth) {
  const Array x = array({2.0f, -0.5f, 0.0f, 3.0f});
  const Array y = vander(x, 12, true);
  for (int64_t i = 0; i < 4; ++i)
    for (int k = 0; k < 12; ++k)
      EXPECT_FLOAT_EQ((y[{i, k}].item<float>()), std::pow(x[i].item<float>(), static_cast<float>(k))) << i << " " << k;
  EXPECT_EQ(vander(array({2, 3}), 4).to_vector<int>(), (std::vector<int>{8, 4, 2, 1, 27, 9, 3, 1}));
  EXPECT_EQ(vander(x, 0).shape(), (Shape{4, 0}));
  EXPECT_EQ(vander(x, 1).to_vector<int>(), (std::vector<int>{1, 1, 1, 1}));
  const auto total = [](const Array& v) { return sum(vander(v, 4)); };
  EXPECT_EQ(grad(total)(array({10000.0f})).item<float>(), 1 + 2e4f + 3e8f);
  EXPECT_EQ(grad(total)(array({0.0f})).item<float>(), 1);
  EXPECT_EQ(grad(grad([&](const Array& v) { return total(reshape(v, {1})); }))(array(5.0f)).item<float>(), 32);
  EXPECT_EQ(vander(array({1.0f}), 100'000).shape(), (Shape{1, 100'000}));
}

TEST(Sizes, DivisorsMayPass31Bits) {
  const Array x = array({int64_t{1} << 40, (int64_t{1} << 40) - 1, int64_t{-3}});
  EXPECT_EQ(mod(x, int64_t{1} << 32).to_vector<int64_t>(),
            (std::vector<int64_t>{0, (int64_t{1} << 32) - 1, (int64_t{1} << 32) - 3}));
  EXPECT_EQ(floor_divide(x, int64_t{1} << 32).to_vector<int64_t>(), (std::vector<int64_t>{256, 255, -1}));
  EXPECT_EQ(mod(int64_t{1} << 40, array(int64_t{7})).item<int64_t>(), (int64_t{1} << 40) % 7);
}

TEST(Sizes, MatrixPowersOfAnyInteger) {
  const Array one = eye(2), half = eye(2) * 0.5f;
  for (const int64_t n : kFar) {
    EXPECT_EQ(linalg::matrix_power(one, n).to_vector<int>(), (std::vector<int>{1, 0, 0, 1})) << n;
    EXPECT_EQ(power(array(1.0f), n).item<float>(), 1) << n;
  }
  EXPECT_EQ(linalg::matrix_power(half, -3).to_vector<int>(), (std::vector<int>{8, 0, 0, 8}));
}

TEST(Windows, BeyondTheInputThereAreNone) {
  const Array x = ones({1, 1, 3, 3}), w = ones({2, 1, 4, 5});
  const auto convolved = [&](const Array& a, const Array& b) { return conv_general(a, b); };
  EXPECT_EQ(convolved(x, w).shape(), (Shape{1, 2, 0, 0}));
  EXPECT_EQ(jit(convolved)(x, w).shape(), (Shape{1, 2, 0, 0}));
  EXPECT_EQ(conv_general(x, ones({1, 1, 4, 3})).shape(), (Shape{1, 1, 0, 1}));
  EXPECT_EQ(conv_general(x, ones({1, 1, 2, 2}), {.dilation = {3, 4}}).shape(), (Shape{1, 1, 0, 0}));
  EXPECT_EQ(conv_general(x, ones({1, 1, 6, 6}), {.input_dilation = {2, 2}}).shape(), (Shape{1, 1, 0, 0}));
  EXPECT_EQ(conv_general(x, ones({1, 1, 1, 1}), {.padding = {{-1, -2}, {0, 0}}}).shape(), (Shape{1, 1, 0, 3}));
  EXPECT_EQ(conv_general(ones({1, 1, 0, 3}), ones({1, 1, 1, 1})).shape(), (Shape{1, 1, 0, 3}));
  EXPECT_EQ(conv_general(ones({1, 1, 0, 3}), ones({1, 1, 2, 1}), {.same = true}).shape(), (Shape{1, 1, 0, 3}));
  EXPECT_EQ(conv_general(ones({0, 1, 3, 3}), ones({1, 1, 2, 1}), {.same = true}).shape(), (Shape{0, 1, 3, 3}));
  EXPECT_EQ(sum(conv_general(ones({1, 0, 3, 3}), ones({2, 0, 2, 1}))).item<float>(), 0);
  for (const auto pool : {max_pool, min_pool, avg_pool}) {
    EXPECT_EQ(pool(ones({3}), {5}, {}).shape(), (Shape{0}));
    EXPECT_EQ(pool(ones({2, 3}), {2}, {.dilation = {4}}).shape(), (Shape{2, 0}));
    EXPECT_EQ(pool(ones({2, 0}), {1}, {}).shape(), (Shape{2, 0}));
    EXPECT_EQ(vmap([&](const Array& a) { return pool(a, {5}, {}); })(ones({4, 3})).shape(), (Shape{4, 0}));
  }
  EXPECT_EQ(max_pool(ones({3}, i32), {5}).dtype(), i32);
  const auto loss = [&](const Array& a) { return sum(conv_general(a, w)); };
  EXPECT_EQ(grad(loss)(x).to_vector<int>(), std::vector<int>(9, 0));
  EXPECT_THAT(message_of<ShapeError>([&] { conv_general(x, w, {.padding = {{-2, -2}, {0, 0}}}); }),
              HasSubstr("conv_general: padding -2, -2 of 3 elements"));
  EXPECT_THAT(message_of<ShapeError>([&] { min_pool(ones({3}), {0}); }), HasSubstr("min_pool: window"));
}

}  // namespace
}  // namespace neap
