// The rules of family factor: what is computed, and its shape.
#include "trace/graph/factor.h"

#include <algorithm>

#include "core/size.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {

factor::Form factor_form(Op op, std::span<const Aval> operands, const Attrs& attrs) {
  const Aval& a = operands.back();
  factor::Form form;
  form.dtype = a.dtype;
  const Size batch = Size::product(Shape(a.shape.begin(), a.shape.end() - 2));
  form.batch = batch.fits() ? batch.value() : 0;  // of more matrices than that none has an element
  form.m = a.shape[a.shape.size() - 2];
  form.n = a.shape.back();
  switch (op) {
    case Op::cholesky: form.kind = factor::Kind::cholesky; break;
    case Op::cholesky_tangent:
    case Op::cholesky_cotangent:
      form.kind = op == Op::cholesky_tangent ? factor::Kind::cholesky_tangent : factor::Kind::cholesky_cotangent;
      form.packed = attrs.integer_or(Attr::packed, 0) != 0;
      form.one_factor = !form.packed && operands[0].ndim() < a.ndim();
      break;
    case Op::triangular_solve:
      form.kind = factor::Kind::solve;
      form.lower = attrs.integer(Attr::lower) != 0;
      form.transposed = attrs.integer(Attr::transposed) != 0;
      form.unit = attrs.integer(Attr::unit) != 0;
      break;
    case Op::lu: form.kind = factor::Kind::lu; break;
    case Op::qr:
      form.kind = factor::Kind::qr;
      form.full = attrs.integer(Attr::full) != 0;
      break;
    case Op::eigh:
      form.kind = factor::Kind::eigh;
      form.vectors = attrs.integer(Attr::vectors) != 0;
      break;
    case Op::svd:
      form.kind = factor::Kind::svd;
      form.full = attrs.integer(Attr::full) != 0;
      form.vectors = attrs.integer(Attr::vectors) != 0;
      break;
    default: throw InternalError("no factorization");
  }
  return form;
}

namespace {

Aval infer_derivative_of_cholesky(const Site& site) {
  const Aval &l = site.in[0], &v = site.in[1];
  if (site.attrs.integer_or(Attr::packed, 0) != 0) {
    if (l.shape == Shape(v.shape.begin(), v.shape.end() - 1)) return v;
    site.fail<ShapeError>(fmt::format("{} and {}", to_string(l), to_string(v)), "[..., n] and [..., n, n]");
  }
  const Shape one(v.shape.end() - 2, v.shape.end());
  if (l.shape == v.shape || l.shape == one) return v;
  site.fail<ShapeError>(fmt::format("{} and {}", to_string(l), to_string(v)), "[..., n, n] twice, or [n, n] first");
}

}  // namespace

Aval infer_factor(const Site& site) {
  const Aval& a = site.in[0];
  for (const Aval& x : site.in) {
    if (x.dtype != DType::f32 && x.dtype != DType::f64) {
      site.fail<DTypeError>(to_string(x), "f32 or f64", "convert it first, for example with astype(f32)");
    }
  }
  site.check_same_dtype();
  const bool derivative = site.op == Op::cholesky_tangent || site.op == Op::cholesky_cotangent;
  const bool square = derivative || site.op == Op::cholesky || site.op == Op::triangular_solve || site.op == Op::eigh;
  for (const Aval& x : site.in.subspan(derivative ? 1 : 0)) {
    if (x.ndim() < 2) site.fail<ShapeError>(to_string(x), "[..., m, n]: at least two dimensions");
  }
  const Aval& matrices = site.in[derivative ? 1 : 0];
  const int64_t m = matrices.shape[matrices.shape.size() - 2], n = matrices.shape.back();
  if (square && m != n) site.fail<ShapeError>(to_string(matrices), "square matrices [..., n, n]");
  if (derivative) return infer_derivative_of_cholesky(site);
  const Shape batch(a.shape.begin(), a.shape.end() - 2);
  if (site.op == Op::cholesky) return a;
  if (site.op == Op::triangular_solve) {
    const Aval& b = site.in[1];
    Shape expected = batch;
    expected.insert(expected.end(), {n, b.shape.back()});
    if (b.shape != expected) {
      site.fail<ShapeError>(fmt::format("{} and {}", to_string(a), to_string(b)), "[..., n, n] and [..., n, k]");
    }
    return b;
  }
  if (site.op == Op::lu && a.dtype == DType::f32 && m > int64_t{1} << 24) {
    site.fail<ShapeError>(fmt::format("{} rows", m), "up to 2^24 of f32, in which the permutation is kept",
                          "convert it to f64");
  }
  const Size packed = factor::packed_size(factor_form(site.op, site.in, site.attrs));
  Shape shape = batch;
  shape.push_back(packed.value(name(site.op), "what it makes of " + to_string(a), site.loc));
  return {site.check_shape(shape), a.dtype};
}

}  // namespace neap::tracing
