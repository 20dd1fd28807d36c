// Gamma numbers and what is made of them: beta, Dirichlet, Student's t, chi-squared; after JAX's definitions
// (jax/_src/random/core.py), with derivatives in the parameters.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/random.h>
#include <neap/transforms.h>

#include <limits>

#include <fmt/format.h>

#include "trace/library/random_common.h"
#include "trace/ops/ops_common.h"

namespace neap::random {

using namespace tracing;

namespace {

// Proposal is a step of Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), from one key and
// shape parameter.
struct Proposal {
  Array key, x_squared, v, u;
};
struct Normal {
  Array key, x, v;
};

// Returns V of a draw of gamma(alpha), alpha >= 1; `d` and the key of the boost are set.
Array accepted(const Array& key, const Array& alpha, Array& d, Array& boost_key) {
  const DType t = alpha.dtype();
  d = alpha - 1.0 / 3;
  const Array c = full({}, 1.0 / 3, t) / sqrt(d);
  const Array keys = random::split(key);
  boost_key = keys[1];
  const auto rejected = [&](const Proposal& p) {
    return (p.u >= 1 - 0.0331 * (p.x_squared * p.x_squared)) &
           (log(p.u) >= p.x_squared * 0.5 + d * (1 - p.v + log(p.v)));
  };
  const auto propose = [&](const Proposal& p) {
    const Array three = random::split(p.key, 3);
    const Normal last = while_loop([](const Normal& n) { return n.v <= 0; },
                                   [&](const Normal& n) {
                                     const Array two = random::split(n.key);
                                     const Array x = normal(two[1], {}, t);
                                     return Normal{two[0], x, 1 + x * c};
                                   },
                                   Normal{three[1], full({}, 0, t), full({}, -1, t)});
    return Proposal{three[0], last.x * last.x, last.v * last.v * last.v, uniform(three[2], {}, t)};
  };
  return while_loop(rejected, propose, Proposal{keys[0], full({}, 0, t), full({}, 1, t), full({}, 2, t)}).v;
}

Array gamma_of(const Array& key, const Array& alpha, bool logarithm) {
  const DType t = alpha.dtype();
  const Array large = alpha >= 1;
  Array d, boost_key;
  const Array v = accepted(key, select(large, alpha, alpha + 1), d, boost_key);
  if (logarithm) {
    const Array drawn = -exponential(boost_key, {}, t);
    return log(d) + log(v) + select(large | (drawn == 0), zeros_like(drawn), drawn * (1 / alpha));
  }
  const Array drawn = 1 - uniform(boost_key, {}, t);
  return d * v * select(large, ones_like(drawn), pow(drawn, 1 / alpha));
}

// Returns (d x / d a) / x where x is what gamma(a) drew: -(dP(a, x) / da) / (x dP(a, x) / dx), P the regularised lower
// incomplete gamma function; by its series below a, by the continued fraction of 1 - P above. x may have been rounded
// to 0: its logarithm says what it was.
Array log_slope_of(const Array& a, const Array& log_x) {
  const DType t = a.dtype();
  const bool is_wide = t == DType::f64;
  const double epsilon = is_wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  // For a large a it is 1 / (2 x) + 1 / (2 a), but for terms of a^-2.5, where the series would be long.
  const Array x = exp(log_x), large = a > (is_wide ? 1e7 : 1e4), below = x <= a + 1;
  const Array one = ones_like(a), zero = zeros_like(a), as = select(large, one, a);

  struct Series {
    Array n, term, slope, sum, sum_slope;  // of c_n = x^n / ((a + 1) ... (a + n)), and derivatives in a
  };
  const Array is_low = below & !large, xs = select(is_low, x, zero);
  const Series s = while_loop([&](const Series& i) { return any(i.term > epsilon * i.sum); },
                              [&](const Series& i) {
                                const Array n = i.n + 1, ratio = xs / (as + n), term = i.term * ratio;
                                const Array slope = i.slope * ratio - term / (as + n);
                                return Series{n, term, slope, i.sum + term, i.sum_slope + slope};
                              },
                              Series{zero, one, zero, one, zero});
  const Array low = -(s.sum * (log_x - digamma(as + 1)) + s.sum_slope) / as;

  // Fraction is the state of Lentz's method, and of its derivative in a.
  struct Fraction {
    Array n, b, c, c_slope, d, d_slope, h, h_slope, change;
  };
  const Array xf = select(below | large, as + 2, x), b0 = xf + 1 - as, d0 = 1 / b0;
  const Fraction f = while_loop(
      // At most 2000 steps are taken, so that the loop ends whatever the parameters are.
      [&](const Fraction& i) { return any(abs(i.change - 1) > epsilon) & (max(i.n) < 2000); },
      [&](const Fraction& i) {
        const Array n = i.n + 1, b = i.b + 2, an = n * (as - n);
        const Array d = 1 / (an * i.d + b), d_slope = -(d * d) * (n * i.d + an * i.d_slope - 1);
        const Array c = b + an / i.c, c_slope = -1 + n / i.c - an * i.c_slope / (i.c * i.c);
        const Array change = c * d, slope = c_slope * d + c * d_slope;
        return Fraction{n, b, c, c_slope, d, d_slope, i.h * change, i.h_slope * change + i.h * slope, change};
      },
      Fraction{zero, b0, full(a.shape(), 1e30, t), zero, d0, d0 * d0, d0, d0 * d0, 2 * one});
  const Array high = f.h * (log_x - digamma(as)) + f.h_slope;
  return select(large, 0.5 / x + 0.5 / a, select(below, low, high));
}

// Returns x, or its logarithm, which moves with a as what gamma(a) draws does.
Array moving(const Array& a, const Array& x) {
  return custom_jvp([](const Array&, const Array& drawn) { return drawn; },
                    [](const Array& at, const Array& drawn, const Array& da, const Array& dx) {
                      const Array moved = moving(at, drawn);
                      const Array log_x = log(maximum(moved, smallest_normal(at.dtype())));
                      return dx + da * moved * log_slope_of(at, log_x);
                    })(a, x);
}
Array moving_log(const Array& a, const Array& log_x) {
  return custom_jvp([](const Array&, const Array& drawn) { return drawn; },
                    [](const Array& at, const Array& drawn, const Array& da, const Array& dx) {
                      return dx + da * log_slope_of(at, moving_log(at, drawn));
                    })(a, log_x);
}

Array draw(const Operand& key, const Operand& a, const std::optional<Shape>& shape, DType dtype, bool logarithm,
           std::string_view op) {
  const AtLine line(key.loc());
  check_float(dtype, op, key.loc());
  check_positive(a, op, "shape parameter");
  const Shape result = shape.value_or(a.shape());
  check_draws(result, {&a}, op, key.loc());
  check_extents(op, joined(batch_of(key), result), DType::u64, user_line(key.loc()));
  const DType t = wide(dtype);
  return composite(
      fmt::format("{} {} {}", op, to_string(result), name(dtype)), {key.as_array(), a.as(t)}, [&](const Arrays& in) {
        const Shape whole = joined(batch_of(in[0]), result);
        const Array keys =
            reshape(random::split(in[0], Shape{element_count(result)}), {element_count(whole), in[0].shape().back()});
        const Array alphas = broadcast_to(in[1], whole), flat = stop_gradient(reshape(alphas, {-1}));
        Array drawn = vmap([&](const Array& k, const Array& one) { return gamma_of(k, one, logarithm); })(keys, flat);
        drawn = reshape(drawn, whole);
        return (logarithm ? moving_log(alphas, drawn) : moving(alphas, drawn)).astype(dtype);
      });
}

}  // namespace

Array gamma(const Operand& key, const Operand& a, std::optional<Shape> shape, DType dtype) {
  return draw(key, a, shape, dtype, false, "gamma");
}

Array loggamma(const Operand& key, const Operand& a, std::optional<Shape> shape, DType dtype) {
  return draw(key, a, shape, dtype, true, "loggamma");
}

Array beta(const Operand& key, const Operand& a, const Operand& b, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  check_positive(a, "beta", "parameter a");
  check_positive(b, "beta", "parameter b");
  const Shape result = shape ? *shape : broadcast_draws({&a, &b}, "beta", key.loc());
  check_draws(result, {&a, &b}, "beta", key.loc());
  const DType t = wide(dtype);
  const Array keys = random::split(key);
  const Array log_a = loggamma(keys[{ellipsis, 0, slice()}], a, result, t);
  const Array log_b = loggamma(keys[{ellipsis, 1, slice()}], b, result, t);
  const Array most = stop_gradient(maximum(log_a, log_b));
  const Array part = exp(log_a - most);
  return (part / (part + exp(log_b - most))).astype(dtype);
}

Array dirichlet(const Operand& key, const Operand& alpha, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  if (alpha.shape().empty())
    throw_user<ShapeError>("dirichlet", "alpha " + to_string(alpha.shape()), "an array [..., n]", "",
                           user_line(key.loc()));
  const Shape batch(alpha.shape().begin(), alpha.shape().end() - 1);
  Shape result = shape.value_or(batch);
  result.push_back(alpha.shape().back());
  return softmax(loggamma(key, alpha, result, wide(dtype)), -1).astype(dtype);
}

Array student_t(const Operand& key, const Operand& df, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  check_positive(df, "student_t", "number of degrees of freedom");
  const DType t = wide(dtype);
  const Shape result = shape.value_or(df.shape());
  const Array keys = random::split(key), half = df.as(t) / 2;
  const Array n = normal(keys[{ellipsis, 0, slice()}], result, t);
  return (n * sqrt(half / gamma(keys[{ellipsis, 1, slice()}], half, result, t))).astype(dtype);
}

Array chi_squared(const Operand& key, const Operand& df, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  check_positive(df, "chi_squared", "number of degrees of freedom");
  const DType t = wide(dtype);
  const Array half = df.as(t) / 2;
  return (2 * exp(loggamma(key, half, shape.value_or(df.shape()), t))).astype(dtype);
}

}  // namespace neap::random
