// Fourier transforms of every kind of length against the sum that defines them, and under every transform.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace neap {
namespace {

using C = std::complex<double>;
using namespace std::complex_literals;

std::vector<C> values(const Array& x) { return x.to_vector<C>(); }

Array noise(const Shape& shape, uint64_t seed, DType dtype = c128) {
  const auto [a, b] =
      std::pair{random::normal(random::key(seed), shape, f64), random::normal(random::key(~seed), shape, f64)};
  return complex(a, b).astype(dtype);
}

// Rows of n by the definition, in f64.
std::vector<C> transformed(const std::vector<C>& x, int64_t n, double sign = -1) {
  std::vector<C> root(static_cast<size_t>(n)), result(x.size());
  for (int64_t k = 0; k < n; ++k)
    root[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(n))
    for (int64_t k = 0; k < n; ++k)
      for (int64_t j = 0; j < n; ++j) result[row + k] += x[row + j] * root[j * k % n];
  return result;
}

Array constant_of(const std::vector<C>& values, const Shape& shape) { return reshape(array(values), shape); }

// || a - b || / || b ||
double error(const std::vector<C>& a, const std::vector<C>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) difference += std::norm(a[i] - b[i]), norm += std::norm(b[i]);
  return std::sqrt(difference / norm);
}

TEST(Fft, EveryLengthIsTheSumThatDefinesIt) {
  const auto forward = jit([](const Array& x) { return fft::fft(x); });
  const auto there_and_back = jit([](const Array& x) { return fft::ifft(fft::fft(x)); });
  // Small, composed, powers, primes that are multiplied, primes that are convolved, and products with those.
  for (const int64_t n :
       {1, 2, 3, 5, 12, 37, 64, 65, 67, 96, 97, 101, 128, 210, 243, 289, 360, 509, 1000, 1024, 1018, 2310}) {
    SCOPED_TRACE(n);
    const Array x = noise({2, n}, static_cast<uint64_t>(n));
    const std::vector<C> expected = transformed(values(x), n);
    EXPECT_LE(error(values(forward(x)), expected), 2e-14);
    EXPECT_LE(error(values(there_and_back(x)), values(x)), 2e-14);
    const Array narrow = x.astype(c64);
    EXPECT_LE(error(values(forward(narrow)), transformed(values(narrow), n)), 1e-6);
  }
}

// Of even length as a transform of half of it.
TEST(Fft, OfRealsAndToReals) {
  const auto of_reals = jit([](const Array& r) { return fft::fft(r, {.norm = fft::Norm::ortho}); });
  const auto half = jit([](const Array& r) { return fft::rfft(r, {.norm = fft::Norm::ortho}); });
  const auto to_reals = jit([](const Array& z) { return real(fft::ifft(z, {.norm = fft::Norm::ortho})); });
  for (const int64_t n : {1, 2, 3, 4, 37, 64, 66, 194, 202, 1000}) {
    SCOPED_TRACE(n);
    const Array z = noise({2, n}, static_cast<uint64_t>(n)), r = real(z);
    const Array scale = full({}, 1 / std::sqrt(static_cast<double>(n)), f64);
    const Array whole = full({2, n}, 0, c128) + of_reals(r);
    EXPECT_LE(error(values(whole), values(scale * constant_of(transformed(values(r), n), {2, n}))), 2e-14);
    EXPECT_LE(error(values(half(r)), values(slice_in_dim(whole, 0, n / 2 + 1, 1))), 2e-14);
    const Array back = real(constant_of(transformed(values(z), n, 1), {2, n}));
    EXPECT_LE(error(values(to_reals(z)), values(scale * back)), 2e-14);
    const Array again = fft::irfft(half(r), {.n = n, .norm = fft::Norm::ortho});
    EXPECT_LE(error(values(again), values(r)), 2e-14);
    // <rfft x, y> = <x, its transpose y>
    const auto [y, pull] = vjp(half, r);
    const Array ct = noise(y.shape(), 7);
    const Array left = sum(real(y * ct)), right = sum(r * pull(ct));
    EXPECT_NEAR(left.item<double>(), right.item<double>(), 1e-12 * static_cast<double>(n));
  }
}

TEST(Fft, OfRealsHoldsHalfAsMuch) {
  const auto peak = [](auto f, DType dtype) { return jit(f).plan(spec({1 << 18}, dtype)).peak_bytes(); };
  const size_t whole = peak([](const Array& z) { return fft::fft(z); }, c64);
  EXPECT_LE(peak([](const Array& r) { return fft::rfft(r); }, f32), whole / 2 + whole / 50);
  EXPECT_LE(peak([](const Array& r) { return fft::irfft(fft::rfft(r)); }, f32), whole * 3 / 4);
}

