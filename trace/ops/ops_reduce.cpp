// Reductions, sorting, products and what is made of them.
#include <neap/creation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

Shape Axes::resolve(int64_t ndim, std::string_view op, std::source_location loc) const {
  Shape axes;
  if (axes_) {
    axes = normalize_axes(*axes_, ndim, op, loc);
    std::ranges::sort(axes);
  } else {
    axes.resize(ndim);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

namespace tracing {

DType sum_dtype(DType dtype) {
  if (is_float(dtype) || size_of(dtype) >= 4) return dtype;
  return is_unsigned(dtype) ? DType::u32 : DType::i32;
}

double lowest_of(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return is_signed(dtype) ? -std::ldexp(1.0, static_cast<int>(8 * size_of(dtype)) - 1) : 0;
}

Array in_floats(const std::string& key, const Operand& x, const std::function<Array(const Array&)>& f) {
  const AtLine line(x.loc());
  return composite(key, {x.as_array()}, [&](const Arrays& in) {
    const DType dtype = to_float_dtype(in[0].dtype());
    const Array y = f(in[0].astype(wide(dtype)));
    return y.astype(is_complex(y.dtype()) ? dtype : real_dtype(dtype));
  });
}

Array statistic(std::string_view what, const Operand& x, const Axes& axes, bool keepdims,
                const std::function<Array(const Array&, const Shape&, bool)>& f) {
  const AtLine line(x.loc());
  const Shape over = axes.resolve(static_cast<int64_t>(x.shape().size()), what, user_line(x.loc()));
  return in_floats(fmt::format("{} {} {} ", what, to_string(over), keepdims), x,
                   [&](const Array& a) { return f(a, over, keepdims); });
}

}  // namespace tracing

namespace {

Array keep(const Array& reduced, const Shape& shape, const Shape& axes, bool keepdims) {
  if (!keepdims) return reduced;
  Shape kept = shape;
  for (const int64_t a : axes) kept[a] = 1;
  return reshape(reduced, kept);
}

Array reduce(Op op, const Array& x, const Axes& axes, bool keepdims, std::source_location loc) {
  std::string_view what = name(op);
  if (op != Op::reduce_xor) what.remove_prefix(std::string_view("reduce_").size());  // as users know it
  const Shape resolved = axes.resolve(x.ndim(), what, user_line(loc));
  const Array r = resolved.empty() ? x : apply(op, {x}, {{Attr::axes, resolved}}, loc);
  return keep(r, x.shape(), resolved, keepdims);
}

// Throws where there is no element, or no order: an extreme needs both.
void require_elements(const Operand& x, const Axes& axes, std::string_view op) {
  if (is_complex(x.dtype()))
    throw_user<DTypeError>(op, to_string(x.as_array().aval()), "a real dtype", "take abs(), real() or imag() of it",
                           user_line(x.loc()));
  const Shape& shape = x.shape();
  for (const int64_t axis : axes.resolve(static_cast<int64_t>(shape.size()), op, user_line(x.loc())))
    if (shape[axis] == 0)
      throw_user<ShapeError>(op, "axis " + std::to_string(axis) + " of " + to_string(shape) + " is empty",
                             "at least one element", "", user_line(x.loc()));
}

// Returns the largest elements; of nothing, -inf, for functions that have a meaning there (logsumexp, softmax).
Array largest(const Array& a, const Shape& axes) { return reduce(Op::reduce_max, a, axes, true, {}); }

Array widened(const Operand& x) { return x.as(sum_dtype(x.dtype())); }
Array numeric(const Operand& x) { return x.dtype() == DType::bool_ ? x.as(DType::i32) : x.as_array(); }

Shape without(const Shape& shape, const Shape& axes) {
  Shape kept;
  for (size_t i = 0; i < shape.size(); ++i)
    if (std::ranges::find(axes, static_cast<int64_t>(i)) == axes.end()) kept.push_back(shape[i]);
  return kept;
}

Array mean_of(const Array& a, const Shape& axes, bool keepdims) {
  double n = 1;
  for (const int64_t axis : axes) n *= static_cast<double>(a.shape()[axis]);
  return sum(a, axes, keepdims) / n;
}
Array var_of(const Array& a, const Shape& axes, bool keepdims) {
  return mean_of(squared_magnitude(a - mean_of(a, axes, true)), axes, keepdims);
}

Array arg_reduce(Op op, const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  const AtLine line(x.loc());
  Array a = numeric(x);
  if (!axis) {
    const Array flat = apply(op, {ravel(a)}, {{Attr::axis, int64_t{0}}}, x.loc());
    return keepdims ? reshape(flat, Shape(a.shape().size(), 1)) : flat;
  }
  const int64_t resolved = normalize_axis(*axis, a.ndim(), name(op), user_line(x.loc()));
  return keep(apply(op, {a}, {{Attr::axis, resolved}}, x.loc()), a.shape(), {resolved}, keepdims);
}

}  // namespace

Array sum(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_sum, widened(x), axes, keepdims, x.loc());
}
Array prod(const Operand& x, const Axes& axes, bool keepdims) {
  if (is_complex(x.dtype())) {
    const Shape over = axes.resolve(static_cast<int64_t>(x.shape().size()), "prod", user_line(x.loc()));
    const AtLine line(x.loc());
    const Array r =
        composite("prod " + to_string(over), {x.array()}, [&](const Arrays& in) { return complex_prod(in[0], over); });
    return keep(r, x.shape(), over, keepdims);
  }
  return reduce(Op::reduce_prod, widened(x), axes, keepdims, x.loc());
}
Array max(const Operand& x, const Axes& axes, bool keepdims) {
  require_elements(x, axes, "max");
  if (x.dtype() == DType::bool_) return any(x, axes, keepdims);
  return reduce(Op::reduce_max, x.as_array(), axes, keepdims, x.loc());
}
Array min(const Operand& x, const Axes& axes, bool keepdims) {
  require_elements(x, axes, "min");
  if (x.dtype() == DType::bool_) return all(x, axes, keepdims);
  return reduce(Op::reduce_min, x.as_array(), axes, keepdims, x.loc());
}
Array any(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_any, x.as(DType::bool_), axes, keepdims, x.loc());
}
Array all(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_all, x.as(DType::bool_), axes, keepdims, x.loc());
}
Array reduce_xor(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_xor, x.as_array(), axes, keepdims, x.loc());
}

