#include <neap/creation.h>

#include "trace/library/linalg.h"
#include "trace/library/linalg_complex.h"

namespace neap::tracing {

Array joined_parts(const std::vector<std::pair<Array, int64_t>>& parts) {
  std::vector<Array> flat;
  for (const auto& [part, axes] : parts) {
    Shape shape(part.shape().begin(), part.shape().end() - axes);
    shape.push_back(element_count(Shape(part.shape().end() - axes, part.shape().end())));
    flat.push_back(reshape(part, shape));
  }
  return concatenate(flat, -1);
}

Array solve_left(const Array& t, const Array& b, TriangularForm form) {
  if (is_complex(t.dtype())) return complex_matrices::triangular_solve(t, b, form.lower, form.transposed, form.unit);
  return apply(Op::triangular_solve, {t, b},
               {{Attr::lower, int64_t{form.lower}},
                {Attr::transposed, int64_t{form.transposed}},
                {Attr::unit, int64_t{form.unit}}},
               user_line({}));
}

Array solve_right(const Array& t, const Array& b, TriangularForm form) {
  form.transposed = !form.transposed;
  return turned(solve_left(t, turned(b), form));
}

LuParts lu_parts(const Array& a, const Array& packed) {
  const int64_t m = a.shape(-2), n = a.shape(-1);
  Parts parts(packed);
  LuParts result;
  result.both = parts.next({m, n});
  result.pivots = parts.next({std::min(m, n)});
  result.permutation = parts.next({m});
  return result;
}

QrParts qr_parts(const Array& a, const Array& packed, bool full) {
  const int64_t m = a.shape(-2), n = a.shape(-1), k = full ? m : std::min(m, n);
  Parts parts(packed);
  QrParts result;
  result.q = parts.next({m, k});
  result.r = parts.next({k, n});
  return result;
}

EighParts eigh_parts(const Array& a, const Array& packed) {
  const int64_t n = a.shape(-1);
  Parts parts(packed);
  EighParts result;
  result.values = parts.next({n});
  result.vectors = parts.next({n, n});
  return result;
}

SvdParts svd_parts(const Array& a, const Array& packed, bool full) {
  const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
  Parts parts(packed);
  SvdParts result;
  result.s = parts.next({k});
  result.u = parts.next({m, full ? m : k});
  result.vt = parts.next({full ? n : k, n});
  return result;
}

Array rows_in_order(const Array& x, const Array& permutation) {
  return take_along_axis(x, broadcast_to(expand_dims(permutation, -1), x.shape()), -2, GatherMode::promise_in_bounds);
}

}  // namespace neap::tracing
