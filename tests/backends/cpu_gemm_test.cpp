// backends/cpu/gemm.h and planner/kernels/dot_scratch.h: against three loops, in every form; the same bits on any
// thread count.
#include "backends/cpu/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/buffer.h"
#include "core/isa.h"
#include "core/thread_pool.h"
#include "planner/kernels/dot_scratch.h"
#include "tests/backends/products.h"

namespace neap::cpu {
namespace {

using namespace backends::test;
using planner::DotForm;

template <class T>
std::vector<T> product(const DotForm& f, const std::vector<T>& lhs, const std::vector<T>& rhs,
                       const std::vector<T>& initial = {}) {
  std::vector<T> out(static_cast<size_t>(f.batch * f.m * f.n), T(77));
  if (f.adds) out = initial;
  const size_t bytes = planner::dot_scratch_bytes(f);
  // What lies behind the scratch must stay.
  const BufferPtr scratch = allocate(bytes + 4096, "scratch");
  std::memset(scratch->data(), 0xAB, bytes + 4096);
  gemm(f, lhs.data(), rhs.data(), out.data(), scratch->data());
  for (size_t i = 0; i < 4096; ++i) EXPECT_EQ(scratch->data()[bytes + i], std::byte{0xAB});
  return out;
}

template <class T>
void check(DotForm f) {
  f.dtype = dtype_of<T>();
  const auto lhs = product_operand<T>(f.batch * f.m * f.k, 1), rhs = product_operand<T>(f.batch * f.k * f.n, 2);
  set_num_threads(1);
  const auto one = product(f, lhs, rhs);
  set_num_threads(2);
  EXPECT_EQ(std::memcmp(one.data(), product(f, lhs, rhs).data(), one.size() * sizeof(T)), 0);
  expect_product(f, one, lhs, rhs);
}

TEST(Gemm, MultipliesEveryFormAndSize) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const DotForm& f :
           {DotForm{1, 1, 1, 1}, DotForm{3, 2, 5, 7}, DotForm{1, 17, 33, 65}, DotForm{2, 130, 70, 300},
            DotForm{1, 530, 270, 40}, DotForm{40, 8, 8, 8}, DotForm{1, 3, 2, 0}, DotForm{1, 200, 200, 200},
            // Tiles that one thread makes larger, that share what is packed, or that read lhs where it lies.
            DotForm{1, 64, 250, 1030}, DotForm{2, 700, 600, 60}, DotForm{1, 1030, 50, 70}, DotForm{5, 63, 16, 64},
            DotForm{1, 137, 518, 248},
            // Small matrices, each by itself: of few terms, and of many.
            DotForm{500, 3, 3, 3}, DotForm{70, 16, 7, 16}, DotForm{33, 5, 8, 2}, DotForm{1, 3, 3, 100},
            DotForm{3, 4, 2, 2100}, DotForm{2, 1, 4, 2049}, DotForm{1, 2, 3, 4352}}) {
        DotForm form = f;
        form.lhs_transposed = lhs;
        form.rhs_transposed = rhs;
        check<float>(form);
        check<double>(form);
      }
    }
  }
}

// Operands that are narrower in memory give the bits of what they convert to.
template <class H>
void check_narrow(DotForm f, planner::Narrow half) {
  const auto narrow = [](const std::vector<float>& wide) {
    std::vector<H> halves;
    for (const float x : wide) {
      if constexpr (std::is_integral_v<H>) {
        halves.push_back(static_cast<H>(static_cast<int>(x * 1000)));  // any of its bits
      } else {
        halves.push_back(H(x));
      }
    }
    return halves;
  };
  const auto widened = [](const std::vector<H>& halves) { return std::vector<float>(halves.begin(), halves.end()); };
  const auto lhs = narrow(product_operand<float>(f.batch * f.m * f.k, 1));
  const auto rhs = narrow(product_operand<float>(f.batch * f.k * f.n, 2));
  const auto wide_lhs = widened(lhs), wide_rhs = widened(rhs);
  const auto expected = product(f, wide_lhs, wide_rhs);
  const auto expect_same = [&](const DotForm& form, const void* a, const void* b) {
    std::vector<float> out(expected.size(), 77);
    const BufferPtr scratch = allocate(planner::dot_scratch_bytes(form), "scratch");
    gemm(form, a, b, out.data(), scratch->data());
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
  };
  f.lhs_narrow = half;
  expect_same(f, lhs.data(), wide_rhs.data());
  f.rhs_narrow = half;
  expect_same(f, lhs.data(), rhs.data());
  f.lhs_narrow = planner::Narrow::no;
  expect_same(f, wide_lhs.data(), rhs.data());
}

