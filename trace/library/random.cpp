// The random library: compositions of random_bits with elementwise ops, after JAX's definitions (jax/_src/random.py is
// the reference for the formulas; tests/golden/random for the values).
#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/random.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "trace/library/random_common.h"
#include "trace/ops/ops_common.h"

namespace neap::random {

using namespace tracing;

namespace {

void check_shape(std::string_view op, const Shape& shape, std::source_location loc) {
  check_extents(op, shape, DType::u8, user_line(loc));
}

std::string cache_key(std::string_view what, const Shape& shape, DType dtype) {
  return fmt::format("{} {} {}", what, to_string(shape), name(dtype));
}

// Returns f32 or f64 uniform in [0, 1): a random mantissa under exponent 0, minus 1.
Array unit(const Array& key, const Shape& shape, DType dtype) {
  const bool wide = dtype == DType::f64;
  const DType bits_dtype = wide ? DType::u64 : DType::u32;
  const Array drawn = bits(key, shape, bits_dtype);
  const Array mantissa = drawn >> full({}, wide ? 12 : 9, bits_dtype);
  const Array one =
      detail::scalar_constant(0, wide ? int64_t{0x3FF0000000000000} : int64_t{0x3F800000}, bits_dtype, {});
  return bitcast(mantissa | one, dtype) - 1.0;
}

// Returns JAX's bf16 and f16 in [0, 1): computed from 8 and 16 random bits in the dtype itself.
Array half_unit(const Array& key, const Shape& shape, DType dtype) {
  const int drawn = dtype == DType::bf16 ? 8 : 16, mantissa = dtype == DType::bf16 ? 7 : 10;
  const Array word = bits(key, shape, drawn == 8 ? DType::u8 : DType::u16).astype(DType::u16);
  const Array one = bitcast(full({}, 1.0, dtype), DType::u16);
  return bitcast((word >> full({}, drawn - mantissa, DType::u16)) | one, dtype) - 1.0;
}
Array half_uniform(const Array& key, const Shape& shape, const Array& low, const Array& high) {
  return maximum(low, half_unit(key, shape, low.dtype()) * (high - low) + low);
}

// Draws in the compute dtype (f32 or f64); bounds already have it.
Array uniform_in(const Array& key, const Shape& shape, DType dtype, const Array& low, const Array& high) {
  return maximum(low, unit(key, shape, dtype) * (high - low) + low);
}

Array constant(double value, DType dtype) { return full({}, value, dtype); }

double epsilon(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Array standard_normal(const Array& key, const Shape& shape, DType dtype) {
  const double low = dtype == DType::f64 ? std::nextafter(-1.0, 0.0) : std::nextafter(-1.0f, 0.0f);
  return erf_inv(uniform_in(key, shape, dtype, constant(low, dtype), constant(1, dtype))) * std::sqrt(2.0);
}

Array gumbel_in(const Array& key, const Shape& shape, DType dtype) {
  return -log(-log(uniform_in(key, shape, dtype, constant(smallest_normal(dtype), dtype), constant(1, dtype))));
}

// Draws from a distribution without parameters: computed in f32 (f64), rounded to dtype, as one executable outside a
// trace.
template <class F>
Array distribution(std::string_view what, const Operand& key, const Shape& shape, DType dtype, F f) {
  const AtLine line(key.loc());
  check_float(dtype, what, key.loc());
  check_shape(what, shape, key.loc());
  return composite(cache_key(what, shape, dtype), {key.as_array()},
                   [&](const Arrays& in) { return f(in[0], wide(dtype)).astype(dtype); });
}

}  // namespace

Array key(uint64_t seed, Loc loc) { return key(seed, Generator::threefry, loc); }

Array key(uint64_t seed, Generator generator, Loc loc) {
  const auto high = static_cast<uint32_t>(seed >> 32), low = static_cast<uint32_t>(seed);
  std::vector<uint32_t> words{high, low};
  if (generator == Generator::philox) words = {low, high, 0, 0};
  if (!is_tracing()) return detail::from_host(words.data(), {std::ssize(words)}, DType::u32, loc);
  const AtLine line(loc);
  Arrays parts;
  for (const uint32_t word : words) parts.push_back(full({1}, static_cast<int64_t>(word), DType::u32));
  return concatenate(parts);
}

Array key(const Array& seed, Generator generator, Loc loc) {
  const AtLine line(loc);
  if (!is_integer(seed.dtype()))
    throw_user<DTypeError>("key", "a seed " + to_string(seed.aval()), "integers", "", user_line(loc));
  return composite(generator == Generator::philox ? "key philox" : "key", {seed}, [&](const Arrays& in) {
    const Array whole = (is_signed(in[0].dtype()) ? in[0].astype(DType::i64) : in[0]).astype(DType::u64);
    const Array high = (whole >> full({}, 32, DType::u64)).astype(DType::u32), low = whole.astype(DType::u32);
    const Array none = zeros_like(low);
    return generator == Generator::philox ? stack({low, high, none, none}, -1) : stack({high, low}, -1);
  });
}

Array split(const Operand& key, const Shape& shape) {
  check_shape("split", shape, key.loc());
  return apply(Op::random_split, {key.as_array()}, {{Attr::shape, shape}}, key.loc());
}
Array split(const Operand& key, int64_t count) { return split(key, Shape{count}); }

Array fold_in(const Operand& key, const Operand& data) {
  const AtLine line(key.loc());
  if (data.is_scalar() ? data.kind() == WeakKind::floating : is_float(data.dtype()))
    throw_user<DTypeError>("fold_in", "a floating number", "an integer", "", user_line(key.loc()));
  Array k = key.as_array(),
        d = data.is_scalar() ? full({}, data.integer() & 0xFFFFFFFF, DType::u32) : data.as(DType::u32);
  const auto batch = broadcast_shapes(batch_of(k), d.shape());
  if (!batch)
    throw_user<ShapeError>("fold_in",
                           "key " + to_string(k.aval()) + " and data " + to_string(d.aval()) + " do not broadcast", "",
                           "", key.loc());
  return apply(Op::random_fold_in, {broadcast_to(k, joined(*batch, {k.shape().back()})), broadcast_to(d, *batch)}, {},
               key.loc());
}

Array bits(const Operand& key, const Shape& shape, DType dtype) {
  if (!is_unsigned(dtype))
    throw_user<DTypeError>("bits", std::string("dtype ") + std::string(name(dtype)), "u8, u16, u32 or u64", "",
                           user_line(key.loc()));
  check_shape("bits", shape, key.loc());
  return apply(Op::random_bits, {key.as_array()}, {{Attr::shape, shape}, {Attr::dtype, dtype}}, key.loc());
}

Array uniform(const Operand& key, const Shape& shape, DType dtype, const Operand& low, const Operand& high,
              bool exact_jax) {
  const AtLine line(key.loc());
  check_float(dtype, "uniform", key.loc());
  check_shape("uniform", shape, key.loc());
  const DType compute = exact_jax ? dtype : wide(dtype);
  const bool half = exact_jax && compute != wide(dtype);
  const auto draw = [&](const Array& k, const Array& a, const Array& b) {
    const Shape full_shape = joined(batch_of(k), shape);
    for (const Array& bound : {a, b})
      if (broadcast_shapes(bound.shape(), full_shape) != full_shape)
        throw_user<ShapeError>("uniform",
                               "bound " + to_string(bound.aval()) + " does not broadcast to " + to_string(full_shape),
                               "", "", key.loc());
    const Array u = half ? half_uniform(k, shape, a, b) : uniform_in(k, shape, compute, a, b);
    if (dtype == compute) return u;
    // Rounding to nearest may reach the upper bound: the interval stays half open.
    const Array r = u.astype(dtype), top = b.astype(dtype);
    return select(r < top, r, nextafter(top, a.astype(dtype)));
  };
  // The usual bounds cost no arithmetic; others are inputs, so that one executable serves all their values.
  if (low.is_scalar() && high.is_scalar() && low.real() == 0 && high.real() == 1) {
    return composite(cache_key(half ? "uniform 0 1 exact" : "uniform 0 1", shape, dtype), {key.as_array()},
                     [&](const Arrays& in) { return draw(in[0], low.as(compute), high.as(compute)); });
  }
  return composite(cache_key(half ? "uniform exact" : "uniform", shape, dtype),
                   {key.as_array(), low.as(compute), high.as(compute)},
                   [&](const Arrays& in) { return draw(in[0], in[1], in[2]); });
}

Array normal(const Operand& key, const Shape& shape, DType dtype, bool exact_jax) {
  if (exact_jax && is_float(dtype) && dtype != wide(dtype)) {
    const AtLine line(key.loc());
    return composite(cache_key("normal exact", shape, dtype), {key.as_array()}, [&](const Arrays& in) {
      const Array one = full({}, 1.0, dtype);
      return erf_inv(half_uniform(in[0], shape, nextafter(-one, zeros({}, dtype)), one)) * std::sqrt(2.0);
    });
  }
  return distribution("normal", key, shape, dtype,
                      [&](const Array& k, DType t) { return standard_normal(k, shape, t); });
}
Array gumbel(const Operand& key, const Shape& shape, DType dtype) {
  return distribution("gumbel", key, shape, dtype, [&](const Array& k, DType t) { return gumbel_in(k, shape, t); });
}
Array exponential(const Operand& key, const Shape& shape, DType dtype) {
  return distribution("exponential", key, shape, dtype,
                      [&](const Array& k, DType t) { return -log1p(-unit(k, shape, t)); });
}
Array laplace(const Operand& key, const Shape& shape, DType dtype) {
  return distribution("laplace", key, shape, dtype, [&](const Array& k, DType t) {
    const Array u = uniform_in(k, shape, t, constant(-1 + epsilon(t), t), constant(1, t));
    return sign(u) * log1p(-abs(u));
  });
}
Array logistic(const Operand& key, const Shape& shape, DType dtype) {
  return distribution("logistic", key, shape, dtype, [&](const Array& k, DType t) {
    const Array u = uniform_in(k, shape, t, constant(epsilon(t), t), constant(1, t));
    return log(u / (1 - u));
  });
}
Array cauchy(const Operand& key, const Shape& shape, DType dtype) {
  return distribution("cauchy", key, shape, dtype, [&](const Array& k, DType t) {
    const Array u = uniform_in(k, shape, t, constant(epsilon(t), t), constant(1, t));
    return tan((u - 0.5) * 3.14159265358979323846);
  });
}

Array truncated_normal(const Operand& key, const Operand& low, const Operand& high, const Shape& shape, DType dtype) {
  const AtLine line(key.loc());
  check_float(dtype, "truncated_normal", key.loc());
  check_shape("truncated_normal", shape, key.loc());
  const DType t = wide(dtype);
  return composite(
      cache_key("truncated_normal", shape, dtype), {key.as_array(), low.as(t), high.as(t)}, [&](const Arrays& in) {
        const Array &a = in[1], &b = in[2];
        const double root = std::sqrt(2.0), inf = std::numeric_limits<double>::infinity();
        const Array z = erf_inv(uniform_in(in[0], shape, t, erf(a / root), erf(b / root))) * root;
        return clamp(z, nextafter(stop_gradient(a), constant(inf, t)), nextafter(stop_gradient(b), constant(-inf, t)))
            .astype(dtype);
      });
}

Array randint(const Operand& key, const Shape& shape, const Operand& low, const Operand& high, DType dtype) {
  const AtLine line(key.loc());
  if (!is_integer(dtype))
    throw_user<DTypeError>("randint", std::string("dtype ") + std::string(name(dtype)), "an integer dtype", "",
                           key.loc());
  check_shape("randint", shape, key.loc());
  const int width = static_cast<int>(size_of(dtype)) * 8;
  // Narrow integers are drawn from 32 bits, as JAX does: 8 would be far from uniform on most spans.
  const DType word = width == 64 ? DType::u64 : DType::u32;
  // The largest bound that the dtype holds, and whether high lies just above it (then the span is one more).
  const uint64_t top = is_signed(dtype) ? (uint64_t{1} << (width - 1)) - 1 : ~uint64_t{0} >> (64 - width);
  const int64_t bottom = is_signed(dtype) ? -static_cast<int64_t>(top) - 1 : 0;
  bool above = false;
  const auto bound = [&](const Operand& x, bool is_high) {
    if (!x.is_scalar()) return x.as(dtype);
    if (x.kind() == WeakKind::floating)
      throw_user<DTypeError>("randint", "a floating bound", "an integer", "", key.loc());
    if (x.real() <= 0) return full({}, std::max(x.integer(), bottom), dtype);
    const auto v = static_cast<uint64_t>(x.integer());
    if (is_high) above = v > top;
    return full({}, std::min(v, top), dtype);
  };
  const Array a = bound(low, false), b = bound(high, true);
  const auto draw = [&](const Arrays& in) {
    const Array keys = random::split(in[0], 2);
    const Array k1 = keys[{ellipsis, 0, slice()}], k2 = keys[{ellipsis, 1, slice()}];
    const Array higher = bits(k1, shape, word), lower = bits(k2, shape, word);
    Array span = in[2].astype(word) - in[1].astype(word);
    span = select(in[2] <= in[1], ones_like(span), above ? span + 1 : span);
    // 2^w mod span for words of w bits, without leaving the word: (2^(w / 2) mod span)^2 mod span.
    const Array half = full({}, int64_t{1} << (word == DType::u64 ? 32 : 16), word);
    const Array root = remainder(half, span);
    const Array multiplier = remainder(root * root, span);
    const Array offset = remainder(remainder(higher, span) * multiplier + remainder(lower, span), span);
    return in[1] + offset.astype(dtype);
  };
  return composite(cache_key(above ? "randint+" : "randint", shape, dtype), {key.as_array(), a, b}, draw);
}

Array bernoulli(const Operand& key, const Operand& p, std::optional<Shape> shape) {
  const AtLine line(key.loc());
  check_probability(p, "bernoulli");
  const Shape s = shape.value_or(p.shape());
  const DType t = wide(to_float_dtype(p.dtype()));
  return composite(cache_key("bernoulli", s, t), {key.as_array(), p.as(t)},
                   [&](const Arrays& in) { return unit(in[0], s, t) < in[1]; });
}

Array lognormal(const Operand& key, const Operand& sigma, std::optional<Shape> shape, DType dtype) {
  const AtLine line(key.loc());
  check_float(dtype, "lognormal", key.loc());
  const Shape result = shape.value_or(sigma.shape());
  check_shape("lognormal", result, key.loc());
  check_draws(joined(batch_of(key), result), {&sigma}, "lognormal", key.loc());
  const DType t = wide(dtype);
  return composite(cache_key("lognormal", result, dtype), {key.as_array(), sigma.as(t)},
                   [&](const Arrays& in) { return exp(in[1] * standard_normal(in[0], result, t)).astype(dtype); });
}

Array rademacher(const Operand& key, const Shape& shape, DType dtype) {
  const AtLine line(key.loc());
  return (2 * bernoulli(key, 0.5f, shape).astype(DType::i32) - 1).astype(dtype);
}

Array categorical(const Operand& key, const Operand& logits, int64_t axis, std::optional<Shape> shape) {
  const AtLine line(key.loc());
  const DType t = wide(to_float_dtype(logits.dtype()));
  const int64_t ndim = static_cast<int64_t>(logits.shape().size());
  const int64_t from_end = normalize_axis(axis, ndim, "categorical", key.loc()) - ndim;
  Shape batch = logits.shape();
  batch.erase(batch.end() + from_end);
  const Shape result = shape.value_or(batch);
  if (broadcast_shapes(batch, result) != result)
    throw_user<ShapeError>("categorical", "shape " + to_string(result) + " for logits " + to_string(logits.shape()),
                           "a shape that " + to_string(batch) + " broadcasts to", "", key.loc());
  Shape noise = result;
  noise.insert(noise.end() + from_end + 1, logits.shape()[ndim + from_end]);
  return composite(cache_key(fmt::format("categorical {}", from_end), noise, t), {key.as_array(), logits.as(t)},
                   [&](const Arrays& in) { return argmax(gumbel_in(in[0], noise, t) + in[1], from_end); });
}

}  // namespace neap::random
