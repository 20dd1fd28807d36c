// Linear algebra: jax.numpy.linalg and what is used of jax.scipy.linalg, under their names and with their definitions.
//
// Matrices are the last two axes; axes before them are a batch. Everything has derivatives of any order, but where a
// factor is not determined (the additional columns of a full Q, U or V). f32 and f64, and complex numbers of these, of
// which the transposes of factors below are then conjugated (not those that triangular_solve() and lu_solve() are asked
// for); half types are computed in f32 and rounded once, integers become f32. On a
// GPU the host computes the factorizations (docs/devices.md). Complex matrices are reduced in a loop, one column at a
// time: of 512 x 512 a few times the time of a real one. Values are compared with JAX's: tests/golden/linalg.json.
#pragma once

#include <neap/ops.h>

#include <limits>
#include <variant>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::linalg {

// --- factorizations
/// Returns the lower triangular L with L L^T = (a + a^T) / 2; `upper`: its transpose. It is NaN where that matrix is
/// not positive definite. Without symmetrize_input the matrix is that of a's lower triangle (of the upper one where
/// `upper`), and the other one is not read.
Array cholesky(const Operand& a, bool upper = false, bool symmetrize_input = true);

/// Lu holds, in lu, L (its ones left out) and U in one matrix. Row i of L U is row permutation[i] of a; step i swapped
/// rows i and pivots[i]. Both are i32.
struct Lu {
  Array lu, pivots, permutation;
};
/// Factors a by Gaussian elimination, with the largest element of each column as its pivot.
Lu lu(const Operand& a);

/// Qr holds the factors of qr().
struct Qr {
  Array q, r;
};
/// QrMode says how many columns q has: as many as needed, or a square matrix.
enum class QrMode : uint8_t { reduced, complete };
/// Factors a = q r, q orthogonal, r upper triangular, with LAPACK's signs. a is [m, n]; reduced: q [m, k], r [k, n], k
/// the smaller of m and n; complete: q [m, m], r [m, n].
Qr qr(const Operand& a, QrMode mode = QrMode::reduced);

/// Eigh holds eigenvalues, ascending, and eigenvectors, in columns.
struct Eigh {
  Array eigenvalues, eigenvectors;  // ascending; in columns
};
/// Returns the eigenvalues and eigenvectors of (a + a^T) / 2. Without symmetrize_input the matrix is that of a's lower
/// triangle (`lower` false: of its upper one), and the other one is not read.
Eigh eigh(const Operand& a, bool lower = true, bool symmetrize_input = true);
/// Returns the eigenvalues of the same matrix alone, ascending.
Array eigvalsh(const Operand& a, bool lower = true, bool symmetrize_input = true);

/// Eig holds eigenvalues, in no order, and eigenvectors, in columns; both are complex.
struct Eig {
  Array eigenvalues, eigenvectors;
};
/// Returns the eigenvalues and eigenvectors of any square matrix: c64 of f32, c128 of f64. Vectors have length 1, and
/// their largest element is real. Where eigenvalues are equal there may be fewer vectors than that: some are then
/// alike. Derivatives are those of distinct eigenvalues; vectors keep their length and turn as little as they can.
Eig eig(const Operand& a);
/// Returns the eigenvalues of any square matrix alone, in no order.
Array eigvals(const Operand& a);

/// Schur holds the factors of a = z t z^H: z is unitary, t upper triangular with the eigenvalues on its diagonal.
struct Schur {
  Array t, z;
};
/// Returns the complex Schur form of a square matrix (jax.scipy.linalg.schur with output="complex"), of real ones too.
/// It has no derivative (UserError in reverse mode).
Schur schur(const Operand& a);

/// Svd holds the factors of a = u diag(s) vh; s descends.
struct Svd {
  Array u, s, vh;  // a = u diag(s) vh; s descending
};
/// Factors a = u diag(s) vh: u is [m, k], vh [k, n], k the smaller of m and n; full_matrices: [m, m], [n, n].
Svd svd(const Operand& a, bool full_matrices = true);
/// Returns the singular values alone, descending.
Array svdvals(const Operand& a);

