// What SciPy answers: tests/golden/special.json, made by tools/golden_special.py, which names the calls.
#include <neap/special.h>

#include <sstream>

#include "tests/jit/golden.h"

namespace neap {
namespace {

// Row is a function, and the largest error that special.h says, in units of f32's last place: so many, and so many more
// for each unit of the result's logarithm.
struct Row {
  std::function<Array(const Arrays&)> f;
  double ulps, more = 0;
};

Row of(Array (*f)(const Operand&), double ulps) {
  return {[f](const Arrays& in) { return f(in[0]); }, ulps};
}
Row of(Array (*f)(const Operand&, const Operand&), double ulps, double more = 0) {
  return {[f](const Arrays& in) { return f(in[0], in[1]); }, ulps, more};
}

std::map<std::string, Row> rows() {
  return {
      {"i0", of(i0, 4)},
      {"i0e", of(i0e, 4)},
      {"i1", of(i1, 4)},
      {"i1e", of(i1e, 4)},
      {"gamma", of(neap::gamma, 4)},
      {"gammasgn", of(gammasgn, 0)},
      {"factorial", of(factorial, 4)},
      {"poch", of(poch, 12)},
      {"beta", of(neap::beta, 12, 1)},
      {"gammainc", of(gammainc, 6, 3)},
      {"gammaincc", of(gammaincc, 6, 3)},
      {"betainc", {[](const Arrays& in) { return betainc(in[0], in[1], in[2]); }, 8, 4}},
      {"polygamma", of(polygamma, 6)},
      {"zeta", of(zeta, 4)},
      {"log_ndtr", of(log_ndtr, 3)},
      {"ndtri", of(ndtri, 3)},
      {"expi", of(expi, 4)},
      {"exp1", of(exp1, 4)},
      {"expn", of(expn, 4)},
      {"spence", of(spence, 4)},
  };
}

void expect_within(const Array& got, const Array& expected, double relative, double more, double smallest) {
  ASSERT_EQ(got.shape(), expected.shape());
  const std::vector<double> a = got.astype(f64).to_vector<double>(), b = expected.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (got.dtype() == f32 && std::abs(b[i]) > 3.4e38) {  // which f32 does not hold
      EXPECT_EQ(a[i], std::copysign(INFINITY, b[i])) << "element " << i << " of " << b[i];
      continue;
    }
    const double size = std::max(std::abs(b[i]), smallest);
    EXPECT_LE(std::abs(a[i] - b[i]), (relative + more * std::abs(std::log(size))) * size)
        << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

TEST(GoldenSpecial, AnswersWhatScipyAnswers) {
  const json golden = read_golden("special.json");
  std::map<std::string, Array> in = inputs_of(golden);
  const std::map<std::string, Row> functions = rows();
  const auto compare = [&](const Row& row, const std::vector<std::string>& names, const Array& expected) {
    for (const DType dtype : {f32, f64}) {
      SCOPED_TRACE(name(dtype));
      Arrays arguments;
      for (const std::string& name : names) arguments.push_back(in[name].astype(dtype));
      const Array got = row.f(arguments);
      EXPECT_EQ(got.dtype(), dtype);
      if (dtype == f32)
        expect_within(got, expected, row.ulps * 0x1p-23, row.more * 0x1p-23, 0x1p-126);
      else
        expect_within(got, expected, 2e-13, row.more * 1e-14, 1e-300);
    }
  };
  for (const auto& [call, answers] : golden["calls"].items()) {
    SCOPED_TRACE(call);
    std::istringstream words(call);
    std::string function;
    words >> function;
    const std::vector<std::string> names(std::istream_iterator<std::string>(words), {});
    ASSERT_TRUE(functions.contains(function));
    compare(functions.at(function), names, array_of(answers[0]));
    const eager_reference reference;
    SCOPED_TRACE("reference");
    compare(functions.at(function), names, array_of(answers[0]));
  }
}

// Orders that are numbers of C++ take no powers while they are small.
TEST(GoldenSpecial, SmallOrdersAreThoseOfArrays) {
  for (const DType dtype : {f32, f64}) {
    const double unit = dtype == f32 ? 8 * 0x1p-23 : 1e-13;
    const Array x = array(std::vector<double>{1e-30,    1e-9, 0.1,  0.75,  1.0,  2.5,  9.0,   1e3,  1e9,   1e30,
                                              INFINITY, 0.0,  -0.0, -0.25, -2.0, -2.3, -7.75, -1e4, -1e30, double(NAN)})
                        .astype(dtype);
    const Array ones = ones_like(x);
    const auto compare = [&](Array (*f)(const Operand&, const Operand&), int n) {
      SCOPED_TRACE(n);
      const auto number = jvp([&](const Array& a) { return f(n, a); }, x, ones);
      const auto arrays = jvp([&](const Array& a) { return f(full({}, n, dtype), a); }, x, ones);
      expect_within(number.value, arrays.value.astype(f64), unit, 0, 0x1p-126);
      expect_within(number.tangent, arrays.tangent.astype(f64), 2 * unit, 0, 0x1p-126);
    };
    for (const int n : {0, 1, 4, 6}) compare(polygamma, n);
    for (const int n : {1, 2, 6}) compare(zeta, n);
  }
  EXPECT_EQ(polygamma(1, array({1, 2})).dtype(), f32);
  EXPECT_EQ(polygamma(1, array({1, 2}).astype(f16)).dtype(), f16);
  EXPECT_TRUE(isnan(polygamma(1.5, 2.0)).item<bool>());
  EXPECT_THROW(polygamma(1, array({1, 2}).astype(c64)), DTypeError);
  EXPECT_THROW(zeta(2, array({1, 2}).astype(c64)), DTypeError);
}

// Integers become f32, half types are those of f32 rounded once, scalars and shapes broadcast.
TEST(GoldenSpecial, TakesEveryDtypeAndShape) {
  const Array a = array({0.5f, 2.0f, 7.0f}), column = reshape(array({0.25f, 3.0f}), {2, 1});
  const Array wide = gammainc(a, column);
  EXPECT_EQ(wide.shape(), (Shape{2, 3}));
  EXPECT_TRUE(array_equal(gammainc(a.astype(bf16), column.astype(bf16)), wide.astype(bf16)).item<bool>());
  EXPECT_TRUE(array_equal(gammainc(a, 3.0f), wide[1]).item<bool>());
  EXPECT_TRUE(array_equal(gammainc(2.0f, column), wide[{slice(), slice(1, 2)}]).item<bool>());
  EXPECT_TRUE(array_equal(betainc(2, a, 0.5f), betainc(full({3}, 2.0f), a, full({3}, 0.5f))).item<bool>());
  EXPECT_TRUE(
      array_equal(expn(array({1, 2, 3}), 0.75f), expn(array({1.0f, 2.0f, 3.0f}), full({3}, 0.75f))).item<bool>());
  EXPECT_EQ(i0(array({1, 2})).dtype(), f32);
  EXPECT_EQ(polygamma(array({1, 2}), a[slice(2)].astype(f16)).dtype(), f16);
}

}  // namespace
}  // namespace neap
