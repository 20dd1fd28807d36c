// What JAX answers of complex numbers and Fourier transforms: tests/golden/complex.json and fft.json, made by
// tools/golden_complex.py, which names the calls.
#include <complex>

#include "tests/jit/golden.h"

namespace neap {
namespace {

using C = std::complex<double>;
using namespace std::complex_literals;

// Relative to the element, or where terms cancel to a part of the largest one.
void expect_near_complex(const Array& got, const Array& expected) {
  ASSERT_EQ(got.aval(), expected.aval());
  const std::vector<C> a = got.to_vector<C>(), b = expected.to_vector<C>();
  double largest = 0;
  for (const C& v : b)
    if (std::isfinite(std::abs(v)) && std::abs(v) < 1e100) largest = std::max(largest, std::abs(v));
  const double tolerance = real_dtype(got.dtype()) == f32 ? 2e-6 : 2e-14;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(std::abs(a[i])) && std::isnan(std::abs(b[i])))) continue;
    EXPECT_LE(std::abs(a[i] - b[i]), tolerance * std::max(std::abs(b[i]), largest / 2))
        << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

using Function = std::function<Array(const Array&)>;

void add_complex(Calls& calls, std::map<std::string, Array>& in) {
  const std::vector<std::pair<const char*, Array (*)(const Operand&)>> unary{{"negative", negative},
                                                                             {"conj", conj},
                                                                             {"abs", abs},
                                                                             {"angle", angle},
                                                                             {"real", real},
                                                                             {"imag", imag},
                                                                             {"sign", sign},
                                                                             {"exp", exp},
                                                                             {"exp2", exp2},
                                                                             {"expm1", expm1},
                                                                             {"arcsin", asin},
                                                                             {"arccos", acos},
                                                                             {"arctan", atan},
                                                                             {"arcsinh", asinh},
                                                                             {"arccosh", acosh},
                                                                             {"arctanh", atanh},
                                                                             {"log", log},
                                                                             {"log2", log2},
                                                                             {"log10", log10},
                                                                             {"log1p", log1p},
                                                                             {"sqrt", sqrt},
                                                                             {"square", square},
                                                                             {"reciprocal", reciprocal},
                                                                             {"sin", sin},
                                                                             {"cos", cos},
                                                                             {"tan", tan},
                                                                             {"sinh", sinh},
                                                                             {"cosh", cosh},
                                                                             {"tanh", tanh}};
  for (const auto& [name, f] : unary) calls[name] = [&in, f] { return Arrays{f(in["z"]), f(in["narrow"])}; };
  calls["odd"] = [&] {
    const Array odd = in["odd"], some = odd[slice(1, 8)];
    return Arrays{abs(odd), sqrt(odd), angle(odd), some / flip(some), log(odd[slice(1, end)])};
  };
  calls["sigmoid"] = [&] { return Arrays{sigmoid(in["z"])}; };
  calls["arithmetic"] = [&] {
    const Array z = in["z"], w = in["w"], x = in["x"];
    return Arrays{z + w,  z - x,       z * w,        z / w,         x / z,       2 * z,
                  z + 1i, power(z, 2), power(z, -3), power(z, 0.5), power(x, w), power(z, w)};
  };
  calls["compare"] = [&] {
    const Array z = in["z"], odd = in["odd"];
    return Arrays{z == in["w"], z != z, z == in["x"], isnan(z), isfinite(odd), isinf(odd)};
  };
  calls["casts"] = [&] {
    const Array z = in["z"];
    return Arrays{z.astype(f32), z.astype(c64), in["x"].astype(c128), z.astype(bool_)};
  };
  calls["lax.complex"] = [&] { return Arrays{complex(in["x"], flip(in["x"])), complex(array(1.0f), array(2.0f))}; };
  calls["reductions"] = [&] {
    const Array cube = in["cube"], matrix = in["matrix"], odd = in["odd"];
    return Arrays{sum(cube),      sum(cube, 1), prod(matrix), prod(cube, {0, 2}), mean(cube, 0), var(in["z"]),
                  std(matrix, 1), any(odd),     all(odd)};
  };
  calls["norms"] = [&] {
    const Array z = in["z"], w = in["w"][slice(4)], matrix = in["matrix"];
    return Arrays{linalg::norm(z),
                  linalg::norm(matrix),
                  linalg::norm(matrix, 1.0),
                  linalg::norm(z, 3.0),
                  nansum(in["odd"] * NAN),
                  nanvar(z),
                  cov(matrix),
                  correlate(z, w),
                  convolve(z, w),
                  round(z, 1),
                  nan_to_num(z + where(iota({17}, 0) == 0, array(double(NAN)), 0)),
                  isclose(z, z + 1e-9)};
  };
  calls["cumulative"] = [&] { return Arrays{cumsum(in["matrix"], 1), cumprod(in["matrix"], 0)}; };
  calls["products"] = [&] {
    const Array z = in["z"], w = in["w"], square = in["square"], cube = in["cube"];
    return Arrays{
        matmul(square, in["matrix"]), dot(z, w), vdot(z, w), outer(z, in["x"]), einsum("ijk,kl->jil", {cube, square}),
        tensordot(cube, square, 1)};
  };
  calls["indexing"] = [&] {
    const Array z = in["z"], w = in["w"], matrix = in["matrix"];
    return Arrays{z[array({3, -1, 3})],
                  z.at(array({1, 1})).add(w[slice(2)]),
                  z.at(2).set(5i),
                  roll(z, 3),
                  where(in["x"] > 0, z, w),
                  flip(matrix, 0),
                  take_along_axis(matrix, array({{1}, {0}, {4}, {2}}), 1)};
  };
}

void add_complex_derivatives(Calls& calls, std::map<std::string, Array>& in) {
  const auto gradient = [&](const char* name, const char* at, const Function& f) {
    calls[std::string("grad ") + name] = [&in, at, f] { return Arrays{grad(f)(in[at])}; };
  };
  gradient("abs", "z", [](const Array& v) { return sum(abs(v)); });
  gradient("abs2", "z", [](const Array& v) { return sum(power(abs(v), 2)); });
  gradient("real", "z", [&](const Array& v) { return sum(real(v * v * in["w"])); });
  gradient("imag", "z", [](const Array& v) { return sum(imag(exp(v))); });
  gradient("angle", "z", [](const Array& v) { return sum(angle(v)); });
  gradient("conj", "z", [&](const Array& v) { return real(vdot(v, in["w"] * v)); });
  gradient("quotient", "z", [&](const Array& v) { return sum(real(in["w"] / v) + imag(sqrt(v)) + real(log(v))); });
  gradient("trigonometric", "z", [](const Array& v) { return sum(real(sin(v) * cosh(v) - tanh(v))); });
  gradient("power", "z", [&](const Array& v) { return sum(real(power(v, 3) + power(v, in["w"]))); });
  gradient("real argument", "x", [](const Array& v) { return sum(abs(exp(1i * v) + v)); });
  gradient("matmul", "matrix", [&](const Array& v) { return sum(power(abs(matmul(in["square"], v)), 2)); });
  calls["grad prod"] = [&] { return Arrays{grad([](const Array& v) { return real(prod(v)); })(in["matrix"][0])}; };
  calls["grad holomorphic"] = [&] {
    return Arrays{grad([](const Array& v) { return exp(v) * v; }, holomorphic)(in["z"][0])};
  };
  calls["jacfwd"] = [&] { return Arrays{jacfwd([](const Array& v) { return exp(1i * v) * v; })(in["x"][slice(3)])}; };
  calls["jacrev"] = [&] { return Arrays{jacrev([](const Array& v) { return abs(v); })(in["z"][slice(3)])}; };
  calls["jacobian holomorphic"] = [&] {
    const auto f = [](const Array& v) { return v * sum(v); };
    const Array z = in["z"][slice(3)];
    return Arrays{jacfwd(f, holomorphic)(z), jacrev(f, holomorphic)(z)};
  };
  calls["vjp"] = [&] {
    const auto [value, pull] = vjp([&](const Array& v) { return v * in["w"]; }, in["z"]);
    return Arrays{value, pull(in["w"])};
  };
  calls["jvp"] = [&] {
    const auto [value, tangent] = jvp([&](const Array& v) { return sqrt(v) * in["w"]; }, in["z"], in["w"]);
    return Arrays{value, tangent};
  };
}

TEST(GoldenComplex, AnswersAsJax) {
  const json golden = read_golden("complex.json");
  std::map<std::string, Array> in = inputs_of(golden);
  Calls calls;
  add_complex(calls, in);
  add_complex_derivatives(calls, in);
  expect_answers(golden, calls, expect_near_complex);
}

using fft::ManyOptions;
using fft::Norm;
using fft::Options;

void add_fft(Calls& calls, std::map<std::string, Array>& in) {
  using One = Array (*)(const Operand&, const Options&);
  using Many = Array (*)(const Operand&, const ManyOptions&);
  for (const auto& [name, f] : {std::pair<std::string, One>("fft", fft::fft), {"ifft", fft::ifft}}) {
    calls[name] = [&in, f] {
      Arrays all;
      for (const char* x : {"z", "x", "prime", "large prime", "long", "power", "narrow", "integers"})
        all.push_back(f(in[x], {}));
      return all;
    };
    calls[name + " options"] = [&in, f] {
      const Array z = in["z"];
      return Arrays{f(z, {.n = 8}),
                    f(z, {.n = 20}),
                    f(z, {.axis = 0}),
                    f(z, {.n = 5, .axis = 0}),
                    f(z, {.norm = Norm::ortho}),
                    f(z, {.norm = Norm::forward})};
    };
  }
  calls["rfft"] = [&] { return Arrays{fft::rfft(in["x"]), fft::rfft(in["odd"]), fft::rfft(in["picture"])}; };
  calls["rfft options"] = [&] {
    const Array x = in["x"];
    return Arrays{fft::rfft(x, {.n = 7}), fft::rfft(x, {.n = 16}), fft::rfft(x, {.axis = 0}),
                  fft::rfft(x, {.norm = Norm::ortho}), fft::rfft(x, {.norm = Norm::forward})};
  };
  calls["irfft"] = [&] { return Arrays{fft::irfft(in["z"]), fft::irfft(in["prime"]), fft::irfft(in["image"])}; };
  calls["irfft options"] = [&] {
    const Array z = in["z"];
    return Arrays{fft::irfft(z, {.n = 7}),
                  fft::irfft(z, {.n = 16}),
                  fft::irfft(z, {.n = 40}),
                  fft::irfft(z, {.axis = 0}),
                  fft::irfft(z, {.n = 13, .norm = Norm::ortho}),
                  fft::irfft(z, {.norm = Norm::forward})};
  };
  for (const auto& [name, f, x] :
       {std::tuple<std::string, One, const char*>("hfft", fft::hfft, "z"), {"ihfft", fft::ihfft, "x"}}) {
    calls[name] = [&in, f, x] {
      return Arrays{f(in[x], {}), f(in[x], {.n = 9}), f(in[x], {.norm = Norm::ortho}),
                    f(in[x], {.norm = Norm::forward})};
    };
  }
  for (const auto& [name, f] : {std::pair<std::string, Many>("fft2", fft::fft2),
                                {"ifft2", fft::ifft2},
                                {"fftn", fft::fftn},
                                {"ifftn", fft::ifftn}}) {
    calls[name] = [&in, f] {
      const Array image = in["image"];
      return Arrays{f(image, {}), f(image, {.shape = Shape{4, 12}}), f(image, {.axes = Shape{0, 1}}),
                    f(image, {.norm = Norm::ortho}), f(in["picture"], {.norm = Norm::forward})};
    };
  }
  for (const auto& [name, f, x] : {std::tuple<std::string, Many, const char*>("rfft2", fft::rfft2, "picture"),
                                   {"rfftn", fft::rfftn, "picture"},
                                   {"irfft2", fft::irfft2, "image"},
                                   {"irfftn", fft::irfftn, "image"}}) {
    calls[name] = [&in, f, x] {
      return Arrays{f(in[x], {}), f(in[x], {.shape = Shape{4, 9}}), f(in[x], {.axes = Shape{2, 1}}),
                    f(in[x], {.norm = Norm::ortho})};
    };
  }
  calls["fftfreq"] = [&] {
    return Arrays{fft::fftfreq(8, 1, f64), fft::fftfreq(9, 0.5, f64), fft::rfftfreq(8, 1, f64),
                  fft::rfftfreq(9, 0.5, f64)};
  };
  calls["fftshift"] = [&] {
    return Arrays{fft::fftshift(in["z"]), fft::fftshift(in["picture"], 1), fft::ifftshift(in["z"]),
                  fft::ifftshift(in["picture"], {1, 2})};
  };
  const auto gradient = [&](const char* name, const char* at, const Function& f) {
    calls[std::string("grad ") + name] = [&in, at, f] { return Arrays{grad(f)(in[at])}; };
  };
  gradient("fft", "z", [](const Array& v) { return sum(power(abs(fft::fft(v)), 3)); });
  gradient("rfft", "x", [](const Array& v) { return sum(power(abs(fft::rfft(v)), 3)); });
  gradient("irfft", "z", [](const Array& v) { return sum(power(fft::irfft(v), 3)); });
  gradient("ifft", "z", [&](const Array& v) { return sum(real(fft::ifft(v * in["prime"][slice(12)]) * v)); });
  gradient("fft2", "image", [](const Array& v) { return sum(abs(fft::fft2(v))); });
  calls["jvp fft"] = [&] {
    const Array z = in["z"];
    const auto [value, tangent] = jvp([](const Array& v) { return fft::fft(v) * v; }, z, z * 1i);
    return Arrays{value, tangent};
  };
}

TEST(GoldenComplex, FourierTransformsAreJaxs) {
  const json golden = read_golden("fft.json");
  std::map<std::string, Array> in = inputs_of(golden);
  Calls calls;
  add_fft(calls, in);
  expect_answers(golden, calls, expect_near_complex);
}

}  // namespace
}  // namespace neap
