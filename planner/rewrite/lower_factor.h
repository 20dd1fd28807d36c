// The cotangent of a Cholesky factor is put into the triangle of the factor that holds zeros as it is computed, where
// it need not be stored elsewhere: the reverse of a Cholesky factorization then holds one matrix. Tested in
// tests/planner/factor_test.cpp.
#pragma once

#include "planner/rewrite/builder.h"

namespace neap::planner {

/// This rule packs the operands of a cholesky_cotangent where the second is computed element by element of the
/// first and of smaller values, and so is never stored. It returns no_value for other terms.
tracing::ValueId lower_factor(Builder& b, const Term& term);

}  // namespace neap::planner
