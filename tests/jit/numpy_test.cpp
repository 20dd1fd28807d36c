// Corners of numpy.h: small and half dtypes, infinities, derivatives where a formula has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace neap {
namespace {

using testing::ElementsAre;
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> values(const Array& x) { return x.to_vector<float>(); }

TEST(Numpy, AddsUpWhereThereIsRoom) {
  EXPECT_EQ(average(array<uint8_t>({200, 200}), array<uint8_t>({2, 2})).item<float>(), 200);
  EXPECT_EQ(average(full({1000}, 100, f16), ones({1000}, f16)).item<float>(), 100);
  EXPECT_THROW(average(ones({2, 3}), ones({1}), 1), ShapeError);
  EXPECT_EQ(bincount(zeros({4000}, i32), ones({4000}, f16), 1).item<float>(), 4000);
  EXPECT_EQ(bincount(zeros({5}, i32), ones({5}, bool_), 1).item<int>(), 5);
  EXPECT_EQ(avg_pool(full({1000}, 100, f16), {1000}).item<float>(), 100);
  EXPECT_EQ(convolve(full({2048}, 1, bf16), full({2048}, 1, bf16), ConvolveMode::valid).item<float>(), 2048);
  EXPECT_EQ(values(histogram(array({0.5f, 1.0f, 3.0f}), 2, 0, 1).first), (std::vector<float>{0, 2}));
}

TEST(Numpy, KeepsIntegersWhole) {
  EXPECT_EQ(round(array(123456789), 2).item<int>(), 123456789);
  EXPECT_EQ(round(array<float16>({float16(0.5f)}), 5)[0].item<float>(), 0.5f);
  const Array powers = geomspace(1, 1000, 4, i32);
  EXPECT_EQ(powers.dtype(), i32);
  EXPECT_THAT(values(powers), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(values(logspace(0, 3, 4, 10, i32)), ElementsAre(1, 10, 100, 1000));
  EXPECT_EQ(soft_sign(array<uint8_t>({255}))[0].item<float>(), 255.0f / 256);
  EXPECT_THAT(values(hard_tanh(array<uint8_t>({0, 1, 9}))), ElementsAre(0, 1, 1));
}

TEST(Numpy, GoesToTheEndsOfTheRange) {
  EXPECT_EQ(ldexp(array(0x1p-149f), 276).item<float>(), 0x1p127f);
  EXPECT_THAT(values(ldexp(array({0.0f, kInf, 1.0f}), array({600, -600, -149}))), ElementsAre(0, kInf, 0x1p-149f));
  EXPECT_EQ(ldexp(array(0x1p-1074), 2097).item<double>(), 0x1p1023);
  EXPECT_EQ(median(array({1.0f, kInf, kInf})).item<float>(), kInf);
  EXPECT_EQ(median(array({-kInf, -kInf, 3.0f})).item<float>(), -kInf);
}

TEST(Numpy, HasDerivativesInCorners) {
  const auto variance = [](const Array& x) { return nanvar(x); };
  EXPECT_THAT(values(grad(variance)(array({1.0f, NAN, 4.0f}))), ElementsAre(-1.5f, 0, 1.5f));
  EXPECT_FLOAT_EQ(grad([](const Array& x) { return xlogy(x, 2.0f); })(array(0.0f)).item<float>(), std::log(2.0f));
  EXPECT_FLOAT_EQ(grad([](const Array& x) { return xlog1py(x, 2.0f); })(array(0.0f)).item<float>(), std::log(3.0f));
  EXPECT_EQ(xlogy(0.0f, array(0.0f)).item<float>(), 0);
}

TEST(Numpy, ReadsFormulasAndSides) {
  const Array cube = reshape(arange(27), {3, 3, 3});
  EXPECT_THAT(values(einsum("iii->i", {cube})), ElementsAre(0, 13, 26));
  EXPECT_EQ(einsum("iii", {cube}).item<int>(), 39);
  const Array two = array({1.0f, 2.0f}), four = array({1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_THAT(values(correlate(two, four, ConvolveMode::same)), ElementsAre(11, 8, 5, 2));
  const std::vector<Array> parts = split_at(arange(5), {3, 1});
  EXPECT_THAT(values(parts[1]), ElementsAre());
  EXPECT_THAT(values(parts[2]), ElementsAre(1, 2, 3, 4));
}

// What is kept is made of rows, the last of which may be part of one.
TEST(Numpy, MultipliesBytesExactly) {
  for (const DType type : {i8, u8}) {
    const int64_t low = type == i8 ? -128 : 0;
    for (const int64_t k : {8, 258, 1024, 1025}) {
      const Array x = reshape(arange(20 * k, i64) * 37 % 256 + low, {20, k}),
                  y = reshape(arange(k * 9, i64) * 101 % 256 + low, {k, 9});
      const Array extreme = full({20, k}, type == i8 ? -128 : 255, i64);
      for (const Array& lhs : {x, extreme}) {
        for (const Array& rhs : {y, full({k, 9}, type == i8 ? -128 : 255, i64)}) {
          const Array a = convert(lhs, type), b = convert(rhs, type), want = matmul(lhs, rhs);
          const auto wide =
              jit([](const Array& p, const Array& q) { return matmul(convert(p, i32), convert(q, i32)); });
          EXPECT_TRUE(array_equal(wide(a, b), convert(want, i32)).item<bool>()) << name(type) << k;
          const auto same = jit([](const Array& p, const Array& q) { return matmul(p, q); });
          EXPECT_TRUE(array_equal(same(a, b), convert(want, type)).item<bool>()) << name(type) << k;
        }
      }
    }
  }
}

// What is read `steps` elements beyond the last of n, by a walk that turns or begins again at the ends.
int64_t beyond_last(int64_t n, int64_t steps, PadMode mode) {
  int64_t at = n - 1, way = mode == PadMode::wrap ? 1 : -1;
  if (mode == PadMode::edge || n == 1) return at;
  for (int64_t step = 0; step < steps; ++step) {
    if (mode == PadMode::symmetric && step == 0) continue;  // the last element again
    if (mode == PadMode::wrap) {
      at = (at + 1) % n;
    } else if (0 <= at + way && at + way < n) {
      at += way;
    } else {
      way = -way;
      if (mode == PadMode::reflect) at += way;
    }
  }
  return at;
}

TEST(Numpy, PadsByPartsAndByMoreThanThereIs) {
  for (const PadMode mode : {PadMode::edge, PadMode::wrap, PadMode::symmetric, PadMode::reflect}) {
    for (int64_t n = 1; n <= 4; ++n) {
      for (int64_t before = 0; before <= 9; ++before) {
        const int64_t after = (before * 7 + n) % 10;
        std::vector<float> expected;
        for (int64_t i = -before; i < n + after; ++i) {
          const int64_t at = i < 0 ? n - 1 - beyond_last(n, -i, mode) : i < n ? i : beyond_last(n, i - n + 1, mode);
          expected.push_back(static_cast<float>(at));
        }
        const Array column = reshape(arange(n, f32), {n, 1}), row = reshape(column, {1, n});
        EXPECT_EQ(values(pad(row, {{0, 0}, {before, after}}, mode)), expected) << n << " " << before;
        EXPECT_EQ(values(pad(column, {{before, after}, {0, 0}}, mode)), expected) << n << " " << before;
      }
    }
  }
}

TEST(Numpy, ReducesColumnsThatEndInARow) {
  for (const int64_t row : {8, 16, 32, 48, 64, 128, 256}) {
    for (const int64_t kept : {row + 1, row + row / 2, row + 16, 2 * row + 4, 3 * row - 1}) {
      for (const int64_t depth : {5, 80}) {
        const int64_t rows = (kept + row - 1) / row;
        const Array x = reshape(remainder(arange(rows * depth * row) * 7919, 101), {rows, depth, row});
        const auto side_by_side = [=](const Array& a) {
          return reshape(moveaxis(a, 1, 0), {depth, rows * row})[{slice(), slice(0, kept)}];
        };
        const auto both = [=](const Array& a) { return std::pair(sum(side_by_side(a), 0), max(side_by_side(a), 0)); };
        const auto [total, largest] = jit(both)(x);
        const std::vector<int32_t> elements = x.to_vector<int32_t>(), totals = total.to_vector<int32_t>(),
                                   most = largest.to_vector<int32_t>();
        for (int64_t c = 0; c < kept; ++c) {
          int32_t added = 0, highest = 0;
          for (int64_t d = 0; d < depth; ++d) {
            const int32_t one = elements[static_cast<size_t>((c / row * depth + d) * row + c % row)];
            added += one, highest = std::max(highest, one);
          }
          ASSERT_EQ(std::pair(totals[static_cast<size_t>(c)], most[static_cast<size_t>(c)]), std::pair(added, highest))
              << row << ' ' << kept << ' ' << depth << ' ' << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace neap
