// Reductions, products and what is made of them.
#include <neap/creation.h>

#include <algorithm>
#include <numeric>

#include "trace/ops_common.h"

namespace neap {

using namespace trace;

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

namespace {

Array keep(const Array& reduced, const Shape& shape, const Shape& axes, bool keepdims) {
  if (!keepdims) return reduced;
  Shape kept = shape;
  for (const int64_t a : axes) kept[a] = 1;
  return reshape(reduced, kept);
}

Array reduce(Op op, const Array& x, const Axes& axes, bool keepdims, std::source_location loc) {
  const Shape resolved = axes.resolve(x.ndim(), name(op), loc);
  const Array r = resolved.empty() ? x : apply(op, {x}, {{Attr::axes, resolved}}, loc);
  return keep(r, x.shape(), resolved, keepdims);
}

// NumPy's: bool and integers below 32 bits are summed in 32.
Array widened(const Operand& x) {
  const DType t = x.dtype();
  if (t == DType::bool_ || t == DType::i8 || t == DType::i16) return x.as(DType::i32);
  if (t == DType::u8 || t == DType::u16) return x.as(DType::u32);
  return x.as_array();
}
Array numeric(const Operand& x) { return x.dtype() == DType::bool_ ? x.as(DType::i32) : x.as_array(); }
Array floating(const Operand& x) { return x.as(to_float_dtype(x.dtype())); }

int64_t extent(const Array& x, const Axes& axes, std::string_view op, std::source_location loc) {
  int64_t n = 1;
  for (const int64_t a : axes.resolve(x.ndim(), op, loc)) n *= x.shape()[a];
  return n;
}

Array arg_reduce(Op op, const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  const AtLine line(x.loc());
  Array a = numeric(x);
  if (!axis) {
    const Array flat = apply(op, {ravel(a)}, {{Attr::axis, int64_t{0}}}, x.loc());
    return keepdims ? reshape(flat, Shape(a.shape().size(), 1)) : flat;
  }
  const int64_t resolved = normalize_axis(*axis, a.ndim(), name(op), x.loc());
  return keep(apply(op, {a}, {{Attr::axis, resolved}}, x.loc()), a.shape(), {resolved}, keepdims);
}

}  // namespace

Array sum(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_sum, widened(x), axes, keepdims, x.loc());
}
Array prod(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_prod, widened(x), axes, keepdims, x.loc());
}
Array max(const Operand& x, const Axes& axes, bool keepdims) {
  if (x.dtype() == DType::bool_) return any(x, axes, keepdims);
  return reduce(Op::reduce_max, x.as_array(), axes, keepdims, x.loc());
}
Array min(const Operand& x, const Axes& axes, bool keepdims) {
  if (x.dtype() == DType::bool_) return all(x, axes, keepdims);
  return reduce(Op::reduce_min, x.as_array(), axes, keepdims, x.loc());
}
Array any(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_any, x.as(DType::bool_), axes, keepdims, x.loc());
}
Array all(const Operand& x, const Axes& axes, bool keepdims) {
  return reduce(Op::reduce_all, x.as(DType::bool_), axes, keepdims, x.loc());
}

Array mean(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  const int64_t n = extent(a, axes, "mean", x.loc());
  return sum(a, axes, keepdims) / static_cast<double>(n);
}

Array var(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  const Array centred = a - mean(a, axes, true);
  return mean(square(centred), axes, keepdims);
}
Array std(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  return sqrt(var(x, axes, keepdims));
}

Array logsumexp(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  const Array high = stop_gradient(max(a, axes, true));
  const Array shift = select(isfinite(high), high, zeros_like(high));
  const Array total = log(sum(exp(a - shift), axes, true)) + shift;
  if (keepdims) return total;
  const Shape resolved = axes.resolve(a.ndim(), "logsumexp", x.loc());
  Shape shape;
  for (int64_t i = 0; i < a.ndim(); ++i)
    if (std::ranges::find(resolved, i) == resolved.end()) shape.push_back(a.shape()[i]);
  return reshape(total, shape);
}

Array argmax(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduce(Op::argmax, x, axis, keepdims);
}
Array argmin(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_reduce(Op::argmin, x, axis, keepdims);
}

Array softmax(const Operand& x, int64_t axis) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  const Array e = exp(a - stop_gradient(max(a, axis, true)));
  return e / sum(e, axis, true);
}

Array log_softmax(const Operand& x, int64_t axis) {
  const AtLine line(x.loc());
  const Array a = floating(x);
  const Array shifted = a - stop_gradient(max(a, axis, true));
  return shifted - log(sum(exp(shifted), axis, true));
}

// --- products

Array dot_general(const Operand& x, const Operand& y, const Shape& x_contract, const Shape& y_contract,
                  const Shape& x_batch, const Shape& y_batch) {
  const std::array<const Operand*, 2> operands{&x, &y};
  DType dtype = common_dtype(operands);
  if (dtype == DType::bool_) dtype = DType::i32;
  return apply(Op::dot_general, {x.as(dtype), y.as(dtype)},
               {{Attr::lhs_contract, x_contract},
                {Attr::rhs_contract, y_contract},
                {Attr::lhs_batch, x_batch},
                {Attr::rhs_batch, y_batch}},
               x.loc());
}

Array matmul(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), b = y.as_array();
  const auto refuse = [&](const std::string& hint) {
    throw_user<ShapeError>("matmul", to_string(a.aval()) + " and " + to_string(b.aval()), "[..., m, k] and [..., k, n]",
                           hint, x.loc());
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
  return dot_general(x, y, {a - 1}, {std::max<int64_t>(b - 2, 0)});
}

Array outer(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return reshape(x, {-1, 1}) * reshape(y, {1, -1});
}

}  // namespace neap