Array mean(const Operand& x, const Axes& axes, bool keepdims) { return statistic("mean", x, axes, keepdims, mean_of); }
Array var(const Operand& x, const Axes& axes, bool keepdims) { return statistic("var", x, axes, keepdims, var_of); }
Array std(const Operand& x, const Axes& axes, bool keepdims) {
  return statistic("std", x, axes, keepdims,
                   [](const Array& a, const Shape& over, bool kept) { return sqrt(var_of(a, over, kept)); });
}

Array logsumexp(const Operand& x, const Axes& axes, bool keepdims) {
  return statistic("logsumexp", x, axes, keepdims, [](const Array& a, const Shape& over, bool kept) {
    const Array high = stop_gradient(largest(a, over));
    const Array shift = select(isfinite(high), high, zeros_like(high));
    const Array total = log(sum(exp(a - shift), over, true)) + shift;
    return kept ? total : reshape(total, without(a.shape(), over));
  });
}

Array argmax(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduce(Op::argmax, x, axis, keepdims);
}
Array argmin(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduce(Op::argmin, x, axis, keepdims);
}

Array softmax(const Operand& x, int64_t axis) {
  return statistic("softmax", x, axis, true, [](const Array& a, const Shape& over, bool) {
    const Array e = exp(a - stop_gradient(largest(a, over)));
    return e / sum(e, over, true);
  });
}