// Products of bytes against sums of integers, also added up in parts along k.
template <class L, class R>
void check_bytes(DotForm f, std::mt19937& random) {
  const auto narrow = []<class B>(B) { return std::is_signed_v<B> ? planner::Narrow::i8 : planner::Narrow::u8; };
  std::vector<L> lhs(f.batch * f.m * f.k);
  std::vector<R> rhs(f.batch * f.k * f.n);
  for (L& x : lhs) x = static_cast<L>(random() % 8 == 0 ? -128 : static_cast<int>(random()));  // the extremes, too
  for (R& x : rhs) x = static_cast<R>(random() % 8 == 0 ? -1 : static_cast<int>(random()));
  f.lhs_narrow = narrow(L{});
  f.rhs_narrow = narrow(R{});
  const std::vector<double> want = product_by_loops(f, lhs, rhs);
  const auto expect_integers = [&](const std::vector<float>& out) {
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(static_cast<double>(out[i]), want[i]) << f.batch << " x " << f.m << " x " << f.n << " x " << f.k;
    }
  };
  std::vector<float> out(want.size(), 77);
  const auto multiply = [&](const DotForm& form, const L* a, const R* b) {
    const size_t bytes = planner::dot_scratch_bytes(form);
    const BufferPtr scratch = allocate(bytes + 4096, "scratch");
    std::memset(scratch->data(), 0xAB, bytes + 4096);
    gemm(form, a, b, out.data(), scratch->data());
    for (size_t i = 0; i < 4096; ++i) EXPECT_EQ(scratch->data()[bytes + i], std::byte{0xAB});
  };
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    multiply(f, lhs.data(), rhs.data());
    expect_integers(out);
  }
  if (f.batch != 1 || !f.lhs_transposed || f.rhs_transposed || f.k < 2) return;
  DotForm part = f;  // rows of both
  part.whole_k = f.k;
  part.k = f.k / 2;
  multiply(part, lhs.data(), rhs.data());
  part.adds = true;
  part.k = f.k - f.k / 2;
  multiply(part, lhs.data() + f.k / 2 * f.m, rhs.data() + f.k / 2 * f.n);
  expect_integers(out);
}

TEST(Gemm, MultipliesBytesAsIntegers) {
  std::mt19937 random(5);
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const auto& [batch, m, n, k] : {std::array<int64_t, 4>{2, 17, 33, 65},
                                           {1, 130, 70, 258},
                                           {1, 1, 8, 9},
                                           {3, 64, 16, 64},
                                           {1, 12, 47, 131},
                                           {1, 300, 520, 30},
                                           {2, 9, 20, 3}}) {
        const DotForm form{batch, m, n, k, lhs, rhs};
        check_bytes<int8_t, int8_t>(form, random);
        check_bytes<uint8_t, uint8_t>(form, random);
        check_bytes<int8_t, uint8_t>(form, random);
        check_bytes<uint8_t, int8_t>(form, random);
      }
      check_bytes<int8_t, int8_t>({1, 40, 50, 1024, lhs, rhs}, random);
    }
  }
  DotForm form{1, 20, 20, 40};  // to what is no integer: in the order of any product
  form.lhs_narrow = form.rhs_narrow = planner::Narrow::i8;
  const std::vector<int8_t> bytes(800, 3);
  const std::vector<float> wide(800, 3), initial(400, 0.1f);
  const auto added = [&](const DotForm& f, const void* a, const void* b) {
    std::vector<float> out = initial;
    const BufferPtr scratch = allocate(planner::dot_scratch_bytes(f), "scratch");
    gemm(f, a, b, out.data(), scratch->data());
    return out;
  };
  form.adds = true;
  const auto narrow = added(form, bytes.data(), bytes.data());
  form.lhs_narrow = form.rhs_narrow = planner::Narrow::no;
  EXPECT_EQ(narrow, added(form, wide.data(), wide.data()));
}

