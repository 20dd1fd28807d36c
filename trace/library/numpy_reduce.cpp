// Reductions and running results of numpy.h.
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/transforms.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "trace/library/cumulative.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

Array known(const Array& a, const Operand& instead) { return where(isnan(a), instead, a); }

Array nan_count(const Array& a, const Axes& axes, bool keepdims) {
  return sum((!isnan(a)).astype(real_dtype(a.dtype())), axes, keepdims);
}
Array nan_mean(const Array& a, const Axes& axes, bool keepdims) {
  return sum(known(a, 0), axes, keepdims) / nan_count(a, axes, keepdims);
}
Array nan_var(const Array& a, const Axes& axes, bool keepdims) {
  const Array apart = where(isnan(a), 0, a - nan_mean(a, axes, true));
  return sum(squared_magnitude(apart), axes, keepdims) / nan_count(a, axes, keepdims);
}

// Returns the largest (or smallest) of the elements that `of` marks; those that reach it share its derivative equally,
// and the values that stand for the others in the reduction have no part in it.
Array extreme_of(const Array& x, const Array& of, const Axes& axes, bool keepdims, bool largest) {
  const auto extreme = [=](const Array& a, const Array& marked, bool kept) {
    const double none = largest ? lowest_of(a.dtype()) : std::numeric_limits<double>::infinity();
    const Array chosen = where(marked, a, full({}, none, a.dtype()));
    return largest ? max(chosen, axes, kept) : min(chosen, axes, kept);
  };
  if (!is_float(x.dtype())) return extreme(x, of, keepdims);
  return custom_jvp([=](const Array& a, const Array& marked) { return extreme(a, marked, keepdims); },
                    [=](const Array& a, const Array& marked, const Array& da, const Array&) {
                      const DType dtype = a.dtype();
                      const Array reached = marked & (a == extreme(a, marked, true)), t = da.astype(wide(dtype));
                      const Array shared = sum(where(reached, t, 0), axes, keepdims);
                      // None reaches NaN: 0, as JAX has it, and not NaN in forward mode alone.
                      const Array count = maximum(sum(reached.astype(t.dtype()), axes, keepdims), 1);
                      return (shared / count).astype(dtype);
                    },
                    user_line({}))(x, of);
}

// An extreme that leaves NaN out, but where all are.
Array nan_extreme(const Operand& x, const Axes& axes, bool keepdims, bool largest) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (!is_float(a.dtype())) return largest ? max(a, axes, keepdims) : min(a, axes, keepdims);
  const Array missing = isnan(a);
  return where(all(missing, axes, keepdims), std::numeric_limits<double>::quiet_NaN(),
               extreme_of(a, !missing, axes, keepdims, largest));
}

}  // namespace

Array count_nonzero(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  int64_t counted = 1;
  for (const int64_t axis : axes.resolve(std::ssize(x.shape()), "count_nonzero", user_line(x.loc())))
    counted *= std::max<int64_t>(x.shape()[static_cast<size_t>(axis)], 1);
  return sum((x != 0).astype(index_dtype(counted)), axes, keepdims);
}
Array ptp(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  return max(x, axes, keepdims) - min(x, axes, keepdims);
}

Array nansum(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  return sum(is_inexact(x.dtype()) ? known(x.as_array(), 0) : x.as_array(), axes, keepdims);
}
Array nanprod(const Operand& x, const Axes& axes, bool keepdims) {
  const AtLine line(x.loc());
  return prod(is_inexact(x.dtype()) ? known(x.as_array(), 1) : x.as_array(), axes, keepdims);
}
Array nanmax(const Operand& x, const Axes& axes, bool keepdims) { return nan_extreme(x, axes, keepdims, true); }
Array nanmin(const Operand& x, const Axes& axes, bool keepdims) { return nan_extreme(x, axes, keepdims, false); }
Array nanmean(const Operand& x, const Axes& axes, bool keepdims) {
  return statistic("nanmean", x, axes, keepdims, nan_mean);
}
Array nanvar(const Operand& x, const Axes& axes, bool keepdims) {
  return statistic("nanvar", x, axes, keepdims, nan_var);
}
Array nanstd(const Operand& x, const Axes& axes, bool keepdims) {
  return statistic("nanstd", x, axes, keepdims,
                   [](const Array& a, const Shape& over, bool kept) { return sqrt(nan_var(a, over, kept)); });
}

