// Counts: Poisson and binomial numbers, after JAX's definitions (jax/_src/random/core.py). Small means count arrivals,
// large ones accept or reject a transformed uniform number (Hormann 1993): all elements at once, until all are done.
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

Array at(const Array& keys, int64_t i) { return keys[i]; }

// Returns f(key, parameters broadcast to the shape) for each key of a batch: a draw depends on its own key alone,
// though its loop runs on until all its elements are accepted.
template <class F, class... P>
Array for_each_key(const Array& keys, const Shape& shape, const F& f, const P&... parameters) {
  const Shape batch = batch_of(keys);
  if (batch.empty()) return f(keys, broadcast_to(parameters, shape)...);
  const Array flat = reshape(keys, {element_count(batch), keys.shape().back()});
  return reshape(vmap([&](const Array& key) { return f(key, broadcast_to(parameters, shape)...); })(flat),
                 joined(batch, shape));
}

struct Arrivals {
  Array count, key, log_product;
};
struct Search {
  Array found, accepted, key;
};

// Counts, after Knuth, how many uniform numbers can be multiplied until their product is below exp(-mean).
Array poisson_arrivals(const Array& key, const Array& mean, const Shape& shape) {
  const Array zero = zeros_like(mean);
  const Arrivals last = while_loop([&](const Arrivals& i) { return any(i.log_product > -mean); },
                                   [&](const Arrivals& i) {
                                     const Array keys = random::split(i.key);
                                     const Array u = uniform(at(keys, 1), shape);
                                     return Arrivals{select(i.log_product > -mean, i.count + 1, i.count), at(keys, 0),
                                                     i.log_product + log(u)};
                                   },
                                   Arrivals{zero, key, zero});
  return last.count - 1;
}

Array poisson_rejection(const Array& key, const Array& mean, const Shape& shape) {
  const Array log_mean = log(mean), b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
  const Array inv_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  return while_loop([](const Search& s) { return any(!s.accepted); },
                    [&](const Search& s) {
                      const Array keys = random::split(s.key, 3);
                      const Array u = uniform(at(keys, 1), shape) - 0.5, v = uniform(at(keys, 2), shape);
                      const Array us = 0.5 - abs(u);
                      const Array k = floor((2 * a / us + b) * u + mean + 0.43);
                      const Array left = log(v * inv_alpha / (a / (us * us) + b));
                      const Array right = -mean + k * log_mean - lgamma(k + 1);
                      const Array reject = (k < 0) | ((us < 0.013) & (v > us));
                      const Array accept = ((us >= 0.07) & (v <= v_r)) | ((!reject) & (left <= right));
                      return Search{select(accept, k, s.found), s.accepted | accept, at(keys, 0)};
                    },
                    Search{full(mean.shape(), -1.0, DType::f32), full(mean.shape(), false), key})
      .found;
}

// Counts how many geometric gaps fit into count trials.
Array binomial_inversion(const Array& key, const Array& count, const Array& p, const Shape& shape) {
  struct Gaps {
    Array number, sum, key;
  };
  const Array log_failure = log1p(-p), zero = zeros_like(p);
  const Gaps last = while_loop([&](const Gaps& g) { return any(g.sum <= count); },
                               [&](const Gaps& g) {
                                 const Array keys = random::split(g.key);
                                 const Array u = uniform(at(keys, 0), shape, p.dtype());
                                 return Gaps{select(g.sum <= count, g.number + 1, g.number),
                                             g.sum + ceil(log(u) / log_failure), at(keys, 1)};
                               },
                               Gaps{zero, zero, key});
  return last.number - 1;
}

// Returns log(k!) less Stirling's formula.
Array stirling_tail(const Array& k) {
  static constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                     0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                     0.00925546218271273, 0.00833056343336287};
  const Array small = clamp(k, 0.0, 9.0), square_of = (small + 1) * (small + 1);
  const Array approximate = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square_of) / square_of) / (small + 1);
  Array tail = approximate;
  const Array whole = floor(small);
  for (size_t i = 0; i < std::size(kTail); ++i)
    tail = select(whole == static_cast<double>(i), full(k.shape(), kTail[i], k.dtype()), tail);
  return select(k <= 9, tail, approximate);
}

