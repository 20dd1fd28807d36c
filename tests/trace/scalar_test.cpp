// The scalar language: what is folded, what is made once, what a Dag computes.
#include "trace/scalar/scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "trace/graph/op_table.h"
#include "trace/reference/reference_math.h"
#include "trace/scalar/scalar_eval.h"
#include "trace/scalar/scalar_math.h"

namespace neap::scalar {
namespace {

using tracing::Op;

// The value of `x`, whose loads give bits[buffer].
uint64_t value(const Dag& dag, X x, std::vector<uint64_t> bits = {}) {
  auto leaf = [&](const Inst& inst, const uint64_t*, std::span<uint64_t> out) {
    for (uint64_t& o : out) o = inst.op == Opcode::load ? bits.at(inst.imm) : 0;
  };
  return evaluate(dag, std::array{x.id}, 1, leaf)[0][0];
}

uint64_t apply(Op op, DType out, DType in, std::vector<uint64_t> bits) {
  Dag loaded, folded;
  std::vector<X> loads, constants;
  for (size_t i = 0; i < bits.size(); ++i) {
    const DType t = op == Op::select && i == 0 ? DType::bool_ : in;
    loads.push_back(loaded.load(static_cast<int>(i), t, loaded.index(1, DType::i64)));
    constants.push_back(folded.constant_bits(bits[i], t));
  }
  const X constant = apply_op(op, constants, out);
  EXPECT_TRUE(folded.is_constant(constant));
  const uint64_t result = value(loaded, apply_op(op, loads, out), bits);
  EXPECT_EQ(result, folded[constant.id].imm) << "folding and running disagree";
  return result;
}

int64_t apply_i(Op op, DType t, int64_t x, int64_t y) {
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * size_of(t));
  const uint64_t r = apply(op, t, t, {static_cast<uint64_t>(x) & mask, static_cast<uint64_t>(y) & mask});
  const int unused = 64 - 8 * static_cast<int>(size_of(t));
  return is_signed(t) ? static_cast<int64_t>(r << unused) >> unused : static_cast<int64_t>(r);
}

uint64_t f(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Dag, MakesAnExpressionOnce) {
  Dag dag;
  const X i = dag.index(1, DType::i64), x = dag.load(0, DType::f32, i), y = dag.load(1, DType::f32, i);
  const int32_t size = dag.size();
  EXPECT_EQ((x * y + x).id, (x * y + x).id);
  EXPECT_EQ(dag.size(), size + 2);
  EXPECT_NE((x - y).id, (y - x).id);
  const X p = dag.convert(x, DType::i32), q = dag.convert(y, DType::i32);
  EXPECT_EQ((p + q).id, (q + p).id);
}

TEST(Dag, FoldsConstantsInTheirType) {
  Dag dag;
  const X third = dag.constant(1, DType::f32) / dag.constant(3, DType::f32);
  ASSERT_TRUE(dag.is_constant(third));
  EXPECT_EQ(dag.constant_value(third), static_cast<double>(1.0f / 3.0f));
  const X wrapped = dag.integer(200, DType::u8) + dag.integer(100, DType::u8);
  EXPECT_EQ(dag.constant_integer(wrapped), 44);
  const X low = dag.integer(std::numeric_limits<int64_t>::min(), DType::i64);
  EXPECT_EQ(dag.constant_integer(-low), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(dag.constant_integer(dag.convert(dag.constant(-1e10, DType::f32), DType::i32)), INT32_MIN);
  EXPECT_EQ(dag.constant_integer(dag.convert(dag.constant(1e30, DType::f64), DType::u64)), -1);
  EXPECT_EQ(dag.constant_integer(dag.convert(dag.constant(NAN, DType::f64), DType::i64)), 0);
  EXPECT_EQ(dag[dag.constant(1.0 / 3, DType::bf16).id].imm, 0x3eabu);
}

TEST(Dag, IdentitiesKeepEveryBit) {
  Dag dag;
  const X i = dag.index(1, DType::i64), x = dag.load(0, DType::f32, i), n = dag.load(1, DType::i32, i);
  const X one = dag.constant(1, DType::f32), zero = dag.constant(0, DType::f32), none = dag.integer(0, DType::i32);
  EXPECT_EQ((x * one).id, x.id);
  EXPECT_EQ((one * x).id, x.id);
  EXPECT_EQ((x - zero).id, x.id);
  EXPECT_EQ((x + dag.constant(-0.0, DType::f32)).id, x.id);
  EXPECT_NE((x + zero).id, x.id);  // -0 + 0 is +0
  EXPECT_FALSE(dag.is_constant(x * zero));
  EXPECT_FALSE(dag.is_constant(x - x));
  EXPECT_FALSE(dag.is_constant(m::eq(x, x)));
  EXPECT_EQ((n + none).id, n.id);
  EXPECT_EQ((none + n).id, n.id);
  EXPECT_EQ((n | none).id, n.id);
  EXPECT_EQ((n & dag.integer(-1, DType::i32)).id, n.id);
  EXPECT_EQ((n ^ n).id, none.id);
  EXPECT_EQ(m::shl(n, 0).id, n.id);
  EXPECT_EQ((n + dag.integer(2, DType::i32) + dag.integer(-2, DType::i32)).id, n.id);
  EXPECT_EQ((-(-x)).id, x.id);
  const X yes = dag.constant_bits(1, DType::bool_);
  EXPECT_EQ(m::select(yes, x, one).id, x.id);
  EXPECT_EQ(m::select(m::bit_not(yes), x, one).id, one.id);
}

TEST(Dag, ConvertsOnlyWhatChanges) {
  Dag dag;
  const X i = dag.index(1, DType::i64);
  const X h = dag.load(0, DType::bf16, i), s = dag.load(1, DType::f32, i), n = dag.load(2, DType::i32, i);
  EXPECT_EQ(dag.convert(dag.convert(h, DType::f32), DType::bf16).id, h.id);
  EXPECT_EQ(dag.convert(dag.convert(dag.convert(h, DType::f64), DType::f32), DType::bf16).id, h.id);
  EXPECT_NE(dag.convert(dag.convert(s, DType::bf16), DType::f32).id, s.id);
  EXPECT_EQ(dag.convert(dag.convert(s, DType::f64), DType::f32).id, s.id);
  EXPECT_EQ(dag.convert(dag.convert(n, DType::i64), DType::i32).id, n.id);
  EXPECT_EQ(dag.convert(dag.convert(n, DType::i64), DType::i16).id, dag.convert(n, DType::i16).id);
  EXPECT_NE(dag.convert(dag.convert(n, DType::u32), DType::i64).id, dag.convert(n, DType::i64).id);
  EXPECT_NE(dag.convert(dag.convert(n, DType::f64), DType::i8).id, dag.convert(n, DType::i8).id);  // saturates
  EXPECT_EQ(dag.bitcast(dag.bitcast(s, DType::u32), DType::f32).id, s.id);
}

TEST(Dag, HalvesRoundOnce) {
  Dag dag;
  const X i = dag.index(1, DType::i64);
  const X wide = dag.load(0, DType::f64, i), whole = dag.load(1, DType::i32, i);
  const X b = dag.convert(wide, DType::bf16), h = dag.convert(wide, DType::f16), w = dag.convert(whole, DType::bf16);
  const double cases[] = {1.0 + 0x1p-8 + 0x1p-40,
                          1.0 + 0x1p-8 - 0x1p-40,
                          1.0 + 0x1p-11 + 0x1p-40,
                          -0x1p-24,
                          1e-9,
                          1e300,
                          -INFINITY,
                          65519.999999999,
                          65520.0,
                          0.0,
                          -0.0,
                          0x1p-133 + 0x1p-190,
                          3.3e38};
  for (double x : cases) {
    EXPECT_EQ(value(dag, b, {std::bit_cast<uint64_t>(x), 0}), bfloat16::from_double(x).bits) << x;
    EXPECT_EQ(value(dag, h, {std::bit_cast<uint64_t>(x), 0}), float16::from_double(x).bits) << x;
  }
  EXPECT_EQ(value(dag, w, {0, 0x1010001}), bfloat16::from_double(0x1010001).bits);
  for (int32_t id = 0; id < dag.size(); ++id) {
    if (dag[id].op != Opcode::convert) continue;
    const DType from = dag[dag[id].a].type, to = dag[id].type;
    if (to == DType::f16 || to == DType::bf16) EXPECT_EQ(from, DType::f32);
  }
}

TEST(Dag, Prints) {
  Dag dag;
  const X i = dag.index(1, DType::i64), x = dag.load(2, DType::f32, i);
  m::through_f64(Function::lgamma, m::fma(x, 0.5, 1.0));
  EXPECT_EQ(
      dag.print(),
      "%0 = index i64 1\n%1 = load f32 2 %0\n%2 = constant f32 0x3f000000 (0.5)\n%3 = constant f32 0x3f800000 (1)\n"
      "%4 = fma f32 %1 %2 %3\n%5 = convert f64 %4\n%6 = call f64 neap_lgamma %5\n%7 = convert f32 %6\n");
}

TEST(ApplyOp, IntegerDivisionNeverTraps) {
  for (DType t : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    const int64_t low = static_cast<int64_t>(~uint64_t{0} << (8 * size_of(t) - 1));
    EXPECT_EQ(apply_i(Op::divide, t, low, -1), low);
    EXPECT_EQ(apply_i(Op::remainder, t, low, -1), 0);
    EXPECT_EQ(apply_i(Op::divide, t, low, 0), -1);
    EXPECT_EQ(apply_i(Op::remainder, t, low, 0), low);
    EXPECT_EQ(apply_i(Op::divide, t, -7, 2), -3);
    EXPECT_EQ(apply_i(Op::remainder, t, -7, 2), -1);
    EXPECT_EQ(apply_i(Op::divide, t, 7, -2), -3);
    EXPECT_EQ(apply_i(Op::remainder, t, 7, -2), 1);
  }
  EXPECT_EQ(apply_i(Op::divide, DType::u8, 200, 0), 255);
  EXPECT_EQ(apply_i(Op::divide, DType::u8, 200, 255), 0);
  EXPECT_EQ(apply_i(Op::remainder, DType::u32, 7, 0), 7);
}

TEST(ApplyOp, ShiftsBeyondTheWidth) {
  EXPECT_EQ(apply_i(Op::shift_left, DType::i8, 1, 7), -128);
  EXPECT_EQ(apply_i(Op::shift_left, DType::i8, 1, 8), 0);
  EXPECT_EQ(apply_i(Op::shift_left, DType::i8, 1, -1), 0);
  EXPECT_EQ(apply_i(Op::shift_right, DType::i8, -128, 3), -16);
  EXPECT_EQ(apply_i(Op::shift_right, DType::i8, -128, 9), -1);
  EXPECT_EQ(apply_i(Op::shift_right, DType::i8, 127, -1), 0);
  EXPECT_EQ(apply_i(Op::shift_right, DType::u8, 128, 7), 1);
  EXPECT_EQ(apply_i(Op::shift_right, DType::u8, 128, 8), 0);
  EXPECT_EQ(apply_i(Op::shift_left, DType::u64, 3, 63), INT64_MIN);
  EXPECT_EQ(apply_i(Op::shift_left, DType::u64, 3, 64), 0);
}

TEST(ApplyOp, MaximumAndSign) {
  const float nan = NAN;
  for (auto [x, y, larger] :
       {std::array{1.0f, 2.0f, 2.0f}, {2.0f, -INFINITY, 2.0f}, {nan, 1.0f, nan}, {1.0f, nan, nan}}) {
    const auto r =
        std::bit_cast<float>(static_cast<uint32_t>(apply(Op::maximum, DType::f32, DType::f32, {f(x), f(y)})));
    const auto s =
        std::bit_cast<float>(static_cast<uint32_t>(apply(Op::minimum, DType::f32, DType::f32, {f(-x), f(-y)})));
    EXPECT_TRUE(larger != larger ? r != r : r == larger);
    EXPECT_TRUE(larger != larger ? s != s : s == -larger);
  }
  EXPECT_EQ(apply(Op::sign, DType::f32, DType::f32, {f(-0.0f)}), f(-0.0f));
  EXPECT_EQ(apply(Op::sign, DType::f32, DType::f32, {f(-3.0f)}), f(-1.0f));
  EXPECT_EQ(apply(Op::sign, DType::bf16, DType::bf16, {0x7f80}), 0x3f80u);
  EXPECT_EQ(apply(Op::sign, DType::u8, DType::u8, {200}), 1u);
  EXPECT_EQ(apply(Op::negative, DType::u8, DType::u8, {1}), 255u);
  EXPECT_EQ(apply(Op::abs, DType::i8, DType::i8, {0x80}), 0x80u);
}

TEST(ApplyOp, HalvesComputeInF32AndRound) {
  const bfloat16 x(1.0f), y(0.00390625f);  // 1 + 2^-8 lies halfway: to even
  EXPECT_EQ(apply(Op::add, DType::bf16, DType::bf16, {x.bits, y.bits}), x.bits);
  EXPECT_EQ(apply(Op::less, DType::bool_, DType::bf16, {y.bits, x.bits}), 1u);
  EXPECT_EQ(apply(Op::isinf, DType::bool_, DType::f16, {0xfc00}), 1u);
  EXPECT_EQ(apply(Op::isfinite, DType::bool_, DType::f16, {0x7e00}), 0u);
  EXPECT_EQ(apply(Op::copysign, DType::f16, DType::f16, {0x3c00, 0x8000}), 0xbc00u);
  EXPECT_EQ(apply(Op::select, DType::bf16, DType::bf16, {1, 0x1234, 0x5678}), 0x1234u);
  EXPECT_EQ(apply(Op::less, DType::bool_, DType::bool_, {0, 1}), 1u);
  EXPECT_EQ(apply(Op::less_equal, DType::bool_, DType::bool_, {1, 0}), 0u);
  EXPECT_EQ(apply(Op::bitwise_not, DType::bool_, DType::bool_, {1}), 0u);
}

TEST(ApplyOp, NextafterIsThatOfTheType) {
  const float xs[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e-45f, -1e-45f, 3.4028235e38f, INFINITY, -INFINITY, 1.5e-20f};
  for (float x : xs) {
    for (float y : xs) {
      EXPECT_EQ(apply(Op::nextafter, DType::f32, DType::f32, {f(x), f(y)}), f(std::nextafter(x, y))) << x << ' ' << y;
      const double p = x, q = y;
      EXPECT_EQ(apply(Op::nextafter, DType::f64, DType::f64, {std::bit_cast<uint64_t>(p), std::bit_cast<uint64_t>(q)}),
                std::bit_cast<uint64_t>(std::nextafter(p, q)));
    }
  }
  EXPECT_EQ(apply(Op::nextafter, DType::bf16, DType::bf16, {0x3f80, 0}), 0x3f7fu);
  EXPECT_EQ(apply(Op::nextafter, DType::f16, DType::f16, {0, 0xbc00}), 0x8001u);
}

TEST(ApplyOp, EveryRowHasAnExpressionOfItsType) {
  for (Op op : tracing::elementwise_ops()) {
    const tracing::OpInfo& info = tracing::op_info(op);
    for (int t = 0; t < kDTypeCount; ++t) {
      const auto type = static_cast<DType>(t);
      if (!tracing::accepts(info.types, type)) continue;
      Dag dag;
      std::vector<X> operands;
      for (int i = 0; i < info.arity; ++i) {
        const bool condition = op == Op::select && i == 0;
        operands.push_back(dag.load(i, condition ? DType::bool_ : type, dag.index(1, DType::i64)));
      }
      const X x = apply_op(op, operands, tracing::result_dtype(info.types, type));
      EXPECT_EQ(x.type(), tracing::result_dtype(info.types, type)) << info.name;
      for (int32_t id = 0; id < dag.size(); ++id) {
        const Inst& inst = dag[id];
        const bool half = inst.type == DType::f16 || inst.type == DType::bf16;
        const bool moves = inst.op == Opcode::load || inst.op == Opcode::convert || inst.op == Opcode::select ||
                           inst.op == Opcode::bitcast || inst.op == Opcode::constant;
        EXPECT_TRUE(!half || moves) << info.name;
      }
      const uint64_t one = type == DType::bool_ ? 1 : 0x3f;
      value(dag, x, {one, one, one});  // runs
    }
  }
}

TEST(ApplyOp, CostsGrowWithTheWork) {
  EXPECT_EQ(op_cost(Op::add, DType::f32), 1);
  EXPECT_EQ(op_cost(Op::add, DType::f64), 2);
  EXPECT_GT(op_cost(Op::exp, DType::f32), 5);
  EXPECT_GT(op_cost(Op::erf_inv, DType::f32), op_cost(Op::multiply, DType::f32));
  EXPECT_EQ(op_cost(Op::stop_gradient, DType::f32), 0);
}

TEST(Threefry, KnownAnswers) {
  struct Case {
    uint32_t k0, k1, c0, c1, w0, w1;
  };
  // Salmon et al., the vectors of Random123.
  for (const Case& t : {Case{0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
                        Case{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
                        Case{0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0}}) {
    Dag dag;
    X words[4];
    for (int i = 0; i < 4; ++i) words[i] = dag.load(i, DType::u32, dag.index(1, DType::i64));
    const auto [x, y] = threefry2x32(words[0], words[1], words[2], words[3]);
    const std::vector<uint64_t> in{t.k0, t.k1, t.c0, t.c1};
    EXPECT_EQ(value(dag, x, in), t.w0);
    EXPECT_EQ(value(dag, y, in), t.w1);
  }
  for (auto [hi, lo, bits] :
       {std::array<uint32_t, 3>{0, 0, 0x7d1c13a2}, {0, 1, 0xae0730d9}, {0, 2, 0x9dc3f9f9}, {1, 0, 0xd61fff96}}) {
    Dag dag;
    const auto [x, y] = threefry2x32(dag.integer(0, DType::u32), dag.integer(42, DType::u32),
                                     dag.integer(hi, DType::u32), dag.integer(lo, DType::u32));
    EXPECT_EQ(static_cast<uint32_t>(dag.constant_integer(x ^ y)), bits);
  }
}

TEST(Philox, KnownAnswers) {
  struct Case {
    std::array<uint32_t, 6> in;  // key, counter
    std::array<uint32_t, 4> out;
  };
  constexpr uint32_t kOnes = 0xffffffff;
  for (const Case& t :
       {Case{{0, 0, 0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        Case{{kOnes, kOnes, kOnes, kOnes, kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        Case{{0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    Dag dag;
    std::array<X, 6> in;
    for (int i = 0; i < 6; ++i) in[i] = dag.load(i, DType::u32, dag.index(1, DType::i64));
    const auto words = philox4x32({in[0], in[1]}, {in[2], in[3], in[4], in[5]});
    const std::vector<uint64_t> values(t.in.begin(), t.in.end());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(value(dag, words[i], values), t.out[i]) << i;
    EXPECT_EQ(ref::philox4x32({t.in[0], t.in[1]}, {t.in[2], t.in[3], t.in[4], t.in[5]}), t.out);
  }
}

}  // namespace
}  // namespace neap::scalar
