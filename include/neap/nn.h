// Neural networks: jax.nn's functions of several arrays (its activations are in neap/numpy.h and neap/ops.h).
//
// Values are compared with JAX's: tests/golden/more.json.
#pragma once

#include <neap/ops.h>

#include <optional>
#include <utility>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// AttentionOptions say what is added to the scores [batch, heads, queries, keys] and which of them count. An array of
/// fewer axes than four counts for all; bias and mask broadcast to the scores.
struct AttentionOptions {
  std::optional<Array> bias = {};                                // added to scaled scores
  std::optional<Array> mask = {};                                // bool: true where a query sees a key
  std::optional<double> scale = {};                              // of scores; 1 / sqrt(depth) unless given
  bool is_causal = false;                                        // a query sees keys at its own place and before
  std::optional<Array> query_seq_lengths = {};                   // integers [batch]: later queries give 0
  std::optional<Array> key_value_seq_lengths = {};               // integers [batch]: later keys are not seen
  std::optional<std::pair<int64_t, int64_t>> local_window = {};  // so many keys before and behind its place are seen
};

/// Returns softmax(query key^T * scale + bias) value for each head: query [batch, queries, heads, depth], key and value
/// [batch, keys, key heads, depth] -> as query; without the batch axis all three have three axes. `heads` is a multiple
/// of `key heads`: groups of neighbouring heads share a key. Scores and their softmax are f32 at least, and rounded to
/// the dtype of value before they weight it. A query that sees no key weights all equally. The scores are a square of
/// the length, but the planner stores only as many rows of them as run at once. ShapeError or DTypeError where shapes
/// or dtypes do not fit together.
Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                            const AttentionOptions& options = {});

}  // namespace neap

#pragma GCC visibility pop
