#include "trace/library/special_quadrature.h"

#include <neap/creation.h>
#include <neap/numpy.h>

namespace neap::tracing {

Array exp_rest(const Array& x) {
  const Array near = abs(x) < 0.5, s = where(near, x, 0);
  Array series = ones({}, x.dtype());
  for (int k = x.dtype() == DType::f64 ? 14 : 8; k > 2; --k) series = 1 + s * series * (1.0 / k);
  return where(near, 0.5 * square(s) * series, exp(x) - 1 - x);
}

double depth(DType dtype) { return dtype == DType::f64 ? 37 : 17.5; }

Array gauss_legendre(DType dtype, const std::function<Array(double)>& f) {
  const std::span<const GaussNode> nodes =
      dtype == DType::f64 ? std::span<const GaussNode>(kGauss24) : std::span<const GaussNode>(kGauss12);
  Array sum;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Array term = nodes[i].weight * f(nodes[i].at);
    sum = i == 0 ? term : sum + term;
  }
  return sum;
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
    const Array s = side * end, rest = exp_rest(s);
    end = end + (fall - fixed_rate * end - fixed_x * rest) / (fixed_rate + fixed_x * (side * rest + end));
  }
  end = stop_gradient(end);
  const Array sum = gauss_legendre(x.dtype(), [&](double at) {
    const Array v = end * at;
    return exp(-(rate * v + x * exp_rest(side * v)));
  });
  return end * sum;
}

}  // namespace neap::tracing
