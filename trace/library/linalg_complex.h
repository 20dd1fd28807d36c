// Factorizations and systems of complex matrices. Systems and Cholesky factors are those of real matrices with two rows
// and columns for each complex one; the others reduce by Householder's reflections, in a loop, to what is triangular,
// or to a real matrix whose factors are known.
#pragma once

#include <neap/linalg.h>

namespace neap::tracing::complex_matrices {

/// Returns the lower triangular L with L L^H = (a + a^H) / 2, of batches.
Array cholesky(const Array& a);
/// Solves a x = b for b [..., n, k], of batches that broadcast.
Array solve(const Array& a, const Array& b, bool positive);
/// Solves t x = b (t^T x = b) for b [..., n, k], of equal batches.
Array triangular_solve(const Array& t, const Array& b, bool lower, bool transposed, bool unit);

linalg::Lu lu(const Array& a);
linalg::Qr qr(const Array& a, bool full);
linalg::Eigh eigh(const Array& a);
linalg::Svd svd(const Array& a, bool full);
linalg::Slogdet slogdet(const Array& a);
Array det(const Array& a);

/// HessenbergForm is a = q h q^H of one matrix, q unitary, h zero below its first subdiagonal, which is real.
struct HessenbergForm {
  Array q, h;
};
HessenbergForm hessenberg(const Array& a);

/// SchurForm is a = z t z^H of one matrix, z unitary, t upper triangular (linalg_schur.cpp).
struct SchurForm {
  Array t, z;
};
SchurForm schur(const Array& a);
linalg::Eig eig(const Array& a);
/// Returns the principal square root of one matrix.
Array sqrtm(const Array& a);

}  // namespace neap::tracing::complex_matrices
