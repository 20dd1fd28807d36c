// Permutations and choices of given things, after JAX's definitions (jax/_src/random/core.py).
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>
#include <neap/random.h>

#include <cmath>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::random {

using namespace tracing;

namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // indices are i32

// Returns how often to sort. Sorting by 32 random bits leaves ties in order; each round makes them rarer by about 2^32
// / n, and 3 log(n) / log(2^32 - 1) rounds are JAX's number.
int rounds(int64_t n) {
  return static_cast<int>(
      std::ceil(3 * std::log(static_cast<double>(std::max<int64_t>(1, n))) / std::log(4294967295.0)));
}

// Returns the numbers 0 to n - 1 in random order, i32 [batch of keys..., n].
Array shuffled(const Array& key, int64_t n) {
  Shape shape = key.shape();
  shape.back() = n;
  Array order = broadcast_to(arange(n), shape), rest = key;
  for (int round = 0; round < rounds(n); ++round) {
    const Array keys = random::split(rest, 2);
    rest = keys[{ellipsis, 0, slice()}];
    order = take_along_axis(order, argsort(bits(keys[{ellipsis, 1, slice()}], {n})), -1);
  }
  return order;
}

void check_count(int64_t n, std::string_view op, std::source_location loc) {
  if (n < 0 || n >= kMostElements)
    throw_user<UserError>(op, fmt::format("{} elements", n), "at least 0 and fewer than 2^31", "", user_line(loc));
}

void check_one_key(const Operand& key, std::string_view op) {
  if (key.shape().size() != 1)
    throw_user<ShapeError>(op, "keys " + to_string(key.shape()), "one key u32[2]",
                           "vmap over the keys for a draw of each", user_line(key.loc()));
}

Array reshaped_draw(const Array& drawn, const Array& x, int64_t axis, const Shape& shape) {
  Shape result(x.shape().begin(), x.shape().begin() + axis);
  result.insert(result.end(), shape.begin(), shape.end());
  result.insert(result.end(), x.shape().begin() + axis + 1, x.shape().end());
  return reshape(drawn, result);
}

}  // namespace

Array permutation(const Operand& key, int64_t n) {
  const AtLine line(key.loc());
  check_count(n, "permutation", key.loc());
  return composite(fmt::format("permutation {}", n), {key.as_array()},
                   [&](const Arrays& in) { return shuffled(in[0], n); });
}

Array permutation(const Operand& key, const Array& x, int64_t axis) {
  const AtLine line(key.loc());
  check_one_key(key, "permutation");
  const int64_t a = normalize_axis(axis, static_cast<int64_t>(x.shape().size()), "permutation", key.loc());
  return take(x, permutation(key, x.shape()[a]), a);
}

Array choice(const Operand& key, int64_t n, const Shape& shape, bool replace, const std::optional<Array>& p) {
  const AtLine line(key.loc());
  check_count(n, "choice", key.loc());
  check_one_key(key, "choice");
  check_extents("choice", shape, DType::i32, user_line(key.loc()));
  const int64_t draws = element_count(shape);
  if (p && p->shape() != Shape{n})
    throw_user<ShapeError>("choice", "probabilities " + to_string(p->shape()), to_string(Shape{n}),
                           "one for each element", user_line(key.loc()));
  if (p && !is_float(p->dtype()))
    throw_user<DTypeError>("choice", "probabilities " + to_string(p->aval()), "a floating dtype", "",
                           user_line(key.loc()));
  if (draws == 0) return zeros(shape, DType::i32);
  if (n == 0 || (!replace && draws > n))
    throw_user<UserError>("choice", fmt::format("{} draws from {} elements", draws, n),
                          n == 0 ? "at least one element" : "no more draws than elements",
                          n == 0 ? "" : "replace = true draws with replacement", user_line(key.loc()));
  if (!p) {
    if (replace) return randint(key, shape, 0, n);
    return reshape(permutation(key, n)[{slice(draws)}], shape);
  }
  const DType t = wide(p->dtype());
  const std::string name = fmt::format("choice {} {} {} {}", replace, n, to_string(shape), neap::name(t));
  return composite(name, {key.as_array(), p->astype(t)}, [&](const Arrays& in) {
    if (!replace) return reshape(top_k(gumbel(in[0], {n}, t) + log(in[1]), draws).second, shape);
    const Array summed = cumsum(in[1], 0);
    return searchsorted(summed, summed[-1] * (1 - uniform(in[0], shape, t))).astype(DType::i32);
  });
}

Array choice(const Operand& key, const Array& x, const Shape& shape, bool replace, const std::optional<Array>& p,
             int64_t axis) {
  const AtLine line(key.loc());
  const int64_t a = normalize_axis(axis, static_cast<int64_t>(x.shape().size()), "choice", key.loc());
  const int64_t n = x.shape()[a];
  return reshaped_draw(take(x, reshape(choice(key, n, shape, replace, p), {-1}), a), x, a, shape);
}

}  // namespace neap::random
