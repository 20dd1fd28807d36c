// tridiagonal_solve: Gaussian elimination with row exchanges, as LAPACK's gtsv, in one scan down and one up.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/linalg.h>
#include <neap/solvers.h>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::linalg {

using namespace tracing;

namespace {

/// Bands are the diagonals of a matrix, [m, ...] with the batch behind: row i has below[i], on[i], above[i] in columns
/// i - 1, i, i + 1.
struct Bands {
  Array below, on, above;
};
/// Row is a row of the triangular system: its first three elements, and the right side [..., n].
struct Row {
  Array first, second, third, right;
};

Array times(const Array& factor, const Array& right) { return expand_dims(factor, -1) * right; }

// b is [m, ..., n].
Array eliminated(const Bands& a, const Array& b) {
  const auto down = [](const Row& top, const Row& next) {  // next: below, on, above
    const Array exchange = abs(top.first) < abs(next.first);
    const auto choose = [&](const Array& yes, const Array& no) { return where(exchange, yes, no); };
    const Array pivot = choose(next.first, top.first), other = choose(top.first, next.first);
    const Array factor = where(other == 0, zeros_like(other), other / pivot);
    const Array second = choose(next.second, top.second), third = choose(next.third, zeros_like(next.third));
    const Array right = where(expand_dims(exchange, -1), next.right, top.right);
    const Row kept{pivot, second, third, right};
    // What is left of the other row, in columns of the next one.
    const Array left = choose(top.second, next.second), behind = choose(zeros_like(next.third), next.third);
    const Array of_other = where(expand_dims(exchange, -1), top.right, next.right);
    const Row rest{left - factor * second, behind - factor * third, zeros_like(third), of_other - times(factor, right)};
    return std::pair{rest, kept};
  };
  const int64_t m = b.shape(0);
  const auto tail = [&](const Array& x) { return slice_in_dim(x, 1, m, 0); };
  const Row start{a.on[0], a.above[0], zeros_like(a.on[0]), b[0]};
  const auto [last, rows] = scan(down, start, Row{tail(a.below), tail(a.on), tail(a.above), tail(b)}, m - 1);
  const auto up = [](const std::pair<Array, Array>& below, const Row& row) {
    const Array x =
        (row.right - times(row.second, below.first) - times(row.third, below.second)) / expand_dims(row.first, -1);
    return std::pair{std::pair{x, below.first}, x};
  };
  const Array bottom = last.right / expand_dims(last.first, -1);
  const Array above = scan(up, std::pair{bottom, zeros_like(bottom)}, rows, m - 1, true).second;
  return concatenate({above, expand_dims(bottom, 0)});
}

Array shifted(const Array& x, bool down) {
  const int64_t m = x.shape(0);
  const Array edge = zeros_like(slice_in_dim(x, 0, 1, 0));
  return down ? concatenate({edge, slice_in_dim(x, 0, m - 1, 0)}) : concatenate({slice_in_dim(x, 1, m, 0), edge});
}

}  // namespace

Array tridiagonal_solve(const Operand& dl, const Operand& d, const Operand& du, const Operand& b) {
  const AtLine line(d.loc());
  const std::array<const Operand*, 4> operands{&dl, &d, &du, &b};
  const DType dtype = to_float_dtype(common_dtype(operands)), computed = wide(dtype);
  const Shape& shape = d.shape();
  Shape bands(b.shape().begin(), b.shape().end() - std::min<std::ptrdiff_t>(1, std::ssize(b.shape())));
  if (shape.empty() || dl.shape() != shape || du.shape() != shape || bands != shape)
    throw_user<ShapeError>("tridiagonal_solve",
                           fmt::format("dl {}, d {}, du {} and b {}", to_string(dl.shape()), to_string(shape),
                                       to_string(du.shape()), to_string(b.shape())),
                           "three of shape [..., m] and [..., m, n]", "", user_line(d.loc()));
  if (is_complex(dtype))
    throw_user<DTypeError>("tridiagonal_solve", std::string(name(dtype)), "real numbers", "", user_line(d.loc()));
  const int64_t axis = std::ssize(shape) - 1, m = shape.back();
  if (m == 0) return b.as(dtype);
  return composite("tridiagonal_solve", {dl.as(dtype), d.as(dtype), du.as(dtype), b.as(dtype)}, [&](const Arrays& in) {
    const auto first = [&](const Array& x) { return moveaxis(x.astype(computed), axis, 0); };
    const Array on = first(in[1]), right = first(in[3]);
    // Their elements outside of the matrix count as zeros.
    const Array below = shifted(shifted(first(in[0]), false), true),
                above = shifted(shifted(first(in[2]), true), false);
    const auto matvec = [&](const Array& x) {
      return times(on, x) + times(below, shifted(x, true)) + times(above, shifted(x, false));
    };
    const Array x = custom_linear_solve(
        matvec, right, [&](const auto&, const Array& y) { return eliminated({below, on, above}, y); },
        [&](const auto&, const Array& y) { return eliminated({shifted(above, true), on, shifted(below, false)}, y); });
    return moveaxis(x, 0, axis).astype(dtype);
  });
}

}  // namespace neap::linalg
