// The order of NaN, of zeros of either sign and of equal elements, in all that sorts or compares: as NumPy and JAX have
// it but where docs/neap-for-jax-users.md says so. By the reference, compiled, and on NEAP_DEVICE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <limits>
#include <optional>

namespace neap {
namespace {

using ::testing::ElementsAre;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
const Floats kValues{0, -0.0f, 1, kNaN, kInf, -kInf, -kNaN, 2, -0.0f, 0, kNaN, 1};

class Order : public ::testing::TestWithParam<bool> {
 protected:
  Order() {
    if (GetParam()) reference_.emplace();
  }
  template <class F>
  Array run(F f, const Array& x) {
    return GetParam() ? f(x) : jit(f)(x);
  }
  std::optional<eager_reference> reference_;
};

Ints ints(const Array& x) { return x.to_vector<int32_t>(); }
// NaN as 99, so that vectors compare.
Floats floats(const Array& x) { return where(isnan(x), 99.0f, x).to_vector<float>(); }

TEST_P(Order, SortsAndTopK) {
  for (const DType t : {f32, f64, f16, bf16}) {
    const Array x = array(kValues).astype(t);
    const auto in_f32 = [](const Array& a) { return floats(a.astype(f32)); };
    const Ints rising{5, 0, 1, 8, 9, 2, 11, 7, 4, 3, 6, 10}, falling{3, 6, 10, 4, 7, 2, 11, 0, 1, 8, 9, 5};
    EXPECT_EQ(ints(run([](const Array& a) { return argsort(a); }, x)), rising);
    EXPECT_EQ(ints(run([](const Array& a) { return argsort(a, -1, {.descending = true}); }, x)), falling);
    // NaN of either sign is the largest, zeros are equal: jax.lax.top_k has the total order, -NaN < -inf, -0 < 0.
    EXPECT_EQ(ints(run([](const Array& a) { return top_k(a, 12).second; }, x)), falling);
    EXPECT_EQ(ints(run([](const Array& a) { return top_k(a, 4).second; }, x)), (Ints{3, 6, 10, 4}));
    EXPECT_EQ(in_f32(run([](const Array& a) { return top_k(a, 6).first; }, x)), (Floats{99, 99, 99, kInf, 2, 1}));
    EXPECT_EQ(in_f32(run([](const Array& a) { return sort(a); }, x)),
              (Floats{-kInf, 0, 0, 0, 0, 1, 1, 2, kInf, 99, 99, 99}));
  }
  EXPECT_EQ(ints(run([](const Array& a) { return top_k(a, 4).second; }, array({3, 1, 3, 2, 3}))), (Ints{0, 2, 4, 3}));
}

TEST_P(Order, LargestAndSmallest) {
  const Array x = array(kValues);
  const auto most = [](const Array& a) { return argmax(a); };
  const auto least = [](const Array& a) { return argmin(a); };
  EXPECT_EQ(run(most, x).item<int32_t>(), 3);
  EXPECT_EQ(run(least, x).item<int32_t>(), 3);
  EXPECT_EQ(run(most, array({0.0f, -0.0f, 0.0f})).item<int32_t>(), 0);
  EXPECT_EQ(run(most, array({-1.0f, -0.0f, 0.0f})).item<int32_t>(), 1);
  EXPECT_EQ(run(least, array({1.0f, 0.0f, -0.0f})).item<int32_t>(), 1);
  EXPECT_EQ(run(most, array({-kInf, -kInf})).item<int32_t>(), 0);
  EXPECT_EQ(run(least, array({1.0f, kNaN, -kInf})).item<int32_t>(), 1);
  EXPECT_EQ(run(most, array({5, 7, 7})).item<int32_t>(), 1);
  EXPECT_TRUE(std::isnan(run([](const Array& a) { return max(a); }, x).item<float>()));
  EXPECT_TRUE(std::isnan(run([](const Array& a) { return min(a); }, x).item<float>()));
}

TEST_P(Order, Quantiles) {
  const auto middle = [](const Array& a) { return median(a); };
  EXPECT_TRUE(std::isnan(run(middle, array(kValues)).item<float>()));
  EXPECT_EQ(run(middle, array({kInf, kInf, 1.0f, -kInf})).item<float>(), kInf);
  EXPECT_EQ(run(middle, array({kInf, kInf})).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(run(middle, array({kInf, -kInf})).item<float>()));
  const Array q = array({0.0f, 0.25f, 0.5f, 0.75f});
  EXPECT_EQ(floats(run([&](const Array& a) { return quantile(a, q); }, array({1.0f, 2.0f, kInf}))),
            (Floats{1, 1.5f, 2, kInf}));
  EXPECT_TRUE(std::isnan(run([&](const Array& p) { return quantile(q, p); }, array(kNaN)).item<float>()));
}

TEST_P(Order, Searches) {
  const Array x = array(kValues), sorted = sort(x);
  EXPECT_EQ(ints(run([&](const Array& v) { return searchsorted(sorted, v); }, x)),
            (Ints{1, 1, 5, 9, 8, 0, 9, 7, 1, 1, 9, 5}));
  EXPECT_EQ(ints(run([&](const Array& v) { return searchsorted(sorted, v, true); }, x)),
            (Ints{5, 5, 7, 12, 9, 1, 12, 8, 5, 5, 12, 7}));
  EXPECT_EQ(ints(run([](const Array& v) { return digitize(v, array({0.0f, 1.0f})); }, x)),
            (Ints{1, 1, 2, 2, 2, 0, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(floats(run([](const Array& a) { return unique(a, 8); }, x)),
            (Floats{-kInf, 0, 1, 2, kInf, 99, -kInf, -kInf}));
  // Of equal elements the first one in the array is kept, with its sign.
  const auto distinct = [](const Array& a) { return unique(a, 1); };
  EXPECT_TRUE(std::signbit(run(distinct, array({-0.0f, 0.0f})).item<float>()));
  EXPECT_FALSE(std::signbit(run(distinct, array({0.0f, -0.0f})).item<float>()));
  const auto [counts, edges] = histogram(x, 3, 0, 2);
  EXPECT_EQ(counts.to_vector<float>(), (Floats{4, 2, 1}));
}

INSTANTIATE_TEST_SUITE_P(Each, Order, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Reference" : "Compiled"; });

}  // namespace
}  // namespace neap