Array binomial_rejection(const Array& key, const Array& count, const Array& p, const Shape& shape) {
  const Array sd = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * sd, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const Array c = count * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * sd;
  const Array m = floor((count + 1) * p);
  return while_loop([](const Search& s) { return any(!s.accepted); },
                    [&](const Search& s) {
                      const Array keys = random::split(s.key, 3);
                      const Array u = uniform(at(keys, 1), shape, p.dtype()) - 0.5;
                      const Array v = uniform(at(keys, 2), shape, p.dtype()), us = 0.5 - abs(u);
                      const Array k = floor((2 * a / us + b) * u + c);
                      const Array reject = (k < 0) | (k > count);
                      const Array left = log(v * alpha / (a / (us * us) + b));
                      const Array right = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) +
                                          (count + 1) * log((count - m + 1) / (count - k + 1)) +
                                          (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                                          stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
                      const Array accept = ((us >= 0.07) & (v <= v_r)) | ((!reject) & (left <= right));
                      return Search{select(accept, k, s.found), s.accepted | accept, at(keys, 0)};
                    },
                    Search{full(p.shape(), -1.0, p.dtype()), full(p.shape(), false), key})
      .found;
}

}  // namespace

Array poisson(const Operand& key, const Operand& mean, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  if (!is_integer(dtype))
    throw_user<DTypeError>("poisson", std::string("dtype ") + std::string(name(dtype)), "an integer dtype", "",
                           user_line(key.loc()));
  if (mean.is_scalar() && !(mean.real() >= 0))
    throw_user<UserError>("poisson", fmt::format("mean {}", mean.real()), "a number not below 0", "",
                          user_line(key.loc()));
  const Shape result = shape.value_or(mean.shape());
  check_draws(result, {&mean}, "poisson", key.loc());
  const auto one = [&](const Array& k, const Array& all) {
    // Transformed rejection (Hormann 1993) holds from a mean of 10 on; below, arrivals are counted.
    const Array few = isnan(all) | (all < 10);
    const Array drawn = select(few, poisson_arrivals(k, select(few, all, zeros_like(all)), result),
                               poisson_rejection(k, select(few, full(result, 1e5, DType::f32), all), result));
    return select(all == 0, zeros_like(drawn), drawn).astype(dtype);
  };
  return composite(fmt::format("poisson {} {}", to_string(result), name(dtype)), {key.as_array(), mean.as(DType::f32)},
                   [&](const Arrays& in) { return for_each_key(in[0], result, one, stop_gradient(in[1])); });
}

Array binomial(const Operand& key, const Operand& count, const Operand& p, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  check_float(dtype, "binomial", key.loc());
  check_probability(p, "binomial");
  if (count.is_scalar() && !(count.real() >= 0))
    throw_user<UserError>("binomial", fmt::format("{} trials", count.real()), "a number not below 0", "",
                          user_line(key.loc()));
  const Shape result = shape ? *shape : broadcast_draws({&count, &p}, "binomial", key.loc());
  check_draws(result, {&count, &p}, "binomial", key.loc());
  const DType t = wide(p.is_scalar() || !is_float(p.dtype()) ? dtype : p.dtype());
  const auto one = [&](const Array& k, const Array& trials, const Array& chance) {
    const Array n = floor(trials), low = chance < 0.5, invalid_n = isnan(n) | (n < 0), infinite = isinf(n);
    const Array rarer = select(low, chance, 1 - chance), invalid = isnan(rarer) | (rarer < 0);
    const Array q = select(invalid, full(result, 0.01, t), rarer);
    // Transformed rejection (Hormann 1993) holds where more than 10 successes are expected; below, gaps are counted.
    const Array few = invalid_n | (n * q <= 10);
    Array drawn = select(
        few, binomial_inversion(k, select(few, n, zeros_like(n)), q, result),
        binomial_rejection(k, select(few, full(result, 1e4, t), n), select(few, full(result, 0.5, t), q), result));
    drawn = select(invalid | invalid_n, full(result, std::numeric_limits<double>::quiet_NaN(), t), drawn);
    drawn = select(infinite & !(invalid | invalid_n), n, drawn);
    return select(low | invalid_n | isnan(rarer) | infinite, drawn, n - drawn).astype(dtype);
  };
  return composite(
      fmt::format("binomial {} {} {}", to_string(result), name(dtype), name(t)), {key.as_array(), count.as(t), p.as(t)},
      [&](const Arrays& in) { return for_each_key(in[0], result, one, stop_gradient(in[1]), stop_gradient(in[2])); });
}

}  // namespace neap::random
