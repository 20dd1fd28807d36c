// Optimisers as functions on trees, to copy and change: each has a state that is a tree, init(parameters) and
// update(parameters, gradients, state) -> {parameters, state}. Under jit with {.donate = {0, 1}} parameters and state
// are updated where they lie.
#pragma once

#include <neap/neap.h>

#include <utility>

namespace optim {
using neap::Array;

template <class P>
P zeros_like(const P& parameters) {
  return neap::tree_map([](const Array& a) { return neap::zeros_like(a); }, parameters);
}

/// p <- p - rate * g
struct Sgd {
  float rate = 0.1f;

  template <class P>
  P update(const P& parameters, const P& gradients) const {
    return neap::tree_map([&](const Array& p, const Array& g) { return p - rate * g; }, parameters, gradients);
  }
};

/// v <- decay * v + g; p <- p - rate * v  (nesterov: p - rate * (decay * v + g))
struct Momentum {
  float rate = 0.1f, decay = 0.9f;
  bool nesterov = false;

  template <class P>
  P init(const P& parameters) const {
    return zeros_like(parameters);
  }
  template <class P>
  std::pair<P, P> update(const P& parameters, const P& gradients, const P& velocity) const {
    P next = neap::tree_map([&](const Array& v, const Array& g) { return decay * v + g; }, velocity, gradients);
    P moved = neap::tree_map(
        [&](const Array& p, const Array& v, const Array& g) { return p - rate * (nesterov ? decay * v + g : v); },
        parameters, next, gradients);
    return {std::move(moved), std::move(next)};
  }
};

/// Adam (Kingma and Ba 2015). decay above 0 is AdamW's: weights shrink by rate * decay, apart from the gradient.
struct Adam {
  float rate = 1e-3f, b1 = 0.9f, b2 = 0.999f, epsilon = 1e-8f, decay = 0.0f;

  template <class P>
  struct State {
    P mean, square;
    Array step;  // i32
  };
  template <class P>
  State<P> init(const P& parameters) const {
    return {zeros_like(parameters), zeros_like(parameters), neap::zeros({}, neap::i32)};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& parameters, const P& gradients, const State<P>& state) const {
    const Array step = state.step + 1;
    const Array t = step.astype(neap::f32);  // beside b1 and b2, which are floats
    const Array mean_scale = 1.0f / (1.0f - neap::pow(b1, t)), square_scale = 1.0f / (1.0f - neap::pow(b2, t));
    P mean = neap::tree_map([&](const Array& m, const Array& g) { return b1 * m + (1 - b1) * g; }, state.mean,
                            gradients);
    P square = neap::tree_map([&](const Array& s, const Array& g) { return b2 * s + (1 - b2) * neap::square(g); },
                              state.square, gradients);
    P moved = neap::tree_map(
        [&](const Array& p, const Array& m, const Array& s) {
          const Array unbiased = m * mean_scale.astype(m.dtype()), size = s * square_scale.astype(s.dtype());
          return p - rate * (unbiased / (neap::sqrt(size) + epsilon) + decay * p);
        },
        parameters, mean, square);
    return {std::move(moved), State<P>{std::move(mean), std::move(square), step}};
  }
};
inline Adam adamw(float rate = 1e-3f, float decay = 1e-2f) { return {.rate = rate, .decay = decay}; }

}  // namespace optim
