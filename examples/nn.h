// Layers as plain structs and functions, to copy and change: a layer's parameters are a tree, so grad, vmap, jit and the
// optimisers of optimizers.h take a model made of them as it is. Initial weights are normal, divided by the square root
// of the number of inputs (He's sqrt(2 / n) where a relu follows: see `gain`).
#pragma once

#include <neap/neap.h>

#include <cmath>

namespace nn {
using neap::Array;
namespace nr = neap::random;

/// x [..., in] -> [..., out]
struct Linear {
  Array w, b;  // [in, out], [out]
};
inline Linear linear(const Array& key, int64_t in, int64_t out, float gain = 1.0f) {
  return {nr::normal(key, {in, out}) * (gain / std::sqrt(static_cast<float>(in))), neap::zeros({out})};
}
inline Array apply(const Linear& layer, const Array& x) { return neap::matmul(x, layer.w) + layer.b; }

/// x [batch, in, h, w] -> [batch, out, h', w']
struct Conv2d {
  Array w, b;  // [out, in, k, k], [out, 1, 1]
};
inline Conv2d conv2d(const Array& key, int64_t in, int64_t out, int64_t k, float gain = std::sqrt(2.0f)) {
  return {nr::normal(key, {out, in, k, k}) * (gain / std::sqrt(static_cast<float>(in * k * k))),
          neap::zeros({out, 1, 1})};
}
inline Array apply(const Conv2d& layer, const Array& x, const neap::Windows& windows = {}) {
  return neap::conv_general(x, layer.w, windows) + layer.b;
}

/// ids (integers, any shape) -> [..., width]
struct Embedding {
  Array table;  // [vocabulary, width]
};
inline Embedding embedding(const Array& key, int64_t vocabulary, int64_t width, float scale = 1.0f) {
  return {nr::normal(key, {vocabulary, width}) * scale};
}
inline Array apply(const Embedding& layer, const Array& ids) { return neap::take(layer.table, ids); }

/// Mean 0 and variance 1 along the last axis, then scale and shift.
struct LayerNorm {
  Array scale, shift;  // [width]
};
inline LayerNorm layer_norm(int64_t width) { return {neap::ones({width}), neap::zeros({width})}; }
inline Array apply(const LayerNorm& layer, const Array& x) {
  return neap::standardize(x) * layer.scale + layer.shift;
}

/// Self-attention with several heads over x [..., length, width]; causal: no position sees a later one.
struct Attention {
  Array q, k, v;  // [width, heads, width / heads]
  Array out;      // [heads, width / heads, width]
};
inline Attention attention(const Array& key, int64_t width, int64_t heads) {
  const float gain = 1.0f / std::sqrt(static_cast<float>(width));
  const neap::Shape in{width, heads, width / heads};
  const auto draw = [&](uint32_t i, const neap::Shape& shape) {
    return nr::normal(nr::fold_in(key, i), shape) * gain;
  };
  return {draw(0, in), draw(1, in), draw(2, in), draw(3, {heads, width / heads, width})};
}
inline Array apply(const Attention& layer, const Array& x, bool causal = true) {
  const auto project = [&](const Array& w) { return neap::einsum("...td,dhe->...hte", {x, w}); };
  const float scale = 1.0f / std::sqrt(static_cast<float>(layer.q.shape()[2]));
  Array scores = neap::einsum("...te,...se->...ts", {project(layer.q), project(layer.k)}) * scale;
  if (causal) {
    const Array t = neap::arange(x.shape()[x.ndim() - 2]);
    scores = neap::where(t[{neap::newaxis, neap::slice()}] <= t[{neap::slice(), neap::newaxis}], scores, -1e30f);
  }
  const Array mixed = neap::einsum("...ts,...se->...te", {neap::softmax(scores), project(layer.v)});
  return neap::einsum("...hte,hed->...td", {mixed, layer.out});
}

/// Keeps each element with probability 1 - rate, scaled so that the mean stays.
inline Array dropout(const Array& key, const Array& x, float rate) {
  return neap::where(nr::bernoulli(key, 1.0f - rate, x.shape()), x / (1.0f - rate), 0.0f);
}

/// The mean negative log-likelihood of `labels` (integers [...]) under `logits` [..., classes].
inline Array cross_entropy(const Array& logits, const Array& labels) {
  const Array wanted = labels[{neap::ellipsis, neap::newaxis}];
  return -neap::mean(neap::take_along_axis(neap::log_softmax(logits), wanted, -1));
}

/// The part of rows whose largest logit is the label's.
inline Array accuracy(const Array& logits, const Array& labels) {
  return neap::mean((neap::argmax(logits, -1) == labels).astype(neap::f32));
}

}  // namespace nn
