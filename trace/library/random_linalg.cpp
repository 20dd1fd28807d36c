// Random numbers made with linear algebra, after jax/_src/random/core.py.
#include <neap/creation.h>
#include <neap/linalg.h>
#include <neap/random.h>

#include <fmt/format.h>

#include "trace/library/linalg.h"
#include "trace/ops/ops_common.h"

namespace neap::random {

using namespace tracing;

namespace {

// Returns F with F F^T = covariance.
Array factor_of(const Array& covariance, CovarianceMethod method) {
  if (method == CovarianceMethod::cholesky) return linalg::cholesky(covariance);
  if (method == CovarianceMethod::svd) {
    const linalg::Svd f = linalg::svd(covariance);
    return f.u * expand_dims(sqrt(f.s), -2);
  }
  const linalg::Eigh f = linalg::eigh(covariance);
  return f.eigenvectors * expand_dims(sqrt(f.eigenvalues), -2);
}

}  // namespace

Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance,
                          std::optional<Shape> shape, std::optional<DType> dtype, CovarianceMethod method) {
  const AtLine line(key.loc());
  const Shape &m = mean.shape(), &c = covariance.shape();
  const auto refuse = [&](const std::string& expected) {
    throw_user<ShapeError>("multivariate_normal", fmt::format("mean {} and covariance {}", to_string(m), to_string(c)),
                           expected, "", user_line(key.loc()));
  };
  if (m.empty() || c.size() < 2 || c[c.size() - 1] != m.back() || c[c.size() - 2] != m.back())
    refuse("[..., n] and [..., n, n]");
  const Shape of_mean(m.begin(), m.end() - 1), of_covariance(c.begin(), c.end() - 2);
  const auto together = broadcast_shapes(of_mean, of_covariance);
  if (!together || (shape && broadcast_shapes(*together, *shape) != *shape))
    refuse("batches that broadcast to the shape");
  const std::array<const Operand*, 2> operands{&mean, &covariance};
  const DType result = dtype.value_or(to_float_dtype(common_dtype(operands)));
  if (!is_float(result))
    throw_user<DTypeError>("multivariate_normal", "dtype " + std::string(name(result)), "a floating dtype", "",
                           user_line(key.loc()));
  Shape all = shape.value_or(*together);
  all.push_back(m.back());
  check_extents("multivariate_normal", all, result, user_line(key.loc()));
  return composite(fmt::format("multivariate_normal {} {} {}", static_cast<int>(method), to_string(all), name(result)),
                   {key.as_array(), mean.as_array(), covariance.as_array()}, [&](const Arrays& in) {
                     const DType computed = wide(result);
                     const Array factor = factor_of(in[2].astype(computed), method);
                     const Array drawn = normal(in[0], all, result).astype(computed);
                     // One factor for all samples: they are rows of one matrix.
                     const Array moved = factor.ndim() == 2 ? matmul(drawn, turned(factor))
                                                            : squeeze(matmul(factor, expand_dims(drawn, -1)), -1);
                     return (in[1].astype(computed) + moved).astype(result);
                   });
}

Array orthogonal(const Operand& key, int64_t n, const Shape& shape, DType dtype, std::optional<int64_t> m) {
  const AtLine line(key.loc());
  const int64_t columns = m.value_or(n);
  Shape all = shape;
  all.insert(all.end(), {std::max(n, columns), std::min(n, columns)});
  check_extents("orthogonal", all, dtype, user_line(key.loc()));
  return composite(fmt::format("orthogonal {} {} {}", to_string(all), n < columns, name(dtype)), {key.as_array()},
                   [&](const Arrays& in) {
                     const auto [q, r] = linalg::qr(normal(in[0], all, dtype));
                     const Array x = q * expand_dims(sign(diagonal(r, 0, -2, -1)), -2);
                     return n < columns ? turned(x) : x;
                   });
}

}  // namespace neap::random