TEST(Gemm, WidensHalvesAsItPacksThem) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const auto& [m, n, k] :
           {std::array<int64_t, 3>{1, 1, 1}, {2, 5, 7}, {17, 33, 65}, {130, 70, 300}, {9, 20, 0}}) {
        check_narrow<bfloat16>({2, m, n, k, lhs, rhs}, planner::Narrow::bf16);
        check_narrow<float16>({2, m, n, k, lhs, rhs}, planner::Narrow::f16);
        check_narrow<int8_t>({2, m, n, k, lhs, rhs}, planner::Narrow::i8);
        check_narrow<uint8_t>({2, m, n, k, lhs, rhs}, planner::Narrow::u8);
      }
    }
  }
}

// Products of bf16, where both operands lie so in memory, are those of one that was widened, bit for bit, whatever
// makes them: sums of all sizes, infinite ones, those that overflow, and signs of zeros, too.
TEST(Gemm, ProductsOfBf16AreThoseOfWidenedOnes) {
  std::mt19937 random(1);
  const auto some = [&](int64_t count, int most_exponent) {
    std::vector<bfloat16> values;
    for (int64_t i = 0; i < count; ++i) {
      const auto exponent = 127 - most_exponent + static_cast<uint32_t>(random()) % (2 * most_exponent + 1);
      uint32_t bits = (random() & 0x807f) | exponent << 7;
      if (random() % 64 == 0) bits &= 0x8000;                                // 0 and -0
      if (most_exponent > 100 && random() % 512 == 0) bits = bits | 0x7f80;  // infinite, not a number
      values.push_back(std::bit_cast<bfloat16>(static_cast<uint16_t>(bits)));
    }
    return values;
  };
  for (const int most_exponent : {4, 127}) {
    for (const bool lhs_transposed : {false, true}) {
      for (const bool rhs_transposed : {false, true}) {
        for (const bool adds : {false, true}) {
          for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 16, 16},
                                        {17, 33, 65},
                                        {130, 70, 301},
                                        {37, 16, 2051},
                                        {1, 300, 255},
                                        {520, 17, 18},
                                        {3, 20, 1},
                                        {2, 15, 40}}) {
            DotForm form{2, m, n, k, lhs_transposed, rhs_transposed};
            form.adds = adds;
            form.of_bf16 = true;
            const auto lhs = some(2 * m * k, most_exponent), rhs = some(2 * k * n, most_exponent);
            const auto initial = some(2 * m * n, most_exponent);
            const std::vector<float> wide(rhs.begin(), rhs.end());
            const auto make = [&](planner::Narrow rhs_narrow, const void* right) {
              form.lhs_narrow = planner::Narrow::bf16;
              form.rhs_narrow = rhs_narrow;
              std::vector<float> out(initial.begin(), initial.end());
              const size_t bytes = planner::dot_scratch_bytes(form);
              const BufferPtr scratch = allocate(bytes + 4096, "scratch");
              std::memset(scratch->data() + bytes, 0xAB, 4096);
              gemm(form, lhs.data(), right, out.data(), scratch->data(), false);
              for (size_t i = 0; i < 4096; ++i) EXPECT_EQ(scratch->data()[bytes + i], std::byte{0xAB});
              for (float& x : out) x = std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x;
              return out;
            };
            const auto expected = make(planner::Narrow::no, wide.data()), out = make(planner::Narrow::bf16, rhs.data());
            int differ = 0;
            for (size_t i = 0; i < out.size(); ++i) differ += std::memcmp(&out[i], &expected[i], sizeof(float)) != 0;
            EXPECT_EQ(differ, 0) << m << " x " << n << " x " << k << (adds ? " added" : "") << ", exponents to "
                                 << most_exponent;
          }
        }
      }
    }
  }
}

// Products of bf16 in tiles, if the processor has them: a reference in their order, however they are cut.
struct TileProduct {
  DotForm form;
  std::vector<bfloat16> lhs, rhs;
  std::vector<float> initial;

