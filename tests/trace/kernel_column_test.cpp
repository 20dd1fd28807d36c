// The kernel column of <neap/ops.def> against its reference column: every elementwise op, every dtype that it takes, on
// special values and all their pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trace/host.h"
#include "tests/trace/samples.h"
#include "trace/reference/reference_values.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::tracing {
namespace {

template <class T>
std::vector<T> special_values() {
  if constexpr (std::same_as<T, bool>) {
    return {false, true};
  } else if constexpr (kIsFloat<T>) {
    std::vector<T> out;
    for (const double x :
         {0.0,  1.0,   0.5,    0.1,  1.5,  2.5, 3.0, 0.9998, 0.75, 7.25,  20.0,
          88.0, 100.0, 1000.5, 1e-3, 1e-7, 3e4, 1e9, 1e30,   1e38, 1e-30, std::numeric_limits<double>::infinity()}) {
      out.push_back(convert_element<T>(x));
      out.push_back(convert_element<T>(-x));
    }
    out.push_back(convert_element<T>(std::numeric_limits<double>::quiet_NaN()));
    return out;
  } else {
    using L = std::numeric_limits<T>;
    std::vector<T> out{0, 1, 2, 3, 7, 8, 31, 63, 100, L::max(), T(L::max() - 1), L::min(), T(L::min() + 1)};
    if constexpr (std::is_signed_v<T>) out.insert(out.end(), {-1, -2, -7});
    return out;
  }
}

// Each of `arity` operands runs through all values against all values of the others.
template <class T>
std::vector<HostValue> grid(int arity) {
  const std::vector<T> values = special_values<T>();
  const auto n = static_cast<int64_t>(values.size());
  const Shape shape(static_cast<size_t>(arity), n);
  std::vector<HostValue> out;
  for (int k = 0; k < arity; ++k) {
    out.push_back(
        evaluate(Op::broadcast_in_dim, {host<T>({n}, values)}, {{Attr::shape, shape}, {Attr::axes, Ints{k}}}));
  }
  return out;
}

uint64_t bits_at(const HostValue& value, int64_t i) {
  uint64_t bits = 0;
  const size_t width = size_of(value.aval.dtype);
  std::memcpy(&bits, value.data->data() + static_cast<size_t>(i) * width, width);
  return bits;
}

// The op's element expression, run over the operands.
std::vector<uint64_t> by_kernel(Op op, const std::vector<HostValue>& in, DType out) {
  scalar::Dag dag;
  const scalar::X index = dag.index(0, i64);
  std::vector<scalar::X> operands;
  for (size_t k = 0; k < in.size(); ++k) {
    operands.push_back(dag.load(static_cast<int>(k), in[k].aval.dtype, index));
  }
  const int32_t root = scalar::apply_op(op, operands, out).id;
  const auto lanes = static_cast<int>(in[0].aval.size());
  const auto leaf = [&](const scalar::Inst& inst, const uint64_t* at, std::span<uint64_t> lane) {
    for (size_t i = 0; i < lane.size(); ++i) {
      lane[i] = inst.op == scalar::Opcode::load ? bits_at(in[inst.imm], static_cast<int64_t>(at[i])) : i;
    }
  };
  return scalar::evaluate(dag, std::span(&root, 1), lanes, leaf)[0];
}

template <class T>
double as_double(uint64_t bits) {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return static_cast<double>(value);
}

// The distance in units in the last place of T; 0 where both are NaN. Results below the normal range count as 0: a
// kernel may flush them.
template <class T>
double distance(uint64_t got, uint64_t expected) {
  const double a = as_double<T>(got), b = as_double<T>(expected);
  if (a == b || (a != a && b != b)) return 0;
  constexpr bool f16_type = std::same_as<T, float16>, bf16_type = std::same_as<T, bfloat16>;
  constexpr int digits = f16_type ? 11 : bf16_type ? 8 : std::same_as<T, float> ? 24 : 53;
  constexpr int min_exponent = f16_type ? -14 : std::same_as<T, double> ? -1022 : -126;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  const int exponent = std::max(std::ilogb(std::max(std::abs(b), std::numeric_limits<double>::min())), min_exponent);
  if (std::max(std::abs(a), std::abs(b)) <= std::ldexp(1, min_exponent)) return 0;
  return std::abs(a - b) / std::ldexp(1, exponent - digits + 1);
}

class KernelColumn : public testing::TestWithParam<Op> {};

TEST_P(KernelColumn, AgreesWithTheReference) {
  const Op op = GetParam();
  const OpInfo& info = op_info(op);
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (!accepts(info.types, dtype)) continue;
    dispatch(dtype, [&]<class T>() {
      std::vector<HostValue> in = grid<T>(info.arity);
      if (info.types == TypeRule::select) {
        in[0] = evaluate(Op::not_equal, {in[0], in[1]});
      }
      const DType out = result_dtype(info.types, dtype);
      const HostValue expected = evaluate(op, in);
      const std::vector<uint64_t> got = by_kernel(op, in, out);
      double worst = 0;
      int64_t where = -1;
      for (int64_t i = 0; i < expected.aval.size(); ++i) {
        const uint64_t want = bits_at(expected, i);
        double d = got[i] == want ? 0 : std::numeric_limits<double>::infinity();
        if constexpr (kIsFloat<T>) {
          if (out == dtype) d = distance<T>(got[i], want);
        }
        if (d > worst) worst = d, where = i;
      }
      // Halves round the f32 result once more; f64 is C functions or near them; digamma cancels near its zeros.
      const double float_ulps = std::same_as<T, float> ? 4 : std::same_as<T, double> ? 32 : 1;
      const double allowed = kIsFloat<T> && out == dtype ? float_ulps : 0;
      std::string operands;
      for (const HostValue& x : in) {
        if (where >= 0) operands += fmt::format(" {:#x} ({})", bits_at(x, where), as_double<T>(bits_at(x, where)));
      }
      EXPECT_LE(worst, allowed) << info.name << " of " << neap::name(dtype) << ":" << operands << " gives "
                                << (where < 0 ? 0 : got[where]) << ", not "
                                << (where < 0 ? 0 : bits_at(expected, where));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelColumn, testing::ValuesIn(elementwise_ops().begin(), elementwise_ops().end()),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace neap::tracing
