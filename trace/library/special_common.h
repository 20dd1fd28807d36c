// What the special functions share.
#pragma once

#include <neap/array.h>

#include <functional>
#include <string>

#include "trace/library/special_tables.h"
#include "trace/ops/ops_common.h"

namespace neap::tracing {

/// Returns f of the operands, broadcast, in the floating dtype that they promote to: computed in wide(), rounded once,
/// as one executable outside a trace. The key is composite()'s.
Array in_floats(const std::string& key, std::initializer_list<const Operand*> operands,
                const std::function<Array(const Arrays&)>& f);

/// Does the same, as the function of this name: DTypeError for complex numbers, ShapeError where shapes do not
/// broadcast.
Array of_reals(const std::string& name, std::initializer_list<const Operand*> operands,
               const std::function<Array(const Arrays&)>& f);
Array of_reals(const std::string& name, const Operand& x, const std::function<Array(const Array&)>& f);

/// Returns the sum of a Chebyshev series (Clenshaw), to the precision of the dtype.
Array chebyshev(const Chebyshev& table, const Array& x);

/// Returns the sum of c[k] x^k by Horner's rule.
Array horner(const Array& x, std::span<const double> c);

/// Returns log(x / y) of positive numbers. Near 1 the quotient would lose digits of its distance from 1, and it may be
/// out of range.
Array log_ratio(const Array& x, const Array& y);

/// Returns x * log(x / y) - x + y of positive numbers, which near x = y would be a difference of equals.
Array divergence(const Array& x, const Array& y);

/// Returns log(gamma(x)) less Stirling's (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 10.
Array stirling_rest(const Array& x);

/// Returns the logarithm of the beta function.
Array log_beta(const Array& x, const Array& y);
/// Does the same for 10 <= x <= y.
Array log_beta_of_large(const Array& x, const Array& y);

/// Returns the gamma function, with its sign.
Array gamma_function(const Array& x);

/// Returns digamma(z + m) - digamma(z), which has its digits where both are positive.
Array digamma_difference(const Array& z, const Array& m);

/// Returns 1 / gamma(x + 1) of x in [0, 10). It has no derivative.
Array reciprocal_gamma_plus_1(const Array& x);

}  // namespace neap::tracing
