// Every elementwise op on every dtype it takes, in several shapes.
#include <neap/numpy.h>
#include <neap/ops.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

using tracing::Family;
using tracing::TypeRule;

// Rounded once from the exact result, in every dtype.
bool is_exact(Op op) {
  switch (op) {
    case Op::negative:
    case Op::abs:
    case Op::sign:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::remainder:
    case Op::maximum:
    case Op::minimum:
    case Op::square:
    case Op::reciprocal:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::rint:
    case Op::sqrt:
    case Op::nextafter:
    case Op::copysign:
    case Op::stop_gradient:
    case Op::select: return true;
    default: return false;
  }
}

Tolerance limit(Op op, DType t) {
  if (!is_float(t) || is_exact(op)) return {};
  if (t == f64) return {4, op == Op::digamma ? 1e-14 : 0};  // its terms cancel near its roots
  if (t != f32) return {1};
  return {op == Op::erf_inv ? 4 : 2};
}

void add_case(Sheet& sheet, Op op, DType dtype, const Shape& shape) {
  const tracing::OpInfo& info = tracing::op_info(op);
  std::vector<ValueId> operands;
  for (int i = 0; i < info.arity; ++i)
    operands.push_back(sheet.input(shape, i == 0 && info.types == TypeRule::select ? bool_ : dtype));
  sheet.check(fmt::format("{} {}{}", tracing::name(op), name(dtype), to_string(shape)), op, operands, {},
              limit(op, dtype));
}

// All values of a half type.
Array every_half(DType dtype) {
  return make_array({{65536}, dtype}, [](std::byte* to) {
    for (int i = 0; i < 65536; ++i) reinterpret_cast<uint16_t*>(to)[i] = static_cast<uint16_t>(i);
  });
}

class Elementwise : public testing::TestWithParam<Op> {};

TEST_P(Elementwise, IsTheReferencesInEveryDtypeAndShape) {
  const Op op = GetParam();
  const tracing::OpInfo& info = tracing::op_info(op);
  Sheet sheet(static_cast<uint64_t>(op) + 1);
  const std::vector<Shape> shapes{{}, {0}, {7}, {3, 5}, {2, 3, 129}};
  size_t dtypes = 0;
  for (const DType dtype : kAllDTypes) {
    if (!tracing::accepts(info.types, dtype)) continue;
    add_case(sheet, op, dtype, {1000});
    add_case(sheet, op, dtype, shapes[dtypes++ % shapes.size()]);
    if (size_of(dtype) == 2 && is_float(dtype) && info.arity == 1)
      sheet.check(fmt::format("{} every {}", tracing::name(op), name(dtype)), op, {sheet.input(every_half(dtype))}, {},
                  limit(op, dtype));
  }
  ASSERT_GT(dtypes, 0u);
  const DType main = tracing::accepts(info.types, f32) ? f32 : i32;
  for (const Shape& shape : shapes) add_case(sheet, op, main, shape);
  sheet.run();
}

std::vector<Op> every_op() {
  const auto ops = tracing::elementwise_ops();
  return {ops.begin(), ops.end()};
}

INSTANTIATE_TEST_SUITE_P(Op, Elementwise, testing::ValuesIn(every_op()),
                         [](const auto& info) { return std::string(tracing::name(info.param)); });

// a * a is 1 + 2^-11 + 2^-24, of which a product of its own would lose the last.
TEST(Fma, RoundsOnce) {
  Sheet sheet;
  for (const DType t : {f32, f64}) {
    const double bit = t == f32 ? 0x1p-12 : 0x1p-27;
    const ValueId a = sheet.input(full({3}, 1 + bit, t)), c = sheet.input(full({3}, -1 - 2 * bit, t));
    sheet.check(fmt::format("fma {}", name(t)), Op::fma, {a, a, c}, {}, kSameBits);
    const ValueId literal = sheet.graph.constant(-1 - 2 * bit, t, {3});
    sheet.check(fmt::format("fma {} of a literal", name(t)), Op::fma, {a, a, literal}, {}, kSameBits);
    EXPECT_EQ(fma(full({}, 1 + bit, t), full({}, 1 + bit, t), full({}, -1 - 2 * bit, t)).astype(f64).item<double>(),
              bit * bit);
    // Products that are too small keep their sign, beside a zero as well.
    const double tiny = t == f32 ? 1e-30 : 1e-200;
    for (const double sign : {1.0, -1.0}) {
      const ValueId x = sheet.input(full({3}, sign * tiny, t)), y = sheet.input(full({3}, tiny, t));
      for (const double zero : {0.0, -0.0})
        sheet.check(fmt::format("fma {} of {} tiny and {}", name(t), sign, zero), Op::fma,
                    {x, y, sheet.input(full({3}, zero, t))}, {}, kSameBits);
    }
  }
  sheet.run();
}

