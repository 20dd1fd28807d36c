// Pieces of models that several cases share.
#pragma once

#include <cmath>

#include "bench/job.h"

namespace bench {

struct Layer {
  neap::Array w, b;
};

inline Layer layer_spec(int64_t in, int64_t out) {
  return {neap::spec({in, out}, neap::f32), neap::spec({out}, neap::f32)};
}
inline neap::Array apply(const Layer& layer, const neap::Array& x) { return neap::matmul(x, layer.w) + layer.b; }

// Weights for the specs: uniform, of variance 1 / (number of inputs); offsets are small.
template <class Tree>
Tree host_weights(const Tree& specs, uint32_t seed) {
  return neap::tree_map(
      [&](const neap::Array& a) {
        const float scale = a.ndim() < 2 ? 0.1f : std::sqrt(3.0f / static_cast<float>(a.size() / a.shape(-1)));
        return host_uniform(a.shape(), a.dtype(), ++seed, scale);
      },
      specs);
}

// Zero mean and unit variance along the last axis.
inline neap::Array normalized(const neap::Array& x) {
  const neap::Array centred = x - neap::mean(x, -1, true);
  return centred * neap::rsqrt(neap::mean(neap::square(centred), -1, true) + 1e-5f);
}

// Mean over all labels of the negative log-likelihood; logits [..., classes], labels [...].
inline neap::Array cross_entropy(const neap::Array& logits, const neap::Array& labels) {
  return -neap::mean(neap::take_along_axis(neap::log_softmax(logits), neap::expand_dims(labels, -1), -1));
}

// One step of gradient descent.
template <class Params>
Params descend(const Params& params, const Params& gradient, float rate) {
  return neap::tree_map([rate](const neap::Array& p, const neap::Array& g) { return p - rate * g; }, params, gradient);
}

}  // namespace bench
