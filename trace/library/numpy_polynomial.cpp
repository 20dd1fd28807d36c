// Polynomials of numpy.h: vectors of coefficients, the highest power first.
#include <neap/creation.h>
#include <neap/linalg.h>
#include <neap/numpy.h>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

Array coefficients_of(std::string_view op, const Operand& x, DType dtype) {
  if (x.shape().size() != 1)
    throw_user<ShapeError>(op, to_string(x.as_array().aval()), "one axis", "", user_line(x.loc()));
  return x.as(dtype);
}

// Returns both with as many coefficients.
std::pair<Array, Array> aligned(std::string_view op, const Operand& x, const Operand& y) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = common_dtype(operands);
  const Array a = coefficients_of(op, x, dtype), b = coefficients_of(op, y, dtype);
  const int64_t n = std::max(a.size(), b.size());
  return {pad(a, {n - a.size()}, {0}), pad(b, {n - b.size()}, {0})};
}

void require_times(std::string_view op, int64_t times, const Operand& x) {
  if (times < 0) throw_user<ShapeError>(op, fmt::format("{} times", times), "0 or more", "", user_line(x.loc()));
}

// Returns the numbers n, n - 1, ..., 1.
Array falling(int64_t n, DType dtype) { return n - iota({n}, 0, dtype); }

}  // namespace

Array polyadd(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [a, b] = aligned("polyadd", x, y);
  return a + b;
}
Array polysub(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const auto [a, b] = aligned("polysub", x, y);
  return a - b;
}
Array polymul(const Operand& x, const Operand& y) { return convolve(x, y); }

Array polyder(const Operand& coefficients, int64_t times) {
  const AtLine line(coefficients.loc());
  require_times("polyder", times, coefficients);
  Array p = coefficients_of("polyder", coefficients, to_float_dtype(coefficients.dtype()));
  for (int64_t i = 0; i < times && p.size() > 0; ++i)
    p = slice_in_dim(p, 0, p.size() - 1, 0) * falling(p.size() - 1, real_dtype(p.dtype()));
  return p;
}

Array polyint(const Operand& coefficients, int64_t times) {
  const AtLine line(coefficients.loc());
  require_times("polyint", times, coefficients);
  Array p = coefficients_of("polyint", coefficients, to_float_dtype(coefficients.dtype()));
  check_extents("polyint", {p.size(), times}, DType::c128, user_line(coefficients.loc()));
  for (int64_t i = 0; i < times; ++i) p = pad(p / falling(p.size(), real_dtype(p.dtype())), {0}, {1});
  return p;
}

Array polyfit(const Operand& x, const Operand& y, int64_t degree, std::optional<double> rcond,
              const std::optional<Array>& weights) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = to_float_dtype(common_dtype(operands)), computed = wide(dtype);
  const Array at = coefficients_of("polyfit", x, computed), values = y.as(computed);
  if (degree < 0 || at.size() == 0 || values.ndim() < 1 || values.ndim() > 2 || values.shape(0) != at.size())
    throw_user<ShapeError>(
        "polyfit", fmt::format("{} and {} for degree {}", to_string(at.aval()), to_string(values.aval()), degree),
        "x [n], y [n] or [n, k], and a degree of 0 or more", "", user_line(x.loc()));
  if (weights && weights->shape() != at.shape())
    throw_user<ShapeError>("polyfit", "weights " + to_string(weights->aval()), "one for each of x", "",
                           user_line(x.loc()));
  Array powers = vander(at, degree + 1), right = values;
  if (weights) {
    const Array w = weights->astype(computed), rows = reshape(w, {at.size(), 1});
    powers = powers * rows;
    right = values.ndim() == 1 ? values * w : values * rows;
  }
  const Array scale = sqrt(sum(square(powers), 0));
  const double epsilon =
      computed == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const Array c = linalg::lstsq(powers / scale, right, rcond.value_or(static_cast<double>(at.size()) * epsilon)).x;
  return (c / (values.ndim() == 1 ? scale : reshape(scale, {degree + 1, 1}))).astype(dtype);
}

}  // namespace neap
