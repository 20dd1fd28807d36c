// Attention (neap/nn.h), after jax.nn: two products and a softmax, which the planner runs by rows.
#include <neap/creation.h>
#include <neap/nn.h>

#include <cmath>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

// Sizes are those of an attention: each key head serves a group of query heads.
struct Sizes {
  int64_t batch, queries, keys, key_heads, group, depth;
  int64_t heads() const { return key_heads * group; }
};

Array with_four_axes(const Array& x) {
  Shape shape = x.shape();
  shape.insert(shape.begin(), 4 - shape.size(), 1);
  return reshape(x, shape);
}

class Checks {
 public:
  Checks(const Array& query, const Array& key, const Array& value, std::source_location loc) : loc_(loc) {
    const auto refuse = [&](std::string_view expected) {
      throw_user<ShapeError>(
          kOp, fmt::format("{}, {} and {}", to_string(query.aval()), to_string(key.aval()), to_string(value.aval())),
          std::string(expected), "", user_line(loc));
    };
    const int64_t ndim = query.ndim();
    if ((ndim != 3 && ndim != 4) || key.ndim() != ndim || value.shape() != key.shape())
      refuse(
          "query [batch, queries, heads, depth], key and value [batch, keys, key heads, depth], or all without batch");
    if (query.shape(-1) != key.shape(-1) || (ndim == 4 && query.shape(0) != key.shape(0)))
      refuse("one depth and one batch");
    if (key.shape(-2) == 0 || query.shape(-2) % key.shape(-2) != 0) refuse("heads that the key heads divide");
    if (!is_float(query.dtype()) || key.dtype() != query.dtype() || value.dtype() != query.dtype())
      throw_user<DTypeError>(
          kOp, fmt::format("{}, {} and {}", to_string(query.aval()), to_string(key.aval()), to_string(value.aval())),
          "one floating dtype", "", user_line(loc));
    sizes = {ndim == 4 ? query.shape(0) : 1,  query.shape(-3), key.shape(-3), key.shape(-2),
             query.shape(-2) / key.shape(-2), query.shape(-1)};
  }

  // Throws unless the array broadcasts to the scores.
  void scores(std::string_view what, const Array& x) const {
    const Shape all{sizes.batch, sizes.heads(), sizes.queries, sizes.keys};
    if (x.ndim() > 4 || broadcast_shapes(x.shape(), all) != all)
      throw_user<ShapeError>(kOp, fmt::format("{} {}", what, to_string(x.aval())),
                             "what broadcasts to the scores " + to_string(all), "", user_line(loc_));
  }
  void mask(const Array& x) const {
    if (x.dtype() != DType::bool_)
      throw_user<DTypeError>(kOp, "mask " + to_string(x.aval()), "bool", "numbers to add are a bias", user_line(loc_));
    scores("mask", x);
  }
  void lengths(std::string_view what, const Array& x) const {
    if (!is_integer(x.dtype()))
      throw_user<DTypeError>(kOp, fmt::format("{} {}", what, to_string(x.aval())), "integers", "", user_line(loc_));
    if (x.shape() != Shape{sizes.batch})
      throw_user<ShapeError>(kOp, fmt::format("{} {}", what, to_string(x.aval())),
                             fmt::format("one for each of a batch of {}", sizes.batch), "", user_line(loc_));
  }
  void window(std::pair<int64_t, int64_t> w) const {
    if (w.first < 0 || w.second < 0)
      throw_user<ShapeError>(kOp, fmt::format("a window of {} and {} keys", w.first, w.second), "0 or more", "",
                             user_line(loc_));
  }

  Sizes sizes{};

 private:
  static constexpr std::string_view kOp = "dot_product_attention";
  std::source_location loc_;
};

// Scores are [batch, key heads, group, queries, keys], without the group's axis where it is one head.
class Attention {
 public:
  Attention(const Sizes& sizes, const AttentionOptions& options) : s_(sizes), options_(options) {}