  TileProduct(DotForm f, std::mt19937& random) : form(f), lhs(f.batch * f.m * f.k), rhs(f.batch * f.k * f.n) {
    form.of_bf16 = true;
    form.lhs_narrow = form.rhs_narrow = planner::Narrow::bf16;
    std::normal_distribution<float> any(0, 1);
    for (auto* side : {&lhs, &rhs}) {
      for (bfloat16& x : *side) x = random() % 16 == 0 ? bfloat16(0.0f) : bfloat16(any(random));
    }
    for (int64_t i = 0; i < f.batch * f.m * f.n; ++i) initial.push_back(any(random));
  }

  std::vector<float> expected() const {
    std::vector<float> out(initial);
    const bool is_long = form.k > planner::kLongDot;
    const int64_t chain = is_long ? planner::kDotBlock : std::max<int64_t>(form.k, 1);
    const bool in_tiles = std::max(form.k, form.whole_k) >= planner::kDotTile;
    const auto add_chain = [&](float sum, int64_t b, int64_t i, int64_t j, int64_t first) {
      for (int64_t p = first; p < std::min(form.k, first + chain); p += 32) {
        float parity[2] = {0, 0};
        for (int64_t q = p; q < std::min({form.k, first + chain, p + 32}); ++q) {
          const float x =
              static_cast<float>(lhs[b * form.m * form.k + (form.lhs_transposed ? q * form.m + i : i * form.k + q)]);
          const float y =
              static_cast<float>(rhs[b * form.k * form.n + (form.rhs_transposed ? j * form.k + q : q * form.n + j)]);
          float& to = in_tiles ? parity[(q - p) % 2] : sum;
          to = std::fma(x, y, to);
        }
        if (in_tiles) sum += parity[0] + parity[1];
      }
      return sum;
    };
    for (int64_t o = 0; o < std::ssize(out); ++o) {
      const int64_t b = o / (form.m * form.n), i = o / form.n % form.m, j = o % form.n;
      float sum = form.adds ? initial[o] : 0.0f;
      for (int64_t p = 0; p < form.k; p += chain)
        sum = is_long ? sum + add_chain(0, b, i, j, p) : add_chain(sum, b, i, j, p);
      out[o] = sum;
    }
    return out;
  }

  // With operands that lie as floats, or not.
  std::vector<float> made(bool wide_lhs = false, bool wide_rhs = false) const {
    std::vector<float> out(initial);
    const std::vector<float> left(lhs.begin(), lhs.end()), right(rhs.begin(), rhs.end());
    DotForm form = this->form;
    if (wide_lhs) form.lhs_narrow = planner::Narrow::no;
    if (wide_rhs) form.rhs_narrow = planner::Narrow::no;
    const size_t bytes = planner::dot_scratch_bytes(form);
    const BufferPtr scratch = allocate(bytes + 4096, "scratch");
    std::memset(scratch->data(), 0xAB, bytes + 4096);
    const void* const a = wide_lhs ? static_cast<const void*>(left.data()) : lhs.data();
    const void* const b = wide_rhs ? static_cast<const void*>(right.data()) : rhs.data();
    gemm(form, a, b, out.data(), scratch->data(), true);
    for (size_t i = 0; i < 4096; ++i) EXPECT_EQ(scratch->data()[bytes + i], std::byte{0xAB});
    return out;
  }
};

int differing(const std::vector<float>& a, const std::vector<float>& b) {
  int differ = 0;
  for (size_t i = 0; i < a.size(); ++i) differ += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  return differ;
}

