// Random numbers: pure functions of (key, element index). The same seed draws the same numbers as JAX's default
// generator (threefry2x32): bits, integers and uniforms exactly, normals within about 1e-5 (ours are closer to the true
// quantile). A key is u32[2] of threefry, u32[4] of philox; an array of keys u32[..., 2 or 4] is a batch, and draws row
// by row what each key alone draws. docs/random.md says which word of which block an element is.
#pragma once

#include <neap/array.h>

namespace neap::random {

using Loc = std::source_location;

/// threefry2x32-20, JAX's default, or philox4x32-10, which is faster (docs/random.md). Keys say which they are of, and
/// all functions take both.
enum class Generator : uint8_t { threefry, philox };

/// The key of a 64-bit seed.
Array key(uint64_t seed, Loc loc = Loc::current());
Array key(uint64_t seed, Generator generator, Loc loc = Loc::current());
/// New independent keys [batch..., shape..., 2 or 4].
Array split(const Operand& key, const Shape& shape);
Array split(const Operand& key, int64_t count = 2);
/// A new key from a key and a number (a u32; the low word of an integer).
Array fold_in(const Operand& key, const Operand& data);

/// Uniform bits: u8, u16, u32 or u64.
Array bits(const Operand& key, const Shape& shape, DType dtype = u32);
/// Uniform in [low, high); bounds may be arrays that broadcast to shape. Floating dtypes; bf16 and f16 are f32 numbers
/// rounded once. exact_jax: JAX's bits, which draws bf16 from 8 random bits and f16 from 16 (128 distinct bf16
/// numbers).
Array uniform(const Operand& key, const Shape& shape, DType dtype = f32, const Operand& low = 0.0f,
              const Operand& high = 1.0f, bool exact_jax = false);
/// Standard normal. Floating dtypes; bf16 and f16 are f32 normals rounded once, or with exact_jax made of such
/// uniforms.
Array normal(const Operand& key, const Shape& shape, DType dtype = f32, bool exact_jax = false);
/// Integers in [low, high); JAX's two draws and span rule. Empty ranges give low.
Array randint(const Operand& key, const Shape& shape, const Operand& low, const Operand& high, DType dtype = i32);
/// True with probability p (an array broadcasts). UserError for a scalar p outside [0, 1].
Array bernoulli(const Operand& key, const Operand& p, std::optional<Shape> shape = {});
Array truncated_normal(const Operand& key, const Operand& low, const Operand& high, const Shape& shape,
                       DType dtype = f32);
Array exponential(const Operand& key, const Shape& shape, DType dtype = f32);
Array gumbel(const Operand& key, const Shape& shape, DType dtype = f32);
Array laplace(const Operand& key, const Shape& shape, DType dtype = f32);
Array logistic(const Operand& key, const Shape& shape, DType dtype = f32);
Array cauchy(const Operand& key, const Shape& shape, DType dtype = f32);
Array rademacher(const Operand& key, const Shape& shape, DType dtype = i32);
/// Index drawn from softmax(logits) along axis; the noise is never stored. shape: logits without axis unless given.
Array categorical(const Operand& key, const Operand& logits, int64_t axis = -1, std::optional<Shape> shape = {});

/// Gamma numbers of shape parameter a > 0 and scale 1. shape: a's unless given. The derivative in a is that of the
/// sample at a fixed probability (implicit reparametrisation). loggamma: their logarithms, which do not underflow.
Array gamma(const Operand& key, const Operand& a, std::optional<Shape> shape = {}, DType dtype = f32);
Array loggamma(const Operand& key, const Operand& a, std::optional<Shape> shape = {}, DType dtype = f32);
/// In (0, 1), with density x^(a - 1) (1 - x)^(b - 1).
Array beta(const Operand& key, const Operand& a, const Operand& b, std::optional<Shape> shape = {}, DType dtype = f32);
/// Points [shape..., n] whose coordinates add up to 1; alpha [..., n], shape: alpha's leading axes unless given.
Array dirichlet(const Operand& key, const Operand& alpha, std::optional<Shape> shape = {}, DType dtype = f32);
Array student_t(const Operand& key, const Operand& df, std::optional<Shape> shape = {}, DType dtype = f32);
Array chi_squared(const Operand& key, const Operand& df, std::optional<Shape> shape = {}, DType dtype = f32);
/// Arrivals where `mean` are expected. No derivative. shape: the mean's unless given.
Array poisson(const Operand& key, const Operand& mean, std::optional<Shape> shape = {}, DType dtype = i32);
/// Successes among `count` trials of probability p, as floats; NaN where an array holds what is out of range.
Array binomial(const Operand& key, const Operand& count, const Operand& p, std::optional<Shape> shape = {},
               DType dtype = f32);

/// The numbers 0 to n - 1 in random order, i32 [batch of keys..., n].
Array permutation(const Operand& key, int64_t n);
/// x with the slices along axis in random order.
Array permutation(const Operand& key, const Array& x, int64_t axis = 0);
/// Indices below n (i32), drawn with or without replacement; p [n] are their probabilities, equal unless given.
Array choice(const Operand& key, int64_t n, const Shape& shape = {}, bool replace = true,
             const std::optional<Array>& p = {});
/// Slices of x along axis: shape x.shape[:axis] + shape + x.shape[axis + 1:].
Array choice(const Operand& key, const Array& x, const Shape& shape = {}, bool replace = true,
             const std::optional<Array>& p = {}, int64_t axis = 0);

/// How a covariance becomes F F^T. cholesky is the fastest and gives NaN where the covariance is not positive definite;
/// svd and eigh take singular ones, eigh gives NaN where rounding makes an eigenvalue negative. The signs of
/// eigenvectors are no one's promise: these two draw other numbers than JAX, of the same distribution.
enum class CovarianceMethod : uint8_t { cholesky, eigh, svd };

/// mean + F normal, F F^T = covariance; mean [..., n], covariance [..., n, n], of which the batches broadcast to
/// `shape` (unless given: to what they broadcast to). The result is shape + [n].
Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance,
                          std::optional<Shape> shape = {}, std::optional<DType> dtype = {},
                          CovarianceMethod method = CovarianceMethod::cholesky);
/// Matrices [n, m] with orthonormal rows or columns, of all of them uniformly; m: n unless given.
Array orthogonal(const Operand& key, int64_t n, const Shape& shape = {}, DType dtype = f32,
                 std::optional<int64_t> m = {});

}  // namespace neap::random
