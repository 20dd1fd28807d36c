// Special functions, with jax.scipy.special's names, arguments and edge values. (erf, erfc, erf_inv, lgamma and digamma
// are in ops.h; logit, xlogy, entr, betaln, ndtr and their kin in numpy.h.)
//
// All are elementwise and broadcast; integers become f32, half types are computed in f32 and rounded once. Values are
// compared with SciPy's: tests/golden/special.json. "To 4 ulp" is the largest error found there and by tests, in units
// in the last place of f32; in f64 functions are right to about 1e-13. Each has derivatives of every order in every
// argument, unless it says otherwise. All are straight lines without loops, so that they fuse with what is around them.
#pragma once

#include <neap/ops.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

// --- Bessel functions
/// Returns the modified Bessel function of order 0, I0(x).
Array i0(const Operand& x);
/// Returns exp(-|x|) I0(x), which does not overflow.
Array i0e(const Operand& x);
/// Returns the modified Bessel function of order 1, I1(x).
Array i1(const Operand& x);
/// Returns exp(-|x|) I1(x), which does not overflow.
Array i1e(const Operand& x);

}  // namespace neap

#pragma GCC visibility pop
