// What is made of factorizations: norms, ranks, pseudo-inverses, powers (neap/linalg.h, after jax.numpy.linalg).
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/transforms.h>

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "trace/library/linalg.h"
#include "trace/ops/ops_common.h"

namespace neap::linalg {

using namespace tracing;

namespace {

double epsilon(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::f64: return std::numeric_limits<double>::epsilon();
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

[[noreturn]] void refuse(const Operand& x, std::string_view op, std::string got, std::string expected) {
  throw_user<ShapeError>(op, std::move(got), std::move(expected), "", user_line(x.loc()));
}

void require_matrices(const Operand& a, std::string_view op, bool square) {
  const Shape& shape = a.shape();
  if (shape.size() >= 2 && (!square || shape[shape.size() - 1] == shape[shape.size() - 2])) return;
  refuse(a, op, to_string(Aval{shape, a.dtype()}), square ? "square matrices [..., n, n]" : "matrices [..., m, n]");
}

Array vector_norm(const Array& x, std::optional<double> order, const Shape& axes, bool keepdims) {
  const Array size = abs(x);
  if (!order || *order == 2) return sqrt(sum(squared_magnitude(x), axes, keepdims));
  if (*order == inf) return max(size, axes, keepdims);
  if (*order == -inf) return min(size, axes, keepdims);
  if (*order == 0) return sum((x != 0).astype(size.dtype()), axes, keepdims);
  if (*order == 1) return sum(size, axes, keepdims);
  return pow(sum(pow(size, *order), axes, keepdims), 1 / *order);
}

Array matrix_norm(const Operand& given, const Array& x, const NormOrder& order, const Shape& axes, bool keepdims) {
  const Array a = moveaxis(moveaxis(x, axes[0], -1), axes[1] > axes[0] ? axes[1] - 1 : axes[1], -1);
  Array result;
  if (const Norm* kind = std::get_if<Norm>(&order)) {
    result = *kind == Norm::frobenius ? sqrt(sum(squared_magnitude(a), {-2, -1})) : sum(svdvals(a), -1);
  } else {
    const double p = std::get<double>(order);
    if (std::abs(p) == 2) {
      result = p > 0 ? max(svdvals(a), -1) : min(svdvals(a), -1);
    } else if (std::abs(p) == 1 || std::isinf(p)) {
      const Array sums = sum(abs(a), std::isinf(p) ? -1 : -2);
      result = p > 0 ? max(sums, -1) : min(sums, -1);
    } else {
      refuse(given, "norm", fmt::format("order {} of a matrix", p), "1, 2, inf, their negatives, or a Norm");
    }
  }
  if (!keepdims) return result;
  Shape kept = x.shape();
  kept[axes[0]] = kept[axes[1]] = 1;
  return reshape(result, kept);
}

// Inverted is the pseudo-inverse. Singular values up to least * the largest count as zero. Results that depend on a and
// the result alone are differentiated by closest_derivative(), not through singular vectors, which have no derivative
// where singular values are equal.
struct Inverted {
  Svd factors;
  Array counts, inverse;                    // of s
  Array operator()(const Array& b) const {  // the pseudo-inverse times u b
    return matmul(adjoint(factors.vh), expand_dims(inverse, -1) * b);
  }
};
Inverted inverted(const Array& a, double least) {
  const Svd f = svd(a, false);
  const Array counts = f.s > max(f.s, -1, true) * least;
  return {f, counts, where(counts, 1 / where(counts, f.s, 1), 0)};
}

// Returns the derivative of x = p b, p the pseudo-inverse of a, along da: Golub and Pereyra (1973), for a rank that
// stays.
Array closest_derivative(const Array& p, const Array& a, const Array& da, const Array& x, const Array& rest) {
  const Array onto = matmul(adjoint(da), matmul(adjoint(p), x));
  return matmul(p, matmul(adjoint(p), matmul(adjoint(da), rest)) - matmul(a, onto) - matmul(da, x)) + onto;
}

Array pseudo_inverse(const Array& a, double least) {
  if (a.size() == 0) return zeros(turned(a).shape(), a.dtype());
  return custom_jvp(
      [least](const Array& a) {
        const Inverted f = inverted(a, least);
        return f(adjoint(f.factors.u));
      },
      [least](const Array& a, const Array& da) {
        const Array p = pseudo_inverse(a, least);
        return closest_derivative(p, a, da, p, eye(a.shape(-2), {}, a.dtype()) - matmul(a, p));
      },
      user_line({}))(a);
}

// Returns the x of least norm among those with the least |a x - b|.
Array closest(const Array& a, const Array& b, double least) {
  return custom_jvp(
      [least](const Array& a, const Array& b) {
        const Inverted f = inverted(a, least);
        return f(matmul(adjoint(f.factors.u), b));
      },
      [least](const Array& a, const Array& b, const Array& da, const Array& db) {
        const Array p = pseudo_inverse(a, least), x = closest(a, b, least);
        return closest_derivative(p, a, da, x, b - matmul(a, x)) + matmul(p, db);
      },
      user_line({}))(a, b);
}

std::string text(const NormOrder& order) {
  if (const Norm* kind = std::get_if<Norm>(&order)) return *kind == Norm::frobenius ? "frobenius" : "nuclear";
  return fmt::format("{}", std::get<double>(order));
}

}  // namespace

Array block_diag(const std::vector<Array>& blocks, std::source_location loc) {
  const AtLine line(loc);
  if (blocks.empty()) return zeros({1, 0});
  Arrays matrices;
  Shape extents{0, 0};
  for (const Array& block : promoted(blocks, loc)) {
    if (block.ndim() > 2)
      throw_user<ShapeError>("block_diag", to_string(block.aval()), "at most two axes", "", user_line(loc));
    matrices.push_back(block.ndim() == 2 ? block : reshape(block, {1, block.size()}));
    for (size_t i = 0; i < 2; ++i) extents[i] += matrices.back().shape()[i];
  }
  check_extents("block_diag", extents, matrices[0].dtype(), user_line(loc));
  return composite("block_diag", matrices, [&](const Arrays& in) {
    Arrays rows;
    for (int64_t before = 0; const Array& block : in) {
      rows.push_back(pad(block, {0, before}, {0, extents[1] - before - block.shape(1)}));
      before += block.shape(1);
    }
    return concatenate(rows, 0);
  });
}

Array matrix_transpose(const Operand& a) {
  require_matrices(a, "matrix_transpose", false);
  return swapaxes(a, -1, -2);
}

Array norm(const Operand& x, std::optional<NormOrder> order, std::optional<Shape> axes, bool keepdims) {
  const AtLine line(x.loc());
  const auto ndim = static_cast<int64_t>(x.shape().size());
  const Shape over = axes ? normalize_axes(*axes, ndim, "norm", user_line(x.loc())) : [&] {
    Shape all;
    for (int64_t axis = 0; axis < ndim; ++axis) all.push_back(axis);
    return all;
  }();
  if ((over.size() > 2 || over.empty()) && (order || axes))
    refuse(x, "norm", fmt::format("{} axes", over.size()), "one axis of vectors, or two of matrices");
  const bool vectors = over.size() == 1 || !order;
  if (vectors && order && std::holds_alternative<Norm>(*order))
    refuse(x, "norm", text(*order) + " of vectors", "a number");
  const std::string key =
      fmt::format("norm {} {} {} {}", order ? text(*order) : "", to_string(over), keepdims, vectors);
  return in_floats(key, x, [&](const Array& a) {
    if (!vectors) return matrix_norm(x, a, *order, over, keepdims);
    return vector_norm(a, order ? std::optional(std::get<double>(*order)) : std::nullopt, over, keepdims);
  });
}

Array matrix_rank(const Operand& a, std::optional<double> rtol) {
  const AtLine line(a.loc());
  if (a.shape().size() < 2) return any(a != 0).astype(i32);
  const auto larger = static_cast<double>(std::max(a.shape().back(), a.shape()[a.shape().size() - 2]));
  const double least = rtol.value_or(larger * epsilon(to_float_dtype(a.dtype())));
  return composite(fmt::format("matrix_rank {:a}", least), {a.as_array()}, [&](const Arrays& in) {
    const Array s = svdvals(in[0]);
    if (s.shape(-1) == 0) return zeros(Shape(s.shape().begin(), s.shape().end() - 1), i32);
    return sum((s > max(s, -1, true) * least).astype(i32), -1);
  });
}

Array pinv(const Operand& a, std::optional<double> rtol) {
  const AtLine line(a.loc());
  require_matrices(a, "pinv", false);
  const int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  const double least = rtol.value_or(10 * static_cast<double>(std::max(m, n)) * epsilon(to_float_dtype(a.dtype())));
  return in_floats(fmt::format("pinv {:a}", least), a, [&](const Array& x) { return pseudo_inverse(x, least); });
}

Lstsq lstsq(const Operand& a, const Operand& b, std::optional<double> rcond) {
  const AtLine line(a.loc());
  const bool vector = b.shape().size() == 1;
  if (a.shape().size() != 2 || b.shape().empty() || b.shape().size() > 2 || b.shape()[0] != a.shape()[0])
    refuse(a, "lstsq", to_string(Aval{a.shape(), a.dtype()}) + " and " + to_string(Aval{b.shape(), b.dtype()}),
           "[m, n] and [m] or [m, k]");
  const int64_t m = a.shape()[0], n = a.shape()[1];
  const std::array<const Operand*, 2> operands{&a, &b};
  const DType dtype = to_float_dtype(common_dtype(operands));
  const double least = rcond.value_or(epsilon(dtype) * static_cast<double>(std::max(m, n)));
  const int64_t k = std::min(m, n), columns = vector ? 1 : b.shape()[1], summed = m > n && n > 0 ? columns : 0;
  const Array packed = composite(fmt::format("lstsq {:a}", least), {a.as(dtype), b.as(dtype)}, [&](const Arrays& in) {
    const Array left = in[0].astype(wide(dtype)), right = reshape(in[1], {m, columns}).astype(wide(dtype));
    if (m == 0 || n == 0) return zeros({n * columns + summed + k + 1}, left.dtype());
    const Inverted f = inverted(left, least);
    const Array x = closest(left, right, least), rank = sum(f.counts.astype(real_dtype(left.dtype())), -1, true);
    Array residuals = zeros({0}, real_dtype(left.dtype()));
    if (summed > 0) residuals = where(rank < n, std::nan(""), sum(squared_magnitude(matmul(left, x) - right), 0));
    const auto in_one = [&](const Array& part) { return part.astype(left.dtype()); };
    return joined_parts({{x, 2}, {in_one(residuals), 1}, {in_one(f.factors.s), 1}, {in_one(rank), 1}});
  });
  Parts parts(packed);
  Lstsq result;
  result.x = parts.next(vector ? Shape{n} : Shape{n, columns}).astype(dtype);
  result.residuals = parts.next({summed}).astype(real_dtype(dtype));
  result.s = parts.next({k}).astype(real_dtype(dtype));
  result.rank = parts.next({}).astype(i32);
  return result;
}

Array matrix_power(const Operand& a, int64_t n) {
  const AtLine line(a.loc());
  require_matrices(a, "matrix_power", true);
  const Array base = n < 0 ? inv(a) : a.as_array();
  return composite(fmt::format("matrix_power {}", n), {base}, [&](const Arrays& in) {
    const Array& x = in[0];
    Array square = x, result;
    for (uint64_t left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left > 0; left /= 2) {
      if (left % 2 != 0) result = result.impl() ? matmul(result, square) : square;
      if (left > 1) square = matmul(square, square);
    }
    return result.impl() ? result : broadcast_to(eye(x.shape(-1), {}, x.dtype()), x.shape());
  });
}

namespace {

// Higham, "The scaling and squaring method for the matrix exponential revisited" (2005): up to this 1-norm the
// approximant of these coefficients is exact to the precision of the dtype, of degree 7 or 13.
struct Approximant {
  double most;
  std::vector<double> b;
};
const Approximant& approximant_of(DType dtype) {
  static const Approximant& single =
      *new Approximant{3.925724783138660, {17297280., 8648640., 1995840., 277200., 25200., 1512., 56., 1.}};
  static const Approximant& twice = *new Approximant{
      5.371920351148152,
      {64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000., 10559470521600.,
       670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.}};
  return real_dtype(dtype) == DType::f64 ? twice : single;
}

}  // namespace

// The matrix is halved until its norm is small; what comes of it is squared as often.
Array expm(const Operand& a) {
  const AtLine line(a.loc());
  require_matrices(a, "expm", true);
  return in_floats("expm", a, [&](const Array& x) {
    constexpr int64_t kMost = 16;  // norms to 2^16 times the bound, as JAX's max_squarings
    if (x.size() == 0) return x;
    const auto& [most, b] = approximant_of(x.dtype());
    const Array size = stop_gradient(max(sum(abs(x), -2), -1));
    const Array halvings = maximum(ceil(log2(size / most)), zeros_like(size));
    const Array halved = x / expand_dims(expand_dims(exp2(halvings), -1), -1);
    const Array unit = eye(x.shape(-1), {}, x.dtype());
    const Array x2 = matmul(halved, halved), x4 = matmul(x2, x2), x6 = matmul(x4, x2);
    Array odd = b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit, even = b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * unit;
    if (b.size() > 8) {
      odd = matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2) + odd;
      even = matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2) + even;
    }
    odd = matmul(halved, odd);
    const auto square = [&](const Array& i, const Array& power) {
      const Array wanted = halvings > i.astype(halvings.dtype());
      return cond(
          any(wanted),
          [&](const Array& p) {
            const Array of_these = expand_dims(expand_dims(wanted, -1), -1);
            const Array squared = where(of_these, p, unit);  // what is not wanted must not overflow
            return where(of_these, matmul(squared, squared), p);
          },
          [](const Array& p) { return p; }, power);
    };
    const Array result = fori_loop(0, kMost, square, solve(even - odd, even + odd));
    const Array too_large = expand_dims(expand_dims(halvings > static_cast<double>(kMost), -1), -1);
    return where(too_large, full({}, std::nan(""), x.dtype()), result);
  });
}

}  // namespace neap::linalg