Array log_softmax(const Operand& x, int64_t axis) {
  return statistic("log_softmax", x, axis, true, [](const Array& a, const Shape& over, bool) {
    const Array shifted = a - stop_gradient(largest(a, over));
    return shifted - log(sum(exp(shifted), over, true));
  });
}

// --- sorting

namespace {
Array sorted(Op op, const Operand& x, int64_t axis, const SortOptions& options) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  const int64_t resolved = normalize_axis(axis, a.ndim(), name(op), user_line(x.loc()));
  return apply(op, {a}, {{Attr::axis, resolved}, {Attr::descending, int64_t{options.descending}}}, x.loc());
}
}  // namespace

Array sort(const Operand& x, int64_t axis, SortOptions options) { return sorted(Op::sort, x, axis, options); }
Array argsort(const Operand& x, int64_t axis, SortOptions options) { return sorted(Op::argsort, x, axis, options); }

// --- products

Array dot_general(const Operand& x, const Operand& y, const Shape& x_contract, const Shape& y_contract,
                  const Shape& x_batch, const Shape& y_batch) {
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = common_dtype(operands);
  const DType computed = dtype == DType::bool_ ? DType::i32 : dtype;
  return apply(Op::dot_general, {x.as(computed), y.as(computed)},
               {{Attr::lhs_contract, x_contract},
                {Attr::rhs_contract, y_contract},
                {Attr::lhs_batch, x_batch},
                {Attr::rhs_batch, y_batch}},
               x.loc())
      .astype(dtype);
}

Array matmul(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), b = y.as_array();
  const auto refuse = [&](const std::string& hint) {
    throw_user<ShapeError>("matmul", to_string(a.aval()) + " and " + to_string(b.aval()), "[..., m, k] and [..., k, n]",
                           hint, user_line(x.loc()));
  };
  if (a.ndim() == 0 || b.ndim() == 0) refuse("a scalar is multiplied with *");
  const int64_t k = a.shape(-1);
  if (b.shape(b.ndim() == 1 ? 0 : -2) != k) refuse("the contracted axes must be equally long");
  if (a.ndim() <= 2 && b.ndim() <= 2) return dot_general(x, y, {a.ndim() - 1}, {0});
  if (b.ndim() <= 2) return dot_general(x, y, {a.ndim() - 1}, {0});
  Shape a_batch(a.shape().begin(), a.shape().end() - std::min<int64_t>(a.ndim(), 2));
  const Shape b_batch(b.shape().begin(), b.shape().end() - 2);
  const auto batch = broadcast_shapes(a_batch, b_batch);
  if (!batch) refuse("the batch axes do not broadcast");
  const auto with_batch = [&](const Array& v, int64_t matrix_axes) {
    Shape shape = *batch;
    shape.insert(shape.end(), v.shape().end() - matrix_axes, v.shape().end());
    return broadcast_to(v, shape);
  };
  const int64_t nb = static_cast<int64_t>(batch->size());
  Shape axes(nb);
  std::iota(axes.begin(), axes.end(), 0);
  const int64_t a_matrix = std::min<int64_t>(a.ndim(), 2);
  return dot_general(with_batch(a, a_matrix), with_batch(b, 2), {nb + a_matrix - 1}, {nb}, axes, axes);
}

Array dot(const Operand& x, const Operand& y) {
  if (x.shape().empty() || y.shape().empty()) return x * y;
  const int64_t a = static_cast<int64_t>(x.shape().size()), b = static_cast<int64_t>(y.shape().size());
  const int64_t rows = std::max<int64_t>(b - 2, 0);
  if (x.shape().back() != y.shape()[rows])
    throw_user<ShapeError>("dot", to_string(x.as_array().aval()) + " and " + to_string(y.as_array().aval()),
                           "as many elements along the contracted axes, the last and the last but one", "",
                           user_line(x.loc()));
  return dot_general(x, y, {a - 1}, {rows});
}

Array outer(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return reshape(x, {-1, 1}) * reshape(y, {1, -1});
}

}  // namespace neap
