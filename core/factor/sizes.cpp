// What shapes alone say of factorizations, on every processor.
#include <algorithm>

#include "core/factor/factor.h"

namespace neap::factor {

int64_t result_size(const Form& form) { return packed_size(form).value(); }

Size packed_size(const Form& form) {
  const Size m = form.m, n = form.n, k = std::min(form.m, form.n);
  switch (form.kind) {
    case Kind::cholesky:
    case Kind::cholesky_tangent:
    case Kind::cholesky_cotangent:
    case Kind::solve: return m * n;
    case Kind::lu: return m * n + k + m;
    case Kind::qr: return form.full ? m * m + m * n : m * k + k * n;
    case Kind::eigh: return form.vectors ? n + n * n : n;
    case Kind::svd: return !form.vectors ? k : form.full ? k + m * m + n * n : k + m * k + k * n;
  }
  return 0;
}

double flops(const Form& form) {
  const auto m = static_cast<double>(form.m), n = static_cast<double>(form.n);
  const double small = std::min(m, n), large = std::max(m, n), tall = small * small * (large - small / 3);
  switch (form.kind) {
    case Kind::cholesky: return n * n * n / 3;
    case Kind::cholesky_tangent: return n * n * n * 5 / 6;
    case Kind::cholesky_cotangent: return n * n * n * 2 / 3;
    case Kind::solve: return m * m * n;
    case Kind::lu: return tall;
    case Kind::qr: return 4 * tall + (form.full ? 2 * small * large * large : 0);
    case Kind::eigh: return (!form.vectors ? 1.5 : form.n < kDividedRows ? 9 : 5) * n * n * n;
    case Kind::svd: return 2 * tall + (!form.vectors ? 3 : small < kDividedRows ? 15 : 9) * small * small * large;
  }
  return 0;
}

}  // namespace neap::factor
