// What Krylov methods share: vectors are lists of arrays. Coefficients are computed in one dtype, to which all of them
// promote (half types: f32).
#pragma once

#include <neap/creation.h>
#include <neap/solvers.h>

#include "trace/ops/ops_common.h"

namespace neap::krylov {

using detail::LeafFunction;
using tracing::Arrays;
using tracing::wide;

/// System is what a method is given: A x = b, an approximate inverse of A, when to stop.
struct System {
  const LeafFunction& a;
  const LeafFunction& m;  // may be empty
  KrylovOptions options;
  int64_t maxiter;
  DType dtype;  // of coefficients
  std::string_view op;
  std::source_location loc;

  Arrays preconditioned(const Arrays& r) const { return m ? m(r) : r; }
};

/// Returns the sum of conj(x) y, as a scalar of the dtype.
inline Array inner_product(const Arrays& x, const Arrays& y, DType dtype) {
  Array total = zeros({}, dtype);
  for (size_t i = 0; i < x.size(); ++i) {
    const Array a = x[i].astype(wide(x[i].dtype())), b = y[i].astype(wide(y[i].dtype()));
    total = total + sum(is_complex(a.dtype()) ? conj(a) * b : a * b).astype(dtype);
  }
  return total;
}
inline Array squared_norm(const Arrays& x, DType dtype) { return real(inner_product(x, x, dtype)); }

/// Returns x + factor y, in the dtypes of x.
inline Arrays axpy(const Arrays& x, const Array& factor, const Arrays& y) {
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) {
    const DType t = x[i].dtype();
    out.push_back(x[i] + (is_complex(t) || !is_complex(factor.dtype()) ? factor : real(factor)).astype(t) * y[i]);
  }
  return out;
}
inline Arrays minus(const Arrays& x, const Arrays& y) {
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - y[i]);
  return out;
}

/// Returns the square of the norm of the residual that ends the iteration.
inline Array goal(const System& s, const Arrays& b) {
  const DType t = real_dtype(s.dtype);
  return maximum(square(full({}, s.options.tol, t)) * squared_norm(b, s.dtype), square(full({}, s.options.atol, t)));
}

/// State is a carry whose parts are vectors and scalars.
class State {
 public:
  explicit State(size_t leaves) : leaves_(leaves) {}
  State(size_t leaves, const Arrays& packed) : leaves_(leaves), packed_(packed) {}
  Arrays vector() {
    const auto begin = packed_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += leaves_;
    return {begin, begin + static_cast<std::ptrdiff_t>(leaves_)};
  }
  Array scalar() { return packed_[next_++]; }
  State& add(const Arrays& vector) {
    packed_.insert(packed_.end(), vector.begin(), vector.end());
    return *this;
  }
  State& add(const Array& scalar) {
    packed_.push_back(scalar);
    return *this;
  }
  const Arrays& packed() const { return packed_; }

 private:
  size_t leaves_, next_ = 0;
  Arrays packed_;
};

inline Array counter() { return zeros({}, DType::i32); }

/// Solves by gmres (gmres.cpp).
Arrays solve_gmres(const System& s, const Arrays& b, const Arrays& x0);

}  // namespace neap::krylov