TEST(Gemm, ProductsInTilesAreInTheirOrder) {
  if (!uses_tiles()) GTEST_SKIP() << "no tiles here";
  std::mt19937 random(4);
  set_num_threads(2);
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const bool adds : {false, true}) {
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                      {1, 16, 32},
                                      {16, 16, 64},
                                      {17, 33, 65},
                                      {130, 70, 301},
                                      {37, 16, 2051},
                                      {300, 260, 513},
                                      {1, 300, 255},
                                      {520, 17, 18},
                                      {3, 20, 1},
                                      {64, 64, 2304}}) {
          DotForm form{2, m, n, k, lhs, rhs};
          form.adds = adds;
          const TileProduct product(form, random);
          const bool wide_lhs = random() % 2 == 0, wide_rhs = random() % 2 == 0;
          const auto expected = product.expected();
          EXPECT_EQ(differing(product.made(), expected), 0)
              << m << " x " << n << " x " << k << (lhs ? ", lhs transposed" : "") << (rhs ? ", rhs transposed" : "")
              << (adds ? ", added" : "");
          EXPECT_EQ(differing(product.made(wide_lhs, wide_rhs), expected), 0)
              << m << " x " << n << " x " << k << (lhs ? ", lhs transposed" : "") << (rhs ? ", rhs transposed" : "")
              << (adds ? ", added" : "");
        }
      }
    }
  }
}

// Slices along k are whole tiles of terms (partial_sum_of); along m and n of any size.
TEST(Gemm, PartsOfProductsInTilesHaveTheirBits) {
  if (!uses_tiles()) GTEST_SKIP() << "no tiles here";
  std::mt19937 random(5);
  for (const int64_t k : {300, 2400}) {
    const TileProduct whole(DotForm{1, 40, 50, k, false, true}, random);
    const auto want = whole.made();
    const auto rows = [](const auto& from, int64_t along, int64_t first, int64_t count, int64_t column,
                         int64_t columns) {
      std::vector<bfloat16> part;
      for (int64_t r = first; r < first + count; ++r) {
        for (int64_t c = column; c < column + columns; ++c) part.push_back(from[r * along + c]);
      }
      return part;
    };
    for (const auto& [m, n, terms] :
         {std::array<int64_t, 3>{1, 50, k}, {40, 1, k}, {7, 3, k}, {40, 50, 256}, {1, 1, 512}}) {
      std::vector<float> out(want.size(), 0.0f);
      for (int64_t i = 0; i < 40; i += m) {
        for (int64_t j = 0; j < 50; j += n) {
          TileProduct part = whole;
          part.form.m = std::min(m, 40 - i), part.form.n = std::min(n, 50 - j);
          part.form.adds = true, part.form.whole_k = k;
          part.initial.assign(part.form.m * part.form.n, 0.0f);
          for (int64_t p = 0; p < k; p += terms) {
            part.form.k = std::min(terms, k - p);
            part.lhs = rows(whole.lhs, k, i, part.form.m, p, part.form.k);
            part.rhs = rows(whole.rhs, k, j, part.form.n, p, part.form.k);
            part.initial = part.made();
          }
          for (int64_t r = 0; r < part.form.m; ++r) {
            for (int64_t c = 0; c < part.form.n; ++c) out[(i + r) * 50 + j + c] = part.initial[r * part.form.n + c];
          }
        }
      }
      EXPECT_EQ(differing(out, want), 0) << k << " terms, in parts of " << m << " x " << n << " x " << terms;
    }
  }
}

// A long sum of products that vanish is 0, not -0, whatever makes it.
TEST(Gemm, WhatVanishesOfBf16IsZero) {
  DotForm form{1, 16, 32, 2304};
  form.of_bf16 = true;
  form.lhs_narrow = form.rhs_narrow = planner::Narrow::bf16;
  const std::vector<bfloat16> lhs(16 * 2304, bfloat16(-0x1p-100f)), rhs(2304 * 32, bfloat16(0x1p-100f));
  std::vector<float> out(16 * 32, 77);
  const BufferPtr scratch = allocate(planner::dot_scratch_bytes(form), "scratch");
  gemm(form, lhs.data(), rhs.data(), out.data(), scratch->data());
#if defined(__x86_64__)
  for (const float x : out) EXPECT_EQ(std::bit_cast<uint32_t>(x), 0u);
#endif
}

