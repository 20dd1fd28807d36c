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

Aval infer_factor(const Site& site) {
  const Aval& a = site.in[0];
  for (const Aval& x : site.in) {
    if (x.dtype != DType::f32 && x.dtype != DType::f64) {
      site.fail<DTypeError>(to_string(x), "f32 or f64", "convert it first, for example with astype(f32)");
    }
    if (x.ndim() < 2) site.fail<ShapeError>(to_string(x), "[..., m, n]: at least two dimensions");
  }
  site.check_same_dtype();
  const int64_t m = a.shape[a.shape.size() - 2], n = a.shape.back();
  const bool square = site.op == Op::cholesky || site.op == Op::triangular_solve || site.op == Op::eigh;
  if (square && m != n) site.fail<ShapeError>(to_string(a), "square matrices [..., n, n]");
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
