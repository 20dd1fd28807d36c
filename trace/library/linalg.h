// What linear algebra and its derivatives share: nodes of family factor, and functions that take their results apart.
#pragma once

#include <neap/linalg.h>
#include <neap/numpy.h>

#include "trace/tracing/tracing.h"

namespace neap::tracing {

/// Returns the matrices with the last two axes swapped.
inline Array turned(const Array& a) { return swapaxes(a, -1, -2); }
/// Does the same with complex conjugates.
inline Array adjoint(const Array& a) { return conj(turned(a)); }
/// Returns the shape of the batch of matrices.
inline Shape batch_of(const Array& a) { return Shape(a.shape().begin(), a.shape().end() - 2); }

/// Parts takes the parts of a result apart, first to last.
class Parts {
 public:
  explicit Parts(Array packed) : packed_(std::move(packed)) {}
  Array next(const Shape& of_one) {
    Shape shape(packed_.shape().begin(), packed_.shape().end() - 1);
    const int64_t begin = at_;
    at_ += element_count(of_one);
    shape.insert(shape.end(), of_one.begin(), of_one.end());
    return reshape(slice_in_dim(packed_, begin, at_, packed_.ndim() - 1), shape);
  }

 private:
  Array packed_;
  int64_t at_ = 0;
};
/// Joins parts again, each with the axes of its own that it is given with, one behind the other.
Array joined_parts(const std::vector<std::pair<Array, int64_t>>& parts);

/// TriangularForm describes t in t x = b, or (right) x t = b; t [..., n, n] is lower or upper triangular.
struct TriangularForm {
  bool lower = true, transposed = false, unit = false;
};
Array solve_left(const Array& t, const Array& b, TriangularForm form);
Array solve_right(const Array& t, const Array& b, TriangularForm form);

struct LuParts {
  Array both, pivots, permutation;  // the last two as the node gives them: of the matrix's dtype
};
LuParts lu_parts(const Array& a, const Array& packed);
struct QrParts {
  Array q, r;
};
QrParts qr_parts(const Array& a, const Array& packed, bool full);
struct EighParts {
  Array values, vectors;
};
EighParts eigh_parts(const Array& a, const Array& packed);
struct SvdParts {
  Array u, s, vt;
};
SvdParts svd_parts(const Array& a, const Array& packed, bool full);

/// Returns the rows of x [..., m, n] in the order of `permutation` [..., m], integers.
Array rows_in_order(const Array& x, const Array& permutation);

}  // namespace neap::tracing
