// Complex numbers: values against std::complex, derivatives by JAX's conventions, every transform, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <functional>
#include <numbers>

#include "tests/message.h"

namespace neap {
namespace {

using C = std::complex<double>;
using testing::HasSubstr;
using namespace std::complex_literals;

std::vector<C> values(const Array& x) { return x.to_vector<C>(); }

// Numbers in the four quadrants, none of them near 0.
Array sample(const Shape& shape, DType dtype = c128, double phase = 0.3) {
  std::vector<C> z(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < z.size(); ++i) {
    const auto t = static_cast<double>(i);
    z[i] = std::polar(0.6 + 0.9 * std::abs(std::sin(1.7 * t + phase)), 2.4 * t + phase);
  }
  return array(z, shape).astype(dtype);
}

void expect_close(const Array& got, const Array& expected, double tolerance) {
  ASSERT_EQ(got.aval(), expected.aval());
  const std::vector<C> a = values(got), b = values(expected);
  double largest = 1e-300;
  for (const C& v : b) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(std::abs(a[i] - b[i]), tolerance * largest) << "element " << i << ": " << a[i] << ", " << b[i];
}

double tolerance(DType dtype) { return dtype == c64 || dtype == f32 ? 2e-6 : 1e-13; }

using Function = std::function<Array(const Array&)>;

struct Named {
  const char* name;
  Function f;
  std::function<C(C)> expected;
};

std::vector<Named> functions() {
  return {
      {"negative", [](const Array& z) { return -z; }, [](C z) { return -z; }},
      {"square", [](const Array& z) { return square(z); }, [](C z) { return z * z; }},
      {"reciprocal", [](const Array& z) { return reciprocal(z); }, [](C z) { return 1.0 / z; }},
      {"exp", [](const Array& z) { return exp(z); }, [](C z) { return std::exp(z); }},
      {"expm1", [](const Array& z) { return expm1(z); }, [](C z) { return std::exp(z) - 1.0; }},
      {"log", [](const Array& z) { return log(z); }, [](C z) { return std::log(z); }},
      {"log1p", [](const Array& z) { return log1p(z); }, [](C z) { return std::log(1.0 + z); }},
      {"log2", [](const Array& z) { return log2(z); }, [](C z) { return std::log(z) / std::numbers::ln2; }},
      {"log10", [](const Array& z) { return log10(z); }, [](C z) { return std::log10(z); }},
      {"exp2", [](const Array& z) { return exp2(z); }, [](C z) { return std::pow(2.0, z); }},
      {"sqrt", [](const Array& z) { return sqrt(z); }, [](C z) { return std::sqrt(z); }},
      {"rsqrt", [](const Array& z) { return rsqrt(z); }, [](C z) { return 1.0 / std::sqrt(z); }},
      {"sin", [](const Array& z) { return sin(z); }, [](C z) { return std::sin(z); }},
      {"cos", [](const Array& z) { return cos(z); }, [](C z) { return std::cos(z); }},
      {"tan", [](const Array& z) { return tan(z); }, [](C z) { return std::tan(z); }},
      {"sinh", [](const Array& z) { return sinh(z); }, [](C z) { return std::sinh(z); }},
      {"cosh", [](const Array& z) { return cosh(z); }, [](C z) { return std::cosh(z); }},
      {"tanh", [](const Array& z) { return tanh(z); }, [](C z) { return std::tanh(z); }},
      {"asin", [](const Array& z) { return asin(z); }, [](C z) { return std::asin(z); }},
      {"acos", [](const Array& z) { return acos(z); }, [](C z) { return std::acos(z); }},
      {"atan", [](const Array& z) { return atan(z); }, [](C z) { return std::atan(z); }},
      {"asinh", [](const Array& z) { return asinh(z); }, [](C z) { return std::asinh(z); }},
      {"acosh", [](const Array& z) { return acosh(z); }, [](C z) { return std::acosh(z); }},
      {"atanh", [](const Array& z) { return atanh(z); }, [](C z) { return std::atanh(z); }},
      {"sigmoid", [](const Array& z) { return sigmoid(z); }, [](C z) { return 1.0 / (1.0 + std::exp(-z)); }},
      {"power 3", [](const Array& z) { return power(z, 3); }, [](C z) { return z * z * z; }},
      {"power 0.5", [](const Array& z) { return power(z, 0.5); }, [](C z) { return std::sqrt(z); }},
      {"pow", [](const Array& z) { return pow(z, 1.0 - z); }, [](C z) { return std::pow(z, 1.0 - z); }},
      {"over", [](const Array& z) { return (1i + z) / (z - 3); }, [](C z) { return (1i + z) / (z - 3.0); }},
      {"times", [](const Array& z) { return z * (2.0 + 3i * z); }, [](C z) { return z * (2.0 + 3i * z); }},
  };
}

TEST(Complex, FunctionsAreThoseOfTheStandardLibrary) {
  for (const DType dtype : {c64, c128}) {
    const Array z = sample({40}, dtype);
    for (const Named& named : functions()) {
      SCOPED_TRACE(named.name);
      std::vector<C> expected;
      for (const C& x : values(z)) expected.push_back(named.expected(x));
      const Array wanted = array(expected).astype(dtype);
      expect_close(named.f(z), wanted, tolerance(dtype));
      expect_close(jit(named.f)(z), wanted, tolerance(dtype));
      const eager_reference reference;
      expect_close(named.f(z), wanted, tolerance(dtype));
    }
  }
}

// A holomorphic function has one derivative in every direction, which transposition gives as well.
TEST(Complex, HolomorphicFunctionsHaveOneDerivative) {
  const Array z = sample({5}), t = sample({5}, c128, 1.1);
  const double h = 1e-6;
  for (const Named& named : functions()) {
    SCOPED_TRACE(named.name);
    const auto [value, tangent] = jvp(named.f, z, t);
    const Array difference = (named.f(z + h * t) - named.f(z - h * t)) / (2 * h);
    expect_close(tangent, difference, 1e-7);
    const auto [again, pull] = vjp(named.f, z);
    expect_close(pull(t), tangent, 1e-12);
  }
}

TEST(Complex, PartsAndWhatIsMadeOfThem) {
  const Array z = array(std::vector<std::complex<float>>{{3, 4}, {-1, 0}, {0, 0}, {0, -2}});
  EXPECT_EQ(z.dtype(), c64);
  EXPECT_EQ(real(z).dtype(), f32);
  EXPECT_EQ(real(z).to_vector<float>(), (std::vector<float>{3, -1, 0, 0}));
  EXPECT_EQ(imag(z).to_vector<float>(), (std::vector<float>{4, 0, 0, -2}));
  EXPECT_EQ(values(conj(z)), (std::vector<C>{{3, -4}, {-1, -0.0}, {0, 0}, {0, 2}}));
  EXPECT_EQ(abs(z).to_vector<float>(), (std::vector<float>{5, 1, 0, 2}));
  EXPECT_FLOAT_EQ(angle(z).to_vector<float>()[1], std::numbers::pi_v<float>);
  EXPECT_EQ(values(sign(z)), (std::vector<C>{{0.6f, 0.8f}, {-1, 0}, {0, 0}, {0, -1}}));
  EXPECT_EQ(values(complex(array({1.0f, 2.0f}), array({3, 4}))), (std::vector<C>{{1, 3}, {2, 4}}));
  EXPECT_EQ(complex(array(1.0), 2).dtype(), c128);
  const Array x = array({1.0f, 2.0f});
  EXPECT_EQ(real(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(imag(x).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(conj(x).dtype(), f32);
  EXPECT_EQ((z == conj(z)).to_vector<bool>(), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ((z != 0).to_vector<bool>(), (std::vector<bool>{true, true, false, true}));
  const Array odd = array(std::vector<C>{{NAN, 0}, {0, INFINITY}, {1, 1}});
  EXPECT_EQ(isnan(odd).to_vector<bool>(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(isinf(odd).to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(isfinite(odd).to_vector<bool>(), (std::vector<bool>{false, false, true}));
}

TEST(Complex, DtypesPromoteAsJaxs) {
  const Array z = zeros({2}, c64);
  EXPECT_EQ((z + zeros({2}, f64)).dtype(), c128);
  EXPECT_EQ((z + zeros({2}, i64)).dtype(), c64);
  EXPECT_EQ((z + 1.0).dtype(), c64);
  EXPECT_EQ((z + 1i).dtype(), c64);
  EXPECT_EQ((zeros({2}, f64) + 1i).dtype(), c128);
  EXPECT_EQ((zeros({2}, bf16) * 1i).dtype(), c64);
  EXPECT_EQ(values(arange(3) * 1i), (std::vector<C>{0, 1i, 2i}));
  EXPECT_EQ(array(C(1, 2)).dtype(), c128);
  EXPECT_EQ(array(C(1, 2)).item<C>(), C(1, 2));
  EXPECT_EQ(values(full({2}, 1.0 + 2i)), (std::vector<C>{{1, 2}, {1, 2}}));
  EXPECT_EQ(full({2}, 1.0 + 2i).dtype(), c64);
  EXPECT_EQ(mean(z).dtype(), c64);
  EXPECT_EQ(var(z).dtype(), f32);
}

TEST(Complex, ConvertsAsJaxDoes) {
  const Array z = array(std::vector<C>{{1.5, 2}, {0, 3}, {0, 0}});
  EXPECT_EQ(z.astype(f32).to_vector<float>(), (std::vector<float>{1.5, 0, 0}));
  EXPECT_EQ(z.astype(i32).to_vector<int>(), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(z.astype(bool_).to_vector<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(values(array({1, 2}).astype(c64)), (std::vector<C>{1, 2}));
  EXPECT_EQ(values(z.astype(c64).astype(c128)), values(z));
}

// Sums and products of many elements, moves, reads and writes: as of the parts.
TEST(Complex, MovesAndAddsUp) {
  const Array z = sample({3, 4}), w = sample({4, 2}, c128, 0.9);
  const std::vector<C> a = values(z), b = values(w);
  std::vector<C> product(6);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k) product[i * 2 + j] += a[i * 4 + k] * b[k * 2 + j];
  C sum_of = 0, prod_of = 1;
  for (const C& x : a) sum_of += x, prod_of *= x;
  const auto check = [&] {
    expect_close(matmul(z, w), array(product, Shape{3, 2}), 1e-14);
    expect_close(einsum("ij,jk->ik", {z, w}), array(product, Shape{3, 2}), 1e-14);
    expect_close(sum(z), array(sum_of), 1e-14);
    expect_close(prod(z), array(prod_of), 1e-13);
    expect_close(prod(z, 1, true), prod(transpose(z), 0)[{slice(), newaxis}], 1e-13);
    expect_close(mean(z), array(sum_of / 12.0), 1e-14);
    expect_close(var(z), mean(square(abs(z - mean(z)))), 1e-13);
    expect_close(cumsum(z, 1)[{slice(), -1}], sum(z, 1), 1e-13);
    const Array c = cov(z);
    expect_close(corrcoef(z)[{0, 1}], c[{0, 1}] / sqrt(real(c[{0, 0}] * c[{1, 1}])), 1e-13);
    expect_close(vdot(z, z), sum(square(abs(z))).astype(c128), 1e-13);
    EXPECT_EQ(values(transpose(z)[{1, slice()}]), (std::vector<C>{a[1], a[5], a[9]}));
    EXPECT_EQ(values(z[{array({2, 0}), 1}]), (std::vector<C>{a[9], a[1]}));
    EXPECT_EQ(values(z.at({0, slice(2)}).add(1i)[{0}]), (std::vector<C>{a[0] + 1i, a[1] + 1i, a[2], a[3]}));
    EXPECT_EQ(values(z.at(1).set(2.0)[{1, slice(1)}]), (std::vector<C>{2}));
    EXPECT_EQ(values(where(real(z) > 0, z, 0)[{0, slice(1)}]), (std::vector<C>{a[0].real() > 0 ? a[0] : 0}));
    EXPECT_EQ(values(concatenate({z[0], conj(z)[0]}))[4], std::conj(a[0]));
    EXPECT_EQ(values(pad(z, {0, 1}, {0, 0}, 1i)[0])[0], 1i);
  };
  check();
  const eager_reference reference;
  check();
}

// JAX: grad of a real function of z = x + i y is df/dx - i df/dy.
TEST(Complex, GradientsAreConjugated) {
  const auto gradient = [](const Function& f, C z) { return grad(f)(array(z)).item<C>(); };
  const auto near = [](C a, C b) { EXPECT_LE(std::abs(a - b), 1e-12) << a << " " << b; };
  const C z(0.8, -1.7);
  near(gradient([](const Array& x) { return real(x); }, z), 1);
  near(gradient([](const Array& x) { return imag(x); }, z), -1i);
  near(gradient([](const Array& x) { return square(abs(x)); }, z), 2.0 * std::conj(z));
  near(gradient([](const Array& x) { return abs(x); }, z), std::conj(z) / std::abs(z));
  near(gradient([](const Array& x) { return abs(x); }, 0), 0);
  near(gradient([](const Array& x) { return real(x * x); }, z), 2.0 * z);
  near(gradient([](const Array& x) { return real(conj(x) * exp(x)); }, z),
       std::conj(z) * std::exp(z) + std::exp(std::conj(z)));
  near(gradient([](const Array& x) { return angle(x); }, z), -1i / z);
  // A real argument has a real gradient, whatever is between.
  const Array g = grad([](const Array& x) { return real(exp(1i * x)); })(array(0.5));
  EXPECT_EQ(g.dtype(), f64);
  EXPECT_NEAR(g.item<double>(), -std::sin(0.5), 1e-15);
}

TEST(Complex, HolomorphicDerivatives) {
  const Array z = array(C(0.8, -1.7));
  const auto f = [](const Array& x) { return exp(x * 2i); };
  expect_close(grad(f, holomorphic)(z), 2i * f(z), 1e-14);
  const Array v = sample({3});
  const Function g = [](const Array& x) { return x * x + sum(x) * 1i; };
  const Array expected = 2.0 * v * eye(3, {}, c128) + 1i;
  expect_close(jacrev(g, holomorphic)(v), expected, 1e-14);
  expect_close(jacfwd(g, holomorphic)(v), expected, 1e-14);
  const Array x = array({0.1, 0.2});
  expect_close(jacfwd([](const Array& t) { return exp(1i * t); })(x), 1i * exp(1i * x) * eye(2, {}, c128), 1e-14);
  const Array j = jacrev([](const Array& t) { return imag(t); })(v);
  expect_close(j, -1i * eye(3, {}, c128), 1e-14);
  EXPECT_THROW(jacfwd(g)(v), DTypeError);
  EXPECT_THROW(jacrev(g)(v), DTypeError);
  EXPECT_THROW(grad(f, holomorphic)(array(1.0)), DTypeError);
}

// f of real and imaginary parts, by differences: any real function, through every rule.
void expect_gradient(const std::function<Array(const Array&)>& f, const Array& z) {
  const Array g = grad(f)(z);
  ASSERT_EQ(g.aval(), z.aval());
  expect_close(jit(grad(f))(z), g, 1e-13);
  const double h = 1e-6;
  const std::vector<C> at = values(z), got = values(g);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto along = [&](C step) {
      std::vector<C> moved = at;
      moved[i] += step;
      return f(array(moved, z.shape())).item<double>();
    };
    const double dx = (along(h) - along(-h)) / (2 * h), dy = (along(h * 1i) - along(-h * 1i)) / (2 * h);
    EXPECT_LE(std::abs(got[i] - C(dx, -dy)), 2e-8 * (1 + std::abs(got[i]))) << i << " " << got[i] << C(dx, -dy);
  }
}

TEST(Complex, GradientsAgreeWithDifferences) {
  const Array z = sample({3, 3}), w = sample({3, 3}, c128, 2.2);
  const auto energy = [](const Array& y) { return sum(square(real(y)) + 0.3 * imag(y) * real(y)); };
  const std::vector<std::pair<const char*, Function>> programs{
      {"matmul", [&](const Array& x) { return energy(matmul(x, w) + matmul(w, conj(x))); }},
      {"prod", [&](const Array& x) { return energy(prod(x, 1)); }},
      {"gather", [&](const Array& x) { return energy(x[array({2, 0, 2})] * w); }},
      {"update", [&](const Array& x) { return energy(w.at(array({1, 1})).add(x[slice(2)]) * x); }},
      {"set", [&](const Array& x) { return energy(w.at(1).set(x[0] * 2i) * w); }},
      {"move", [&](const Array& x) { return energy(flip(transpose(x), 0) * pad(x, {1, 0}, {-1, 0}, x[{0, 0}])); }},
      {"where", [&](const Array& x) { return energy(where(real(w) > 0, x / w, exp(x))); }},
      {"reductions", [&](const Array& x) { return var(x) + energy(cumsum(x, 0)) + real(mean(x * x)); }},
      {"parts", [&](const Array& x) { return energy(complex(imag(x) * real(x), abs(x)) * sqrt(x)); }},
      {"scan",
       [&](const Array& x) {
         const auto step = [](const Array& carry, const Array& row) {
           const Array next = carry * row + 0.1i;
           return std::pair{next, abs(next)};
         };
         const auto [last, rows] = scan(step, ones({3}, c128), x);
         return energy(last) + sum(rows);
       }},
      {"cond",
       [&](const Array& x) {
         return energy(cond(
             real(x[{0, 0}]) > 0, [](const Array& y) { return y * y; }, [](const Array& y) { return conj(y); }, x));
       }},
      {"checkpoint", [&](const Array& x) { return energy(checkpoint([](const Array& y) { return exp(sin(y)); })(x)); }},
  };
  for (const auto& [name, f] : programs) {
    SCOPED_TRACE(name);
    expect_gradient(f, z);
  }
}

TEST(Complex, MapsOverBatches) {
  const Array z = sample({4, 3, 3}), w = sample({3}, c128, 0.2);
  const auto f = [&](const Array& x) { return matmul(x, w) / (1.0 + abs(x[0])) + sqrt(x)[{slice(), 1}]; };
  const Array batched = jit(vmap(f))(z);
  for (int64_t i = 0; i < 4; ++i) expect_close(batched[i], f(z[i]), 1e-13);
  const auto g = [&](const Array& x) { return real(sum(f(x) * f(x))); };
  const Array gradients = jit(vmap(grad(g)))(z);
  for (int64_t i = 0; i < 4; ++i) expect_close(gradients[i], grad(g)(z[i]), 1e-12);
  // Batches of a loop's carry and of a branch's operands.
  const auto loop = [](const Array& x) {
    return fori_loop(0, 3, [&](const Array&, const Array& y) { return y * x; }, x);
  };
  expect_close(vmap(loop)(sample({5})), power(sample({5}), 4), 1e-13);
}

TEST(Complex, GoesThroughRulesAndLoopsOfEveryKind) {
  const Array z = sample({4}), w = sample({4}, c128, 0.7);
  const auto product = [](const Array& x, const Array& y) { return x * y; };
  const auto jvp_rule = [](const Array& x, const Array& y, const Array& s, const Array& t) { return s * y + x * t; };
  const auto by_jvp = custom_jvp(product, jvp_rule);
  const auto by_vjp = custom_vjp(
      product, [](const Array& x, const Array& y) { return std::pair{x * y, std::tuple{x, y}}; },
      [](const std::tuple<Array, Array>& kept, const Array& ct) {
        return std::tuple{ct * std::get<1>(kept), ct * std::get<0>(kept)};
      });
  const auto energy = [](const Array& y) { return sum(square(abs(y)) + imag(y)); };
  const Array expected = grad([&](const Array& x) { return energy(x * w); })(z);
  expect_close(jit(grad([&](const Array& x) { return energy(by_jvp(x, w)); }))(z), expected, 1e-14);
  expect_close(jit(grad([&](const Array& x) { return energy(by_vjp(x, w)); }))(z), expected, 1e-14);

  // Until all are far away: a batch of trip counts.
  const auto escape = [](const Array& c) {
    const auto [last, count] =
        while_loop([](const std::pair<Array, Array>& s) { return (abs(s.first) < 2.0) & (s.second < 50); },
                   [&](const std::pair<Array, Array>& s) { return std::pair{s.first * s.first + c, s.second + 1}; },
                   std::pair{zeros_like(c), array(0)});
    return std::pair{last, count};
  };
  const auto [last, counts] = jit(vmap(escape))(z);
  for (int64_t i = 0; i < 4; ++i) {
    C v = 0;
    int n = 0;
    const C c = values(z)[i];
    for (; std::abs(v) < 2 && n < 50; ++n) v = v * v + c;
    EXPECT_EQ(counts[i].item<int>(), n);
    expect_close(last[i], array(v), 1e-12);
  }

  const auto products = [](const Array& x) { return associative_scan(multiply, x); };
  expect_close(jit(products)(z), cumprod(z, 0), 1e-14);
  const auto donating = jit([](const Array& x) { return x * 2i; }, {.donate = {0}});
  const Array doubled = z * 2i;
  expect_close(donating(z + 0), doubled, 1e-15);
  const auto [value, linear] = linearize([](const Array& x) { return exp(x) * x; }, z);
  expect_close(linear(w), jvp([](const Array& x) { return exp(x) * x; }, z, w).tangent, 1e-14);
  // Branches by example.
  const auto branch = [](const Array& x) {
    return cond(real(x) > 0, [](const Array& y) { return y * 1i; }, [](const Array& y) { return conj(y); }, x);
  };
  expect_close(jit(vmap(branch))(z), where(real(z) > 0, z * 1i, conj(z)), 1e-15);
}

TEST(Complex, ProgramsKeepTheirPeak) {
  const auto f = jit([](const Array& z) { return z * 2.0 + 1i; });
  const int64_t n = 1 << 16;
  const Plan plan = f.plan(spec({n}, c64));
  EXPECT_EQ(plan.peak_bytes(), 2 * 8 * static_cast<size_t>(n));  // the argument and the result: nothing in between
  const auto g = jit([](const Array& z, const Array& w) { return sum(z * conj(w)); });
  EXPECT_LE(g.plan(spec({n}, c64), spec({n}, c64)).peak_bytes(), 2 * 8 * static_cast<size_t>(n) + (1 << 14));
  const Array z = sample({n}, c64);
  EXPECT_EQ(f(z).aval(), z.aval());
}

TEST(Complex, PrintsAndWrites) {
  const Array z = sample({2, 3}, c64);
  const auto path = std::filesystem::temp_directory_path() / "neap_complex_test.npy";
  save_npy(path, z);
  const Array back = load_npy(path);
  EXPECT_EQ(back.aval(), z.aval());
  EXPECT_EQ(values(back), values(z));
  std::filesystem::remove(path);
}

TEST(Complex, RefusesWhatHasNoOrder) {
  const Array z = sample({3, 3}, c64);
  EXPECT_THAT(message_of<DTypeError>([&] { (void)(z < z); }), HasSubstr("less: c64[3,3]; expected a real dtype"));
  EXPECT_THAT(message_of<DTypeError>([&] { max(z); }), HasSubstr("abs(), real() or imag()"));
  EXPECT_THROW(sort(z), DTypeError);
  EXPECT_THROW(argmax(z), DTypeError);
  EXPECT_THROW(floor(z), DTypeError);
  EXPECT_THROW(erf(z), DTypeError);
  EXPECT_THROW(atan2(z, z), DTypeError);
  EXPECT_THROW(z & z, DTypeError);
  EXPECT_THROW(bitcast(z, f64), DTypeError);
  EXPECT_THROW(iota({3}, 0, c64), DTypeError);
  EXPECT_THROW(random::normal(random::key(1), {3}, c64), DTypeError);
  EXPECT_THROW(one_hot(z[0], 3), DTypeError);
  EXPECT_THROW(random::gamma(random::key(1), z[0]), DTypeError);
  EXPECT_THROW(complex(z, z), DTypeError);
  EXPECT_THROW(z.at(0).max(z[0]), DTypeError);
  EXPECT_THROW(z[0].to_vector<float>(), DTypeError);
  EXPECT_THROW(sum(z).item<double>(), DTypeError);
  EXPECT_THROW(full({2}, 1i, f32), DTypeError);
  EXPECT_THAT(message_of<DTypeError>([&] { grad([](const Array& x) { return sum(x); })(z); }),
              HasSubstr("holomorphic"));
}

}  // namespace
}  // namespace neap
