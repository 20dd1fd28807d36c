// Logistic regression by Adam, and how sure it is of its weights: the Hessian gives their standard errors. Data are drawn
// from known weights, which must lie within 4.5 standard errors of those found.
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
#include "optimizers.h"
namespace nr = neap::random;
using neap::Array;

struct Data { Array x, y; };  // f32 [n, 4], [n] of zeros and ones

Array loss(const Array& w, const Data& d) {  // mean negative log-likelihood
  Array z = neap::matmul(d.x, w);
  return neap::mean(neap::softplus(z) - d.y * z);
}

int main() {
  constexpr int64_t n = 20000;
  Array truth = neap::array({1.5f, -2.0f, 0.5f, 0.0f});
  Array x = nr::normal(nr::key(1), {n, 4});
  Data data{x, nr::bernoulli(nr::key(2), neap::sigmoid(neap::matmul(x, truth))).astype(neap::f32)};

  optim::Adam adam{.rate = 0.05f};
  auto step = neap::jit([&](const Array& w, const optim::Adam::State<Array>& state, const Data& d) {
    return adam.update(w, neap::grad(loss)(w, d), state);
  }, {.donate = {0, 1}});
  Array w = neap::zeros({4});
  auto state = adam.init(w);
  for (int i = 0; i < 400; ++i) std::tie(w, state) = step(std::move(w), std::move(state), data);

  // Newton's method has nothing left to do: |gradient| is 0 at the optimum.
  float slope = neap::max(neap::abs(neap::grad(loss)(w, data))).item<float>();
  auto curvature = neap::to_vector<float>(neap::jit(neap::hessian(loss))(w, data) * float(n));  // [4, 4], nearly diagonal
  auto found = neap::to_vector<float>(w), right = neap::to_vector<float>(truth);
  bool good = slope < 1e-3f;
  std::printf("slope %.1e\n", slope);
  for (int i = 0; i < 4; ++i) {
    float error = 1 / std::sqrt(curvature[5 * i]);
    std::printf("w[%d] %6.3f +- %.3f, drawn with %4.1f\n", i, found[i], error, right[i]);
    good = good && std::abs(found[i] - right[i]) < 4.5f * error;
  }
  return good ? 0 : 1;
}