Array average(const Operand& x, const Array& weights, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  const Operand by(weights, x.loc());
  const std::array<const Operand*, 2> operands{&x, &by};
  const DType dtype = to_float_dtype(common_dtype(operands)), computed = wide(dtype);
  const Array a = x.as(computed);
  Array w = by.as(computed);
  if (w.shape() != a.shape()) {
    if (!axis || w.ndim() != 1)
      throw_user<ShapeError>("average", "weights " + to_string(w.aval()) + " for " + to_string(a.aval()),
                             "the same shape, or one axis and which it is", "", user_line(x.loc()));
    const int64_t resolved = normalize_axis(*axis, a.ndim(), "average", user_line(x.loc()));
    if (w.size() != a.shape(resolved))
      throw_user<ShapeError>("average", "weights " + to_string(w.aval()) + " for " + to_string(a.aval()),
                             fmt::format("{} of them", a.shape(resolved)), "", user_line(x.loc()));
    w = broadcast_in_dim(w, a.shape(), {resolved});
  }
  const Axes axes = axis ? Axes(*axis) : Axes();
  return (sum(a * w, axes) / sum(w, axes)).astype(dtype);
}

Array quantile(const Operand& x, const Operand& q, std::optional<int64_t> axis, bool keepdims) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  const int64_t over = axis ? normalize_axis(*axis, a.ndim(), "quantile", user_line(x.loc())) : 0;
  if ((axis ? a.shape(over) : a.size()) == 0)
    throw_user<ShapeError>("quantile", to_string(a.aval()), "one element or more", "", user_line(x.loc()));
  if (q.is_scalar() && !(q.real() >= 0 && q.real() <= 1))
    throw_user<UserError>("quantile", fmt::format("q = {}", q.real()), "a number in [0, 1]",
                          "percentile() counts from 0 to 100", user_line(x.loc()));
  const DType dtype = to_float_dtype(a.dtype()), computed = wide(dtype);
  // Of a q that is known only the ranks beside it are read, which is less than to sort.
  const std::optional<double> known = q.is_scalar() ? std::optional(q.real()) : std::nullopt;
  const std::string key = fmt::format("quantile {} {} {} {}", axis.has_value(), over, keepdims, known.value_or(-1));
  return composite(key, {a, q.as(computed)}, [&](const Arrays& in) {
    const Array& where_at = in[1];
    const Array values = in[0].astype(computed);
    const Array unsorted = axis ? moveaxis(values, over, 0) : ravel(values), sorted = sort(unsorted, 0);
    const int64_t n = sorted.shape(0);
    const Array position = where_at * static_cast<double>(n - 1);
    const Array low = floor(position), high = ceil(position);
    Shape aligned = position.shape();  // then the axes that are left
    aligned.resize(aligned.size() + sorted.shape().size() - 1, 1);
    const Array above = reshape(position - low, aligned);
    const auto at = [&](const Array& i) { return take(sorted, clip(i, 0, n - 1).astype(DType::i64)); };
    const auto rank = [&](double i) {
      const auto first = std::clamp(static_cast<int64_t>(i), int64_t{0}, n - 1);
      return squeeze(slice_in_dim(sorted, first, first + 1, 0), {0});
    };
    // Its product with n - 1 is rounded as the graph's own is.
    const double place = !known                   ? 0
                         : computed == DType::f64 ? *known * static_cast<double>(n - 1)
                                                  : static_cast<float>(*known) * static_cast<float>(n - 1);
    const Array below = known ? rank(std::floor(place)) : at(low), next = known ? rank(std::ceil(place)) : at(high);
    // Between equal elements neither's share of the derivative is lost; equal infinities have no difference.
    const Array between = where(isinf(below), below, below - (below - next) * above);
    Array result = where(below == next, between, below * (1 - above) + next * above);
    result = where(any(isnan(known ? unsorted : sorted), 0) | isnan(above), std::numeric_limits<double>::quiet_NaN(),
                   result);
    if (keepdims) {
      Shape kept = position.shape();
      for (int64_t i = 0; i < in[0].ndim(); ++i) kept.push_back(!axis || i == over ? 1 : in[0].shape(i));
      result = reshape(result, kept);
    }
    return result.astype(dtype);
  });
}
Array percentile(const Operand& x, const Operand& q, std::optional<int64_t> axis, bool keepdims) {
  const AtLine line(x.loc());
  if (q.is_scalar() && !(q.real() >= 0 && q.real() <= 100))
    throw_user<UserError>("percentile", fmt::format("q = {}", q.real()), "a number in [0, 100]",
                          "quantile() counts from 0 to 1", user_line(x.loc()));
  const Operand a(x.as_array(), x.loc());
  if (q.is_scalar()) return quantile(a, Operand(q.real() / 100, q.loc()), axis, keepdims);
  return quantile(a, q.as(wide(to_float_dtype(x.dtype()))) / 100.0, axis, keepdims);
}
Array median(const Operand& x, std::optional<int64_t> axis, bool keepdims) {
  return quantile(Operand(x.as_array(), x.loc()), 0.5, axis, keepdims);
}