// Compilers know what a number of the program does to others, and drivers may think that x * 0 is 0 (llvmpipe does).
TEST(Literal, IsLikeAnyOtherNumber) {
  for (const DType t : {f16, bf16, f32, f64}) {
    Sheet sheet(static_cast<uint64_t>(t) + 200);
    const ValueId x = sheet.input({40}, t, Fill::few);
    for (const double value : {0.0, -0.0, 1.0, -1.0, double{INFINITY}}) {
      const ValueId c = sheet.graph.constant(value, t, {40});
      const auto check = [&](Op op, std::vector<ValueId> operands, const char* how) {
        sheet.check(fmt::format("{} of {}, {} {}", tracing::name(op), name(t), how, value), op, std::move(operands), {},
                    kSameBits);
      };
      for (const Op op : {Op::add, Op::subtract, Op::multiply, Op::divide, Op::maximum, Op::minimum}) {
        check(op, {x, c}, "by");
        check(op, {c, x}, "of");
      }
      if (size_of(t) < 4) continue;
      check(Op::fma, {x, c, x}, "times");
      check(Op::fma, {x, x, c}, "plus");
    }
    for (const Op op : {Op::subtract, Op::divide})
      sheet.check(fmt::format("{} of {} and itself", tracing::name(op), name(t)), op, {x, x}, {}, kSameBits);
    sheet.run();
  }
}

// A sum starts from 0, so that of -0 is 0, of one term too, and of products with a zero that compilers see.
TEST(Literal, SumsStartFromZero) {
  for (const DType t : {f32, f64}) {
    const auto signs = [&](const char* what, const auto& f, const Array& x, bool negative) {
      for (const Pipeline pipeline : {Pipeline::planned, Pipeline::naive}) {
        for (const double v : jit(f, {.pipeline = pipeline})(x).astype(f64).template to_vector<double>())
          EXPECT_TRUE(v == 0 && std::signbit(v) == negative) << what << " of " << name(t) << ": " << v;
      }
    };
    const Array minus = full({4}, -0.0, t), below = full({4}, -1.5, t);
    signs("sum of one", [](const Array& x) { return sum(reshape(x, {4, 1}), {1}); }, minus, false);
    signs("sum", [](const Array& x) { return sum(x); }, minus, false);
    signs("product of two terms", [t](const Array& x) { return dot(stack({x, x}, 1), zeros({2}, t)); }, below, false);
    signs("convolution by one", [t](const Array& x) { return convolve(x, zeros({1}, t)); }, below, false);
    signs("convolution", [t](const Array& x) { return convolve(x, zeros({2}, t)); }, below, false);
    signs("product", [t](const Array& x) { return x * zeros({4}, t); }, below, true);
  }
}

TEST(Convert, BetweenAllDtypes) {
  for (const DType from : kAllDTypes) {
    Sheet sheet(static_cast<uint64_t>(from) + 100);
    const ValueId x = sheet.input({1000}, from), scalar = sheet.input({}, from), row = sheet.input({3, 7}, from);
    for (const DType to : kAllDTypes) {
      for (const ValueId v : {x, scalar, row})
        sheet.check(fmt::format("{} to {}", name(from), name(to)), Op::convert, {v}, {{Attr::dtype, to}});
      if (size_of(from) == size_of(to) && (from == bool_) == (to == bool_))
        sheet.check(fmt::format("{} as {}", name(from), name(to)), Op::bitcast, {x}, {{Attr::dtype, to}});
    }
    sheet.run();
  }
}

TEST(Leaf, ConstantAndIota) {
  Sheet sheet;
  for (const DType t : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 4, 17}}) {
      for (const double value : {0.0, 1.0, 100.0})
        sheet.output(fmt::format("constant {}", value), sheet.graph.constant(value, t, shape));
      for (size_t axis = 0; axis < shape.size() && t != bool_; ++axis)
        sheet.check("iota", Op::iota, {},
                    {{Attr::dtype, t}, {Attr::shape, shape}, {Attr::axis, static_cast<int64_t>(axis)}});
    }
    const ValueId four = sheet.graph.constant(4, t, {3});  // of bool: true
    sheet.check("constant 4 as f32", Op::convert, {four}, {{Attr::dtype, f32}}, Tolerance{});
    if (is_float(t)) {
      for (const double value : {-0.0, 0.1, 1e-5, 1e30, double{INFINITY}, double{NAN}})
        sheet.output(fmt::format("constant {}", value), sheet.graph.constant(value, t, {3}));
    }
  }
  sheet.run();
}

}  // namespace
}  // namespace neap::conformance
