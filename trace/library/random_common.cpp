#include "trace/library/random_common.h"

#include <fmt/format.h>

#include <limits>

#include "trace/ops/ops_common.h"

namespace neap::random {

using namespace tracing;

void check_float(DType dtype, std::string_view op, std::source_location loc) {
  if (!is_float(dtype))
    throw_user<DTypeError>(op, std::string("dtype ") + std::string(name(dtype)), "a floating dtype",
                           "randint draws integers", user_line(loc));
}

void check_positive(const Operand& x, std::string_view op, std::string_view what) {
  if (x.is_scalar() && !(x.real() > 0))
    throw_user<UserError>(op, fmt::format("{} {}", what, x.real()), "a number above 0", "", user_line(x.loc()));
}

void check_probability(const Operand& p, std::string_view op) {
  if (p.is_scalar() && !(p.real() >= 0 && p.real() <= 1))
    throw_user<UserError>(op, fmt::format("probability {}", p.real()), "a number in [0, 1]", "", user_line(p.loc()));
}

Shape broadcast_draws(std::initializer_list<const Operand*> parameters, std::string_view op, std::source_location loc) {
  Shape shape;
  for (const Operand* x : parameters) {
    const auto both = broadcast_shapes(shape, x->shape());
    if (!both)
      throw_user<ShapeError>(op, to_string(shape) + " and " + to_string(x->shape()), "parameters that broadcast", "",
                             user_line(loc));
    shape = *both;
  }
  return shape;
}

void check_draws(const Shape& shape, std::initializer_list<const Operand*> parameters, std::string_view op,
                 std::source_location loc) {
  check_extents(op, shape, DType::u8, user_line(loc));
  for (const Operand* x : parameters)
    if (broadcast_shapes(x->shape(), shape) != shape)
      throw_user<ShapeError>(op, "a parameter " + to_string(x->shape()) + " for draws " + to_string(shape),
                             "a parameter that broadcasts to that", "", user_line(loc));
}

Shape batch_of(const Operand& key) {
  Shape shape = key.shape();
  if (!shape.empty()) shape.pop_back();
  return shape;
}

Shape joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

double smallest_normal(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
}

}  // namespace neap::random