// In products of bf16, and in no others, subnormal numbers are zeros; the thread's own arithmetic stays as it was.
TEST(Gemm, SubnormalsOfBf16CountAsZeros) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "processors differ";
#endif
  const float tiny = 1e-39f, large = 1e30f;
  DotForm form{1, 16, 32, 8};
  form.lhs_narrow = form.rhs_narrow = planner::Narrow::bf16;
  const std::vector<bfloat16> lhs(16 * 8, bfloat16(tiny)), rhs(8 * 32, bfloat16(large));
  for (const bool of_bf16 : {false, true}) {
    form.of_bf16 = of_bf16;
    std::vector<float> out(16 * 32, 77);
    const BufferPtr scratch = allocate(planner::dot_scratch_bytes(form), "scratch");
    gemm(form, lhs.data(), rhs.data(), out.data(), scratch->data());
    for (const float x : out) EXPECT_EQ(x > 0, !of_bf16) << x;
    volatile float still = tiny;
    EXPECT_GT(still * 0.5f, 0);
  }
}

TEST(Gemm, ConvertsEveryHalf) {
  const DotForm plain{1, 256, 16, 1};
  std::vector<float> ones(16, 1);
  for (const planner::Narrow half : {planner::Narrow::f16, planner::Narrow::bf16}) {
    DotForm form = plain;
    form.lhs_narrow = half;
    for (uint32_t high = 0; high < 256; ++high) {
      std::vector<uint16_t> bits;
      for (uint32_t low = 0; low < 256; ++low) bits.push_back(static_cast<uint16_t>(high << 8 | low));
      std::vector<float> out(256 * 16);
      const BufferPtr scratch = allocate(planner::dot_scratch_bytes(form), "scratch");
      gemm(form, bits.data(), ones.data(), out.data(), scratch->data());
      for (size_t i = 0; i < 256; ++i) {
        const float value = half == planner::Narrow::f16 ? static_cast<float>(float16::from_bits(bits[i]))
                                                         : static_cast<float>(bfloat16::from_bits(bits[i]));
        if (std::isnan(value))
          EXPECT_TRUE(std::isnan(out[i * 16])) << bits[i];
        else
          EXPECT_EQ(out[i * 16], value) << bits[i];
      }
    }
  }
}

// However a product is cut along its axes, k included, its bits stay; along k, a long one in whole blocks.
template <class T>
void check_parts(DotForm f) {
  f.dtype = dtype_of<T>();
  const auto lhs = product_operand<T>(f.m * f.k, 1), rhs = product_operand<T>(f.k * f.n, 2);
  const auto whole = product(f, lhs, rhs);
  // Rows [first, first + count) of a matrix, or that many columns.
  const auto part = [](const std::vector<T>& from, int64_t columns, bool across, int64_t first, int64_t count) {
    if (!across) return std::vector<T>(from.begin() + first * columns, from.begin() + (first + count) * columns);
    std::vector<T> to;
    for (int64_t i = 0; i * columns < std::ssize(from); ++i) {
      to.insert(to.end(), from.begin() + i * columns + first, from.begin() + i * columns + first + count);
    }
    return to;
  };
  const int64_t lhs_columns = f.lhs_transposed ? f.m : f.k, rhs_columns = f.rhs_transposed ? f.k : f.n;
  for (const int64_t size : {1, 7, 100}) {
    std::vector<T> sums = product({1, f.m, f.n, 0, false, false, f.dtype}, std::vector<T>{}, std::vector<T>{});
    const int64_t terms = f.k > planner::kLongDot ? (size % 10 + 1) * planner::kDotBlock : size;
    for (int64_t k = 0; k < f.k; k += terms) {
      DotForm slice = f;
      slice.k = std::min(terms, f.k - k);
      slice.whole_k = f.k;
      slice.adds = true;
      sums = product(slice, part(lhs, lhs_columns, !f.lhs_transposed, k, slice.k),
                     part(rhs, rhs_columns, f.rhs_transposed, k, slice.k), sums);
    }
    EXPECT_EQ(std::memcmp(sums.data(), whole.data(), whole.size() * sizeof(T)), 0) << "k in slices of " << terms;
    for (int64_t i = 0; i < f.m; i += size) {
      DotForm slice = f;
      slice.m = std::min(size, f.m - i);
      const auto rows = product(slice, part(lhs, lhs_columns, f.lhs_transposed, i, slice.m), rhs);
      EXPECT_EQ(std::memcmp(rows.data(), whole.data() + i * f.n, rows.size() * sizeof(T)), 0) << "row " << i;
    }
  }
}