// --- systems of equations
/// TriangularOptions say which system triangular_solve() solves.
struct TriangularOptions {
  bool left_side = true;       // t x = b, else x t = b
  bool lower = false;          // which triangle is read
  bool transpose_a = false;    // of t^T
  bool unit_diagonal = false;  // with ones on the diagonal, which is not read
};
/// Solves t x = b (right side: x t = b) for batches of equal shape; b is [..., n, k] (right side: [..., k, n]).
Array triangular_solve(const Operand& t, const Operand& b, TriangularOptions options = {});
/// Returns x with a x = b. b is a vector [n] or matrices [..., n, k]; batches broadcast. `positive`: a is symmetric
/// positive definite, which takes half the time.
Array solve(const Operand& a, const Operand& b, bool positive = false);
/// Returns the same from the factor that cholesky(a) returns (lower = false: from its upper one).
Array cho_solve(const Operand& factor, const Operand& b, bool lower = true);
/// Returns the same from lu(a) of one square matrix; transposed: a^T x = b.
Array lu_solve(const Lu& factors, const Operand& b, bool transposed = false);
/// Solves a x = b of a tridiagonal a by elimination with row exchanges: its diagonals d [..., m], dl below it (dl[0] is
/// not read), du above it (du[m - 1] is not read); b is [..., m, n] (ShapeError). Real numbers. Infinities or NaN where
/// a is singular. It takes about 5 m arrays of the batch's size for work.
Array tridiagonal_solve(const Operand& dl, const Operand& d, const Operand& du, const Operand& b);
/// Returns the inverse; of what is singular: infinities or NaN.
Array inv(const Operand& a);
/// Returns the pseudo-inverse. Singular values up to rtol * the largest count as zero; rtol is 10 * max(m, n) * epsilon
/// unless given.
Array pinv(const Operand& a, std::optional<double> rtol = {});

/// Lstsq holds the solution, the sums of the squares of a x - b of each column, the rank, and the singular values.
struct Lstsq {
  Array x, residuals, rank, s;  // residuals: sums of squares, of each column
};
/// Returns the x of least norm among those with the least |a x - b|; a is [m, n], b [m] or [m, k]. Singular values
/// below rcond * the largest count as zero; rcond is epsilon * max(m, n) unless given.
Lstsq lstsq(const Operand& a, const Operand& b, std::optional<double> rcond = {});

// --- numbers
/// Returns the determinant. Its first two derivatives are right where a is real and singular, too (second: of rank n -
/// 1).
Array det(const Operand& a);
/// Slogdet holds the sign and the logarithm of the absolute value of a determinant.
struct Slogdet {
  Array sign, logabsdet;
};
/// Returns the sign of the determinant and the logarithm of its absolute value: 0 and -inf where it is 0.
Slogdet slogdet(const Operand& a);
/// Counts the singular values above rtol * the largest; rtol is max(m, n) * epsilon unless given.
Array matrix_rank(const Operand& a, std::optional<double> rtol = {});

/// Norm names a norm of matrices: the root of the sum of squares, or the sum of singular values.
enum class Norm : uint8_t { frobenius, nuclear };
/// NormOrder is the order of a norm: a number (infinities too), or the name of one of matrices.
using NormOrder = std::variant<double, Norm>;
inline constexpr double inf = std::numeric_limits<double>::infinity();  // the order of the largest, for norm()
/// Returns norms. Of vectors along one axis: sum(|x|^order)^(1/order), 0: how many are not zero. Of matrices in two
/// axes: 1 and inf (columns, rows), 2 (the largest singular value), their negatives (the smallest), or a Norm. No axes:
/// all of a vector or a matrix. No order: of all elements, the root of the sum of squares.
Array norm(const Operand& x, std::optional<NormOrder> order = {}, std::optional<Shape> axes = {},
           bool keepdims = false);

// --- powers
/// Multiplies a matrix by itself, n times; n negative: its inverse.
Array matrix_power(const Operand& a, int64_t n);
/// Returns the exponential of a matrix, by Pade approximants and squaring (Higham, 2005); NaN where its 1-norm is above
/// 350,000, as JAX's, in f32 and c64 above 250,000.
Array expm(const Operand& a);
/// Returns the matrix with these matrices along its diagonal, zeros elsewhere; vectors are rows, scalars [1, 1]. It is
/// jax.scipy.linalg's; of none [1, 0].
Array block_diag(const std::vector<Array>& blocks, std::source_location loc = std::source_location::current());
/// Returns the principal square root of a square matrix, by its Schur form: complex, of real matrices too (as JAX's).
/// It has derivatives, where no two eigenvalues' roots add up to 0. Source: Bjorck and Hammarling (1983).
Array sqrtm(const Operand& a);
/// Returns a with its last two axes exchanged.
Array matrix_transpose(const Operand& a);

}  // namespace neap::linalg

#pragma GCC visibility pop