TEST(Fft, ToRealsIgnoresWhatHasNoPart) {  // imaginary parts of the first and of the middle element
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const int64_t n : {4, 5, 64, 101}) {
    SCOPED_TRACE(n);
    const Array z = fft::rfft(real(noise({n}, 11)));
    const auto back = jit([=](const Array& y) { return fft::irfft(y, {.n = n}); });
    const auto with = [&](int64_t k) {
      return complex(real(z), select(iota({n / 2 + 1}, 0, i32) == k, kNan, imag(z)));
    };
    EXPECT_EQ(values(back(with(0))), values(back(z)));
    if (n % 2 == 0) EXPECT_EQ(values(back(with(n / 2))), values(back(z)));
  }
}

TEST(Fft, OfNearlyTheLargest) {
  const float most = 2e38f;
  for (const int64_t n : {2, 64}) {
    const Array x = concatenate({array({most}), zeros({n - 1}, f32)}, 0);
    EXPECT_EQ(values(fft::rfft(x)), std::vector<C>(static_cast<size_t>(n / 2 + 1), C(most)));
    const Array spectrum = concatenate({array({most}), zeros({n / 2}, f32)}, 0).astype(c64);
    EXPECT_EQ(values(fft::irfft(spectrum)), std::vector<C>(static_cast<size_t>(n), C(most / static_cast<float>(n))));
  }
}

TEST(Fft, OfSmallIntegersIsExactAtQuarters) {
  EXPECT_EQ(values(fft::fft(array({0, 1, 2, 3}))), (std::vector<C>{6, -2.0 + 2i, -2, -2.0 - 2i}));
  EXPECT_EQ(values(fft::ifft(array({0, 1, 2, 3}))), (std::vector<C>{1.5, -0.5 - 0.5i, -0.5, -0.5 + 0.5i}));
  const Array x = fft::fft(arange(8).astype(f64));
  EXPECT_EQ(values(x)[2], -4.0 + 4i);
}

TEST(Fft, LongTransformsInverted) {
  for (const int64_t n : {1 << 16, 65521, 3 * 5 * 7 * 11 * 13}) {
    SCOPED_TRACE(n);
    const Array x = noise({n}, 3, c64);
    const Array y = jit([](const Array& v) { return fft::fft(v); })(x);
    EXPECT_LE(error(values(fft::ifft(y)), values(x)), 2e-6);
    // Single outputs by the definition.
    const std::vector<C> v = values(x), got = values(y);
    for (const int64_t k : {int64_t{0}, int64_t{1}, n / 3, n - 1}) {
      C expected = 0;
      for (int64_t j = 0; j < n; ++j)
        expected +=
            v[j] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
      EXPECT_LE(std::abs(got[k] - expected), 2e-6 * std::sqrt(static_cast<double>(n)) * 4);
    }
  }
}

// Of single precision, as GPUs are tested: their f64 functions take long to compile.
TEST(Fft, NarrowOnEveryDevice) {
  for (const int64_t n : {8, 70, 97}) {
    SCOPED_TRACE(n);
    const Array x = noise({2, n}, static_cast<uint64_t>(n), c64);
    EXPECT_LE(error(values(jit([](const Array& v) { return fft::fft(v); })(x)), transformed(values(x), n)), 1e-6);
  }
  const Array image = real(noise({6, 8}, 2, c64));
  const auto there_and_back = jit([](const Array& v) { return fft::irfft2(fft::rfft2(v)); });
  EXPECT_LE(error(values(there_and_back(image)), values(image)), 1e-6);
  const auto energy = jit(grad([](const Array& v) { return sum(square(abs(fft::rfft(v)))); }));
  EXPECT_EQ(energy(image).dtype(), f32);
}

TEST(Fft, AnyAxisAndSeveral) {
  const Array x = noise({3, 4, 5}, 1);
  const auto axis = [&](int64_t a) { return moveaxis(fft::fft(moveaxis(x, a, -1)), -1, a); };
  for (const int64_t a : {0, 1, 2, -2}) EXPECT_LE(error(values(fft::fft(x, {.axis = a})), values(axis(a))), 1e-14);
  const Array all = fft::fft(fft::fft(fft::fft(x, {.axis = 0}), {.axis = 1}), {.axis = 2});
  EXPECT_LE(error(values(fft::fftn(x)), values(all)), 1e-14);
  EXPECT_LE(error(values(fft::ifftn(fft::fftn(x))), values(x)), 1e-14);
  const Array r = real(x);
  EXPECT_LE(error(values(fft::irfftn(fft::rfftn(r), {.shape = Shape{3, 4, 5}})), values(r)), 1e-14);
  EXPECT_EQ(fft::rfft(r).shape(), (Shape{3, 4, 3}));
  EXPECT_EQ(fft::rfft(r.astype(f32)).dtype(), c64);
  EXPECT_EQ(fft::irfft(x).dtype(), f64);
}

