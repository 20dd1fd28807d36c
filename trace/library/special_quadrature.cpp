#include "trace/library/special_quadrature.h"

#include <neap/creation.h>
#include <neap/numpy.h>

namespace neap::tracing {

Array exp_rest(const Array& x, const Array& near) {
  constexpr double kTerms[] = {1.0 / 2,         1.0 / 6,          1.0 / 24,         1.0 / 120,     1.0 / 720,
                               1.0 / 5040,      1.0 / 40320,      1.0 / 362880,     1.0 / 3628800, 1.0 / 39916800,
                               1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};
  const std::span<const double> terms(kTerms, x.dtype() == DType::f64 ? 13 : 6);
  return where(near, square(x) * horner(x, terms), exp(x) - 1 - x);
}

double depth(DType dtype) { return dtype == DType::f64 ? 37 : 17.5; }

Array gauss_legendre(const Shape& shape, DType dtype, const std::function<Array(const Array&)>& f) {
  const std::span<const GaussNode> nodes =
      dtype == DType::f64 ? std::span<const GaussNode>(kGauss24) : std::span<const GaussNode>(kGauss12);
  const Shape one(shape.size() + 1, 1);
  Arrays at, weights;  // as constants of the graph: a composite captures no arrays
  for (const GaussNode& node : nodes) {
    at.push_back(full(one, node.at, dtype));
    weights.push_back(full(one, node.weight, dtype));
  }
  return sum(concatenate(weights, 0) * f(concatenate(at, 0)), 0);
}

Array tail_integral(const Array& a, const Array& x, const Array& side) {
  // The exponent is -(rate v + x (exp(s) - 1 - s)), s = side * v: near v = 0 nothing cancels.
  const Array rate = (x - a) * side;
  const double fall = depth(x.dtype());
  // Newton's method for where it is -fall. The exponent is concave, so that from the second step on it is too far.
  const Array fixed_rate = stop_gradient(rate), fixed_x = stop_gradient(x), fixed_a = stop_gradient(a);
  Array end = 2 * fall / (fixed_rate + hypot(fixed_rate, sqrt(2 * fall * fixed_x)));
  end = where(side > 0, minimum(end, log1p((fall + maximum(fixed_a, 0) * end) / fixed_x)), end);
  for (int step = 0; step < 2; ++step) {
    const Array rest = exp_rest(side * end, end < 0.5);
    end = end + (fall - fixed_rate * end - fixed_x * rest) / (fixed_rate + fixed_x * (side * rest + end));
  }
  end = stop_gradient(end);
  const Array last = side * end, slope = -(rate * end), negative = -x;
  return end * gauss_legendre(end.shape(), x.dtype(), [&](const Array& at) {
           return exp(slope * at + negative * exp_rest(last * at, end < 0.5 / at));
         });
}

}  // namespace neap::tracing