Array cov(const Operand& x) {
  if (x.shape().size() > 2)
    throw_user<ShapeError>("cov", to_string(x.as_array().aval()), "one or two axes", "", user_line(x.loc()));
  return in_floats("cov", x, [](const Array& a) {
    const Array rows = a.ndim() == 2 ? a : reshape(a, {1, a.size()});
    const Array apart = rows - mean(rows, 1, true);
    const Array products = matmul(apart, conj(transpose(apart))) / static_cast<double>(rows.shape(1) - 1);
    return a.ndim() == 2 ? products : reshape(products, {});
  });
}
Array corrcoef(const Operand& x) {
  return in_floats("corrcoef", x, [](const Array& a) {
    const Array c = cov(a);
    if (c.ndim() == 0) return c / c;
    const Array deviation = sqrt(real(diagonal(c))), scaled = c / reshape(deviation, {-1, 1}) / deviation;
    if (!is_complex(c.dtype())) return clip(scaled, -1, 1);
    return complex(clip(real(scaled), -1, 1), clip(imag(scaled), -1, 1));
  });
}

Array trapezoid(const Operand& y, double spacing, int64_t axis) {
  return in_floats(fmt::format("trapezoid {} {}", spacing, axis), y, [&](const Array& a) {
    const int64_t over = normalize_axis(axis, a.ndim(), "trapezoid", user_line(y.loc()));
    const int64_t n = a.shape(over);
    if (n < 2) return sum(zeros_like(a), over);
    return spacing * 0.5 * sum(slice_in_dim(a, 1, n, over) + slice_in_dim(a, 0, n - 1, over), over);
  });
}

// --- running results

namespace {

struct Running {
  std::function<Array(const Array& x, const Array& of, const Axes&)> reduce;  // of the elements that `of` marks
  std::function<Array(const Array&, const Array&)> join;
  double neutral;  // join(neutral, x) is x
};

// Elements of a block. Within a block the work is its square, and each doubling halves the blocks' totals that remain;
// the order of a float sum, and so its bits, depend on it.
constexpr int64_t kBlock = 32;

// Runs along the last axis: within blocks each element reduces those before it, which a fused kernel does in registers;
// then the blocks' totals, likewise; then both are joined. So the order of a float sum is fixed by the length alone.
Array running(const Running& r, const Array& x) {
  const int64_t n = x.shape(-1);
  Shape lead(x.shape().begin(), x.shape().end() - 1);
  const auto with = [&](std::initializer_list<int64_t> last) {
    Shape shape = lead;
    shape.insert(shape.end(), last);
    return shape;
  };
  const int64_t block = std::min(n, kBlock), blocks = (n + block - 1) / block;
  Array padded = x;
  if (blocks * block != n) {
    Shape low(x.shape().size(), 0), high = low;
    high.back() = blocks * block - n;
    padded = pad(x, low, high, full({}, r.neutral, x.dtype()));
  }
  // [..., blocks, from, to]
  const int64_t from = x.ndim();
  const Array spread = broadcast_to(reshape(padded, with({blocks, block, 1})), with({blocks, block, block}));
  const Array before = broadcast_to(transpose(tri(block, block, 0, DType::bool_)), spread.shape());
  const Array within = r.reduce(spread, before, from);
  if (blocks == 1) return reshape(within, x.shape());
  const Array totals = running(r, reshape(slice_in_dim(within, block - 1, block, -1), with({blocks})));
  Shape low(totals.shape().size(), 0), high = low;
  low.back() = 1, high.back() = -1;  // of the blocks before
  const Array earlier = reshape(pad(totals, low, high, full({}, r.neutral, x.dtype())), with({blocks, 1}));
  // Nothing is joined to the first block: a neutral element would have a part in a tie's derivative.
  const Array first = reshape(iota({blocks}, 0, DType::i32) == 0, {blocks, 1});
  const Array joined = select(broadcast_to(first, within.shape()), within, r.join(earlier, within));
  return slice_in_dim(reshape(joined, with({blocks * block})), 0, n, -1);
}

// Of an array whose last axis is to be axis `to`.
Array running_along(const Running& r, const Array& x, int64_t to, bool reversed) {
  if (x.size() == 0) return moveaxis(x, -1, to);
  Array a = x.astype(wide(x.dtype()));
  if (reversed) a = flip(a, -1);
  a = running(r, a);
  if (reversed) a = flip(a, -1);
  return moveaxis(a, -1, to).astype(x.dtype());
}

Array run_along(std::string_view name, const Operand& x, const Array& values, std::optional<int64_t> axis,
                bool reversed, const Running& r) {
  const int64_t along = axis ? normalize_axis(*axis, values.ndim(), name, user_line(x.loc())) : 0;
  return composite(fmt::format("{} {} {} {}", name, axis.has_value(), along, reversed), {values},
                   [&](const Arrays& in) {
                     return axis ? running_along(r, moveaxis(in[0], along, -1), along, reversed)
                                 : running_along(r, ravel(in[0]), 0, reversed);
                   });
}

Array cumulate(Op op, const Operand& x, const Array& values, std::optional<int64_t> axis, bool reverse) {
  const std::string_view called = tracing::name(op);
  const int64_t along = axis ? normalize_axis(*axis, values.ndim(), called, user_line(x.loc())) : 0;
  return composite(
      fmt::format("{} {} {} {}", called, axis.has_value(), along, reverse), {values}, [&](const Arrays& in) {
        const Array a = axis ? in[0] : ravel(in[0]);
        return tracing::apply(op, {a}, {{Attr::axis, along}, {Attr::reverse, int64_t{reverse}}}, user_line(x.loc()));
      });
}

Running running_of(Op op, DType dtype) {
  switch (op) {
    case Op::cumprod:
      return {[](const Array& a, const Array& of, const Axes& axes) { return prod(where(of, a, 1), axes); },
              [](const Array& a, const Array& b) { return a * b; }, 1};
    case Op::cummax:
      return {[](const Array& a, const Array& of, const Axes& axes) { return extreme_of(a, of, axes, false, true); },
              [](const Array& a, const Array& b) { return maximum(a, b); }, lowest_of(dtype)};
    default:
      return {[](const Array& a, const Array& of, const Axes& axes) { return extreme_of(a, of, axes, false, false); },
              [](const Array& a, const Array& b) { return minimum(a, b); }, std::numeric_limits<double>::infinity()};
  }
}

}  // namespace