TEST(Fft, DerivativesAreTransforms) {
  const Array x = noise({2, 9}, 4), t = noise({2, 9}, 5);
  const auto f = [](const Array& v) { return fft::fft(v); };
  EXPECT_LE(error(values(jvp(f, x, t).tangent), values(f(t))), 1e-14);
  const auto [y, pull] = vjp(f, x);
  EXPECT_LE(error(values(pull(t)), values(f(t))), 1e-14);  // the matrix is symmetric
  // Parseval: the energy of the spectrum has the gradient 2 n conj(x).
  const auto energy = [&](const Array& v) { return sum(square(abs(f(v)))); };
  EXPECT_LE(error(values(jit(grad(energy))(x)), values(18 * conj(x))), 1e-14);
  const auto real_energy = [](const Array& v) { return sum(square(abs(fft::rfft(v)))); };
  const Array r = real(x);
  EXPECT_EQ(grad(real_energy)(r).dtype(), f64);
  // Second derivatives of a quadratic function are constant.
  const Array h = hessian([&](const Array& v) { return real_energy(v); })(r[0]);
  const Array direction = real(t)[0];
  const double step = 0.5;
  const Array difference = (grad(real_energy)(r[0] + step * direction) - grad(real_energy)(r[0])) / step;
  EXPECT_LE(error(values(matmul(h, direction)), values(difference)), 1e-13);
}

TEST(Fft, MapsScansAndBranches) {
  const Array x = noise({3, 4, 6}, 6);
  const auto one = [](const Array& v) { return fft::fft(v, {.axis = 0}) * 2i; };
  const Array mapped = jit(vmap(one))(x);
  for (int64_t i = 0; i < 3; ++i) EXPECT_LE(error(values(mapped[i]), values(one(x[i]))), 1e-14);
  const auto twice = vmap(vmap([](const Array& v) { return fft::rfft(real(v)); }));
  EXPECT_LE(error(values(twice(x)), values(fft::rfft(real(x)))), 1e-14);
  const auto steps = jit([](const Array& v) {
    return fori_loop(0, 3, [](const Array&, const Array& y) { return fft::fft(y, {.norm = fft::Norm::ortho}); }, v);
  });
  const Array flipped = roll(flip(x, 2), 1, 2);  // two transforms reverse, three are one of that
  EXPECT_LE(error(values(steps(x)), values(fft::fft(flipped, {.norm = fft::Norm::ortho}))), 1e-14);
}

TEST(Fft, ConvolvesAndFilters) {
  const Array x = real(noise({50}, 7)), w = real(noise({8}, 8));
  const auto by_fft = jit([](const Array& a, const Array& b) {
    const int64_t n = a.size() + b.size() - 1;
    return fft::irfft(fft::rfft(a, {.n = n}) * fft::rfft(b, {.n = n}), {.n = n});
  });
  EXPECT_LE(error(values(by_fft(x, w)), values(convolve(x, w))), 1e-14);
}

TEST(Fft, RunsUnderABudget) {
  const auto f = [](const Array& x) { return sum(square(abs(fft::fft(x)))); };
  const auto free = jit(f);
  const Array x = noise({64, 1024}, 9, c64);
  const Plan plan = free.plan(spec(x.shape(), c64));
  const auto tight = jit(f, {.memory_budget = plan.peak_bytes() - (plan.peak_bytes() - x.bytes()) / 2});
  EXPECT_NEAR(tight(x).item<float>() / free(x).item<float>(), 1, 1e-5);
  EXPECT_LE(tight.last_plan().peak_bytes(), plan.peak_bytes() - (plan.peak_bytes() - x.bytes()) / 2);
}

TEST(Fft, RefusesWhatItCannotDo) {
  const Array z = noise({3, 4}, 10);
  EXPECT_THROW(fft::rfft(z), DTypeError);
  EXPECT_THROW(fft::fft(z, {.n = 0}), ShapeError);
  EXPECT_THROW(fft::fft(z, {.axis = 2}), IndexError);
  EXPECT_THROW(fft::fft(array(1.0)), IndexError);
  EXPECT_THROW(fft::fft2(z[0]), IndexError);
  EXPECT_THROW(fft::fftn(z, {.shape = Shape{2}, .axes = Shape{0, 1}}), ShapeError);
  EXPECT_THROW(fft::fftn(z, {.axes = Shape{0, -2}}), ShapeError);
  EXPECT_THROW(fft::irfft(z[{slice(), slice(1)}]), ShapeError);
  EXPECT_THROW(fft::fftfreq(0), ShapeError);
}

}  // namespace
}  // namespace neap