TEST(Gemm, PartsOfAProductHaveItsBits) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{130, 70, 300},
                                    {33, 5, 260},
                                    {17, 290, 40},
                                    {9, 20, 5001},
                                    {4, 3, 2500},
                                    {3, 4, 40}}) {
        check_parts<float>({1, m, n, k, lhs, rhs});
        check_parts<double>({1, m, n, k, lhs, rhs});
      }
    }
  }
}

// What small matrices give is what their columns give among others, which are too many to be small.
template <class T>
void check_small(DotForm f) {
  constexpr int64_t kOthers = 20;
  f.dtype = dtype_of<T>();
  const auto lhs = product_operand<T>(f.batch * f.m * f.k, 1), rhs = product_operand<T>(f.batch * f.k * f.n, 2),
             initial = product_operand<T>(f.batch * f.m * f.n, 3);
  DotForm wide = f;
  wide.n += kOthers;
  std::vector<T> more(static_cast<size_t>(f.batch * f.k * wide.n), T(5)),
      more_initial(static_cast<size_t>(f.batch * f.m * wide.n), T(5));
  for (int64_t b = 0; b < f.batch; ++b) {
    for (int64_t j = 0; j < f.n; ++j) {
      for (int64_t p = 0; p < f.k; ++p) {
        const int64_t from = f.rhs_transposed ? j * f.k + p : p * f.n + j;
        const int64_t to = f.rhs_transposed ? j * f.k + p : p * wide.n + j;
        more[static_cast<size_t>(b * f.k * wide.n + to)] = rhs[static_cast<size_t>(b * f.k * f.n + from)];
      }
      for (int64_t i = 0; i < f.m; ++i) {
        more_initial[static_cast<size_t>((b * f.m + i) * wide.n + j)] =
            initial[static_cast<size_t>((b * f.m + i) * f.n + j)];
      }
    }
  }
  const auto got = product(f, lhs, rhs, initial), all = product(wide, lhs, more, more_initial);
  for (int64_t row = 0; row < f.batch * f.m; ++row) {
    const T *const a = &got[static_cast<size_t>(row * f.n)], *const b = &all[static_cast<size_t>(row * wide.n)];
    ASSERT_EQ(std::memcmp(a, b, static_cast<size_t>(f.n) * sizeof(T)), 0)
        << f.batch << " x " << f.m << " x " << f.n << " x " << f.k << ", row " << row;
  }
}

TEST(Gemm, SmallMatricesHaveTheBitsOfOthers) {
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 3, 3},
                                    {16, 8, 16},
                                    {5, 2, 7},
                                    {1, 4, 1},
                                    {4, 4, 300},
                                    {3, 4, 2500},
                                    {2, 3, 17},
                                    {4, 2, 2304},
                                    {7, 6, 2100},
                                    {6, 7, 300},
                                    {7, 7, 17},
                                    {2, 2, 2},
                                    {8, 8, 300},
                                    {5, 5, 2500},
                                    {2, 8, 2049},
                                    {8, 3, 2304}}) {
        for (const bool adds : {false, true}) {
          for (const int64_t whole_k : {0, 5000}) {
            DotForm f{4, m, n, k, lhs, rhs};
            f.adds = adds;
            f.whole_k = whole_k;
            check_small<float>(f);
            check_small<double>(f);
          }
        }
      }
    }
  }
}

// One chain of them would be wrong in the second digit.
TEST(Gemm, RoundingsOfManyTermsDoNotPileUp) {
  const DotForm f{1, 3, 5, 1'000'000};
  const auto sums = product(f, std::vector<float>(f.m * f.k, 0.1f), std::vector<float>(f.k * f.n, 0.1f));
  for (const float x : sums) EXPECT_NEAR(x, 1e4, 0.5);
}

TEST(Gemm, ScratchIsSmallBesideLargeOperands) {
  for (const int64_t n : {1024, 4096}) {
    const DotForm f{1, n, n, n};
    EXPECT_LE(planner::dot_scratch_bytes(f), static_cast<size_t>(3 * n * n * 4 / 8));
  }
  EXPECT_LE(planner::dot_scratch_bytes({1, 64, 64, 64}), size_t{64 * 1024});
}

}  // namespace
}  // namespace neap::cpu