  Array operator()(const Array& query, const Array& key, const Array& value, const Arrays& more) {
    const DType dtype = query.dtype(), computed = wide(dtype);
    const bool grouped = s_.group > 1;
    // [batch, heads, length, depth]
    const Array k = transpose(key, Shape{0, 2, 1, 3}), v = transpose(value, Shape{0, 2, 1, 3});
    Array q = transpose(query, Shape{0, 2, 1, 3});
    if (grouped) q = reshape(q, {s_.batch, s_.key_heads, s_.group, s_.queries, s_.depth});
    const int64_t last = grouped ? 4 : 3;
    Array scores = dot_general(q.astype(computed), k.astype(computed), {last}, {3}, {0, 1}, {0, 1}) *
                   options_.scale.value_or(1 / std::sqrt(static_cast<double>(s_.depth)));
    auto next = more.begin();
    if (options_.bias) scores = scores + in_groups(*next++).astype(computed);
    scores = masked(scores, next);
    const Array weights = softmax(scores).astype(dtype);
    Array out = dot_general(weights, v, {last}, {2}, {0, 1}, {0, 1});
    if (grouped) out = reshape(out, {s_.batch, s_.heads(), s_.queries, s_.depth});
    out = transpose(out, Shape{0, 2, 1, 3});
    if (queries_count_) out = where(reshape(*queries_count_, {s_.batch, s_.queries, 1, 1}), out, zeros_like(out));
    return out;
  }

 private:
  // Returns what broadcasts to [batch, heads, queries, keys] in the scores' shape.
  Array in_groups(const Array& x) const {
    const Array a = with_four_axes(x);
    if (s_.group == 1) return a;
    Shape shape = a.shape();
    const bool each = shape[1] != 1;
    shape[1] = each ? s_.key_heads : 1;
    shape.insert(shape.begin() + 2, each ? s_.group : 1);
    return reshape(a, shape);
  }
  // Returns the numbers 0, 1, ... along one axis of [1, 1, queries, keys].
  Array place(bool of_keys) const {
    return iota({1, 1, of_keys ? 1 : s_.queries, of_keys ? s_.keys : 1}, of_keys ? 3 : 2, DType::i32);
  }

  Array masked(const Array& scores, Arrays::const_iterator next) {
    std::optional<Array> seen;
    const auto also = [&](const Array& mask) { seen = seen ? *seen & mask : mask; };
    if (options_.mask) also(in_groups(*next++));
    const Array q = place(false), k = place(true);
    if (options_.is_causal) also(in_groups(q >= k));
    if (options_.local_window) {
      const auto [before, behind] = *options_.local_window;
      also(in_groups((q - std::min(before, s_.keys + s_.queries) <= k) &
                     (q + std::min(behind, s_.keys + s_.queries) >= k)));
    }
    if (options_.query_seq_lengths) {
      queries_count_ = q < reshape(*next++, {s_.batch, 1, 1, 1});
      also(in_groups(*queries_count_));
    }
    if (options_.key_value_seq_lengths) also(in_groups(k < reshape(*next++, {s_.batch, 1, 1, 1})));
    if (!seen) return scores;
    // Finite, so that a row of nothing else has a softmax.
    constexpr double kNotSeen = -0.7 * std::numeric_limits<float>::max();
    return select(broadcast_to(*seen, scores.shape()), scores, full({}, kNotSeen, scores.dtype()));
  }

  Sizes s_;
  const AttentionOptions& options_;
  std::optional<Array> queries_count_;  // [batch, 1, queries, 1]
};

}  // namespace

Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                            const AttentionOptions& options) {
  const AtLine line(query.loc());
  const Checks checks(query.as_array(), key.as_array(), value.as_array(), query.loc());
  Arrays inputs{with_four_axes(query.as_array()), with_four_axes(key.as_array()), with_four_axes(value.as_array())};
  const auto take = [&](const std::optional<Array>& x) {
    if (x) inputs.push_back(*x);
  };
  if (options.bias) checks.scores("bias", *options.bias);
  if (options.mask) checks.mask(*options.mask);
  if (options.query_seq_lengths) checks.lengths("query_seq_lengths", *options.query_seq_lengths);
  if (options.key_value_seq_lengths) checks.lengths("key_value_seq_lengths", *options.key_value_seq_lengths);
  if (options.local_window) checks.window(*options.local_window);
  take(options.bias), take(options.mask), take(options.query_seq_lengths), take(options.key_value_seq_lengths);
  const auto window = options.local_window.value_or(std::pair<int64_t, int64_t>{-1, -1});
  const std::string cache_key = fmt::format("attention {} {} {} {} {} {} {} {} {}", options.scale.value_or(0),
                                            options.scale.has_value(), options.is_causal, options.bias.has_value(),
                                            options.mask.has_value(), options.query_seq_lengths.has_value(),
                                            options.key_value_seq_lengths.has_value(), window.first, window.second);
  const Array out = composite(cache_key, inputs, [&](const Arrays& in) {
    return Attention(checks.sizes, options)(in[0], in[1], in[2], {in.begin() + 3, in.end()});
  });
  return reshape(out, query.shape());
}

}  // namespace neap