Array tracing::cumulative_by_blocks(Op op, const Array& x, int64_t axis, bool reverse) {
  return running_along(running_of(op, x.dtype()), moveaxis(x, axis, -1), axis, reverse);
}

Array cumsum(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return cumulate(Op::cumsum, x, x.as(sum_dtype(x.dtype())), axis, reverse);
}
Array cumprod(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  const Array values = x.as(sum_dtype(x.dtype()));
  if (!is_complex(values.dtype())) return cumulate(Op::cumprod, x, values, axis, reverse);
  return run_along("cumprod", x, values, axis, reverse, running_of(Op::cumprod, values.dtype()));
}
Array cummax(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return cumulate(Op::cummax, x, x.as_array(), axis, reverse);
}
Array cummin(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return cumulate(Op::cummin, x, x.as_array(), axis, reverse);
}

namespace {
// Weights are the shares of the marked elements in the derivative of the logarithm of the sum of their exponentials, up
// to a factor that gives their sum its size. Where the largest is infinite, where differences would be inf - inf, it is
// the result, and those that reach it share equally.
struct Weights {
  Weights(const Array& x, const Array& marked, const Axes& axes) {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    high = stop_gradient(max(where(marked, x, kLowest), axes, true));
    // Of each element, not of each row: what is made of a row alone would be an array of its own.
    const Array most = broadcast_to(high, x.shape()), infinite = isinf(most);
    const Array reached = (marked & (x == most)).astype(x.dtype());
    each = where(infinite, reached, exp(where(marked & !infinite, x - where(infinite, 0, most), kLowest)));
  }
  Array high, each;
};
}  // namespace

Array cumlogsumexp(const Operand& x, std::optional<int64_t> axis, bool reverse) {
  const AtLine line(x.loc());
  return run_along(
      "cumlogsumexp", x, x.as(to_float_dtype(x.dtype())), axis, reverse,
      {[](const Array& a, const Array& of, const Axes& axes) {
         return custom_jvp(
             [=](const Array& x, const Array& marked) {
               const Weights w(x, marked, axes);
               return sum(where(isinf(w.high), w.high, log(sum(w.each, axes, true)) + w.high), axes);
             },
             [=](const Array& x, const Array& marked, const Array& dx, const Array&) {
               const Weights w(x, marked, axes);
               return sum(where(marked, w.each * dx, 0), axes) / sum(w.each, axes);
             },
             user_line({}))(a, of);
       },
       [](const Array& a, const Array& b) { return logaddexp(a, b); }, -std::numeric_limits<double>::infinity()});
}

Array standardize(const Operand& x, const Axes& axes, double epsilon) {
  return statistic(fmt::format("standardize {}", epsilon), x, axes, true, [&](const Array& a, const Shape& over, bool) {
    const Array apart = a - mean(a, over, true);
    return apart * rsqrt(mean(squared_magnitude(apart), over, true) + epsilon);
  });
}

}  // namespace neap
