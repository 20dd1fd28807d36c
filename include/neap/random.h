// Random numbers: pure functions of (key, element index). The same seed draws the same numbers as JAX's default
// generator (threefry2x32): bits, integers and uniforms exactly, normals within about 1e-5 (ours are closer to the true
// quantile). A key is u32[2] of threefry, u32[4] of philox; an array of keys u32[..., 2 or 4] is a batch, and draws row
// by row what each key alone draws. docs/random.md says which word of which block an element is.
#pragma once

#include <neap/array.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::random {

using Loc = std::source_location;

/// The generators are threefry2x32-20, JAX's default, and philox4x32-10, which is faster (docs/random.md). Keys say
/// which they are of, and all functions take both.
enum class Generator : uint8_t { threefry, philox };

/// Returns the key of a 64-bit seed.
Array key(uint64_t seed, Loc loc = Loc::current());
Array key(uint64_t seed, Generator generator, Loc loc = Loc::current());
/// Returns the keys of seeds in an array of integers [batch...], one for each: [batch..., 2 or 4]. The seed may be
/// traced, and is the one that a C++ number of that value is (a negative one is 2^64 more).
Array key(const Array& seed, Generator generator = Generator::threefry, Loc loc = Loc::current());
/// Returns new independent keys [batch..., shape..., 2 or 4].
Array split(const Operand& key, const Shape& shape);
Array split(const Operand& key, int64_t count = 2);
/// Returns a new key made from a key and a number (a u32; the low word of an integer).
Array fold_in(const Operand& key, const Operand& data);

/// Draws uniform bits: u8, u16, u32 or u64.
Array bits(const Operand& key, const Shape& shape, DType dtype = u32);
/// Draws uniformly from [low, high); bounds may be arrays that broadcast to shape. dtype is floating; bf16 and f16 are
/// f32 numbers rounded once. exact_jax: JAX's bits, which draws bf16 from 8 random bits and f16 from 16 (128 distinct
/// bf16 numbers).
Array uniform(const Operand& key, const Shape& shape, DType dtype = f32, const Operand& low = 0.0f,
              const Operand& high = 1.0f, bool exact_jax = false);
/// Draws from the standard normal distribution. dtype is floating; bf16 and f16 are f32 normals rounded once, or with
/// exact_jax made of such uniforms.
Array normal(const Operand& key, const Shape& shape, DType dtype = f32, bool exact_jax = false);
/// Draws integers from [low, high) by JAX's two draws and span rule. Empty ranges give low.
Array randint(const Operand& key, const Shape& shape, const Operand& low, const Operand& high, DType dtype = i32);
/// Returns true with probability p (an array broadcasts). Throws UserError for a scalar p outside [0, 1].
Array bernoulli(const Operand& key, const Operand& p, std::optional<Shape> shape = {});
/// Draws from the standard normal distribution between low and high, which broadcast to shape.
Array truncated_normal(const Operand& key, const Operand& low, const Operand& high, const Shape& shape,
                       DType dtype = f32);
/// Draws from the exponential distribution of mean 1.
Array exponential(const Operand& key, const Shape& shape, DType dtype = f32);
/// Draws from the standard Gumbel distribution, -log(-log(u)) of a uniform u.
Array gumbel(const Operand& key, const Shape& shape, DType dtype = f32);
/// Draws from the Laplace distribution of mean 0 and scale 1.
Array laplace(const Operand& key, const Shape& shape, DType dtype = f32);
/// Draws from the logistic distribution of mean 0 and scale 1.
Array logistic(const Operand& key, const Shape& shape, DType dtype = f32);
/// Draws from the Cauchy distribution of median 0 and scale 1.
Array cauchy(const Operand& key, const Shape& shape, DType dtype = f32);
/// Draws exp(sigma * normal); shape is that of sigma unless given.
Array lognormal(const Operand& key, const Operand& sigma = 1.0f, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws -1 or 1, each with probability 1/2.
Array rademacher(const Operand& key, const Shape& shape, DType dtype = i32);
/// Draws indices from softmax(logits) along axis; the noise is never stored. shape is that of logits without axis
/// unless given.
Array categorical(const Operand& key, const Operand& logits, int64_t axis = -1, std::optional<Shape> shape = {});

/// Draws gamma numbers of shape parameter a > 0 and scale 1; shape is a's unless given. The derivative in a is that of
/// the sample at a fixed probability (implicit reparametrisation). loggamma returns their logarithms, which do not
/// underflow.
Array gamma(const Operand& key, const Operand& a, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws the logarithms of gamma numbers, which do not underflow.
Array loggamma(const Operand& key, const Operand& a, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws from (0, 1), with density proportional to x^(a - 1) (1 - x)^(b - 1).
Array beta(const Operand& key, const Operand& a, const Operand& b, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws points [shape..., n] whose coordinates add up to 1; alpha is [..., n], shape is alpha's leading axes unless
/// given.
Array dirichlet(const Operand& key, const Operand& alpha, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws from Student's t distribution of df > 0 degrees of freedom; shape is that of df unless given.
Array student_t(const Operand& key, const Operand& df, std::optional<Shape> shape = {}, DType dtype = f32);
/// Draws from the chi-squared distribution of df > 0 degrees of freedom; shape is that of df unless given.
Array chi_squared(const Operand& key, const Operand& df, std::optional<Shape> shape = {}, DType dtype = f32);
/// Counts random arrivals where `mean` are expected. It has no derivative; shape is the mean's unless given.
Array poisson(const Operand& key, const Operand& mean, std::optional<Shape> shape = {}, DType dtype = i32);
/// Counts successes among `count` trials of probability p, as floats; NaN where an array holds what is out of range.
Array binomial(const Operand& key, const Operand& count, const Operand& p, std::optional<Shape> shape = {},
               DType dtype = f32);

/// Returns the numbers 0 to n - 1 in random order, i32 [batch of keys..., n].
Array permutation(const Operand& key, int64_t n);
/// Returns x with the slices along axis in random order.
Array permutation(const Operand& key, const Array& x, int64_t axis = 0);
/// Draws indices below n (i32) with or without replacement; p [n] are their probabilities, equal unless given.
Array choice(const Operand& key, int64_t n, const Shape& shape = {}, bool replace = true,
             const std::optional<Array>& p = {});
/// Draws slices of x along axis: the result has shape x.shape[:axis] + shape + x.shape[axis + 1:].
Array choice(const Operand& key, const Array& x, const Shape& shape = {}, bool replace = true,
             const std::optional<Array>& p = {}, int64_t axis = 0);

/// CovarianceMethod says how a covariance becomes F F^T. cholesky is the fastest and gives NaN where the covariance is
/// not positive definite; svd and eigh take singular ones, eigh gives NaN where rounding makes an eigenvalue negative.
/// No method promises the signs of eigenvectors: these two draw other numbers than JAX, of the same distribution.
enum class CovarianceMethod : uint8_t { cholesky, eigh, svd };

/// Draws mean + F normal, F F^T = covariance; mean is [..., n], covariance [..., n, n], of which the batches broadcast
/// to `shape` (unless given: to what they broadcast to). The result is shape + [n].
Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance,
                          std::optional<Shape> shape = {}, std::optional<DType> dtype = {},
                          CovarianceMethod method = CovarianceMethod::cholesky);
/// Draws matrices [n, m] with orthonormal rows or columns, uniformly among all of them; m is n unless given.
Array orthogonal(const Operand& key, int64_t n, const Shape& shape = {}, DType dtype = f32,
                 std::optional<int64_t> m = {});

}  // namespace neap::random

#pragma GCC visibility pop
