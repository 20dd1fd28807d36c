// Dense factorizations of batches of matrices: they compute the ops of family `factor` for the reference interpreter
// and the CPU backend alike. Products inside them run through Eigen's packed kernel; all of it is
// compiled for each instruction set (core/isa.h).
//
// All work space is given by the caller and its size depends on shapes alone; so does how a matrix is cut into strips,
// which threads share: the bits depend neither on the number of threads nor on the batch around a matrix, and nothing
// is allocated. Matrices are row-major, one behind the other. Tested in tests/core/factor_test.cpp.
#pragma once

#include <neap/dtype.h>

#include <cstddef>
#include <cstdint>

#include "core/size.h"

namespace neap::factor {

/// Kind says what a matrix a [m, n] becomes. A result of several parts is one flat list of elements, part behind part;
/// k is the smaller of m and n.
enum class Kind : uint8_t {
  cholesky,  // L [n, n], lower triangular, a = L L^T, of the lower triangle of a. NaN where a is not positive definite
  cholesky_tangent,    // the tangent of L [n, n] where a is that of the matrix, of the lower triangles of L and a
  cholesky_cotangent,  // the cotangent of the lower triangle of the matrix [n, n] where a is that of L, of the lower
                       // triangles of L and a. packed: a is L with its cotangent, transposed, above the diagonal
  solve,               // X [m, n], op(t) X = a, t [m, m] triangular: its other triangle is not read
  lu,    // L and U [m, n] (the diagonal is U's), then the row that each of k rows was swapped with, then the
         // permutation [m]: row i of L U is row permutation[i] of a
  qr,    // Q [m, k], then R [k, n]; full: Q [m, m], R [m, n]. Signs as LAPACK's
  eigh,  // eigenvalues [n], ascending, then eigenvectors [n, n] in columns; of the lower triangle of a
  svd,   // singular values [k], descending, then U [m, k], then V^T [k, n]; full: U [m, m], V^T [n, n]
};

struct Form {
  Kind kind = Kind::cholesky;
  DType dtype = DType::f32;  // or f64
  int64_t batch = 1, m = 0, n = 0;
  bool lower = true;        // solve: t is lower triangular
  bool transposed = false;  // solve: op(t) is t^T
  bool unit = false;        // solve: the diagonal of t is taken as ones
  bool full = false;        // qr, svd
  bool vectors = true;      // eigh, svd: else the values alone
  bool packed = false;      // cholesky_cotangent
  bool one_factor = false;  // cholesky_tangent, cholesky_cotangent: L is the same for the whole batch
  bool operator==(const Form&) const = default;
};

/// The vectors of eigh and svd of so many rows (and columns) and more are made by divide and conquer, in a work space
/// of about twice the matrix where that is large; those of fewer by rotations.
inline constexpr int64_t kDividedRows = 64;

/// Returns how many elements the result for one matrix has. Throws InternalError where they exceed int64.
int64_t result_size(const Form& form);
/// Returns the same for a form that nobody has checked.
Size packed_size(const Form& form);
/// Returns roughly how many floating-point operations one matrix takes.
double flops(const Form& form);

/// Returns the size of the groups in which right-hand sides of a triangular system of m rows are computed: as part of
/// another system they keep their bits when they are whole groups, or the last ones, if these are not a single one.
int64_t columns_together(int64_t m);

/// Layout describes the work space, cut into as many slots as matrices are in flight at most.
struct Layout {
  int slots = 1;
  int strips = 1;            // of one matrix, in flight at most
  size_t work_bytes = 0;     // of a slot, without packing
  size_t packing_bytes = 0;  // of a strip
  size_t slot_bytes() const { return work_bytes + static_cast<size_t>(strips) * packing_bytes; }
  size_t bytes() const { return static_cast<size_t>(slots) * slot_bytes(); }
};
Layout layout(const Form& form);

/// Computes out = the factors of each a. `triangle` is the t of Kind::solve, the L of the derivatives of cholesky (if
/// packed, the diagonal [n] of the cotangent of L), else unused. For all these kinds, out may be a. `scratch` has
/// layout(form).bytes(), aligned to 64.
void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch);

}  // namespace neap::factor
