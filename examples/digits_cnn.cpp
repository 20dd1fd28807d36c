// A convolutional network on scikit-learn's digits (8 x 8 pixels), trained in minibatches, tested on what it never saw.
#include <neap/neap.h>
#include <cstdio>
#include "nn.h"
#include "optimizers.h"
namespace nr = neap::random;
using neap::Array;

struct Model {
  nn::Conv2d first, second;
  nn::Linear out;
};

Array logits(const Model& m, const Array& images) {  // f32 [n, 64]
  const int64_t n = images.shape()[0];
  Array x = neap::reshape(images, {n, 1, 8, 8});
  x = neap::max_pool(neap::relu(nn::apply(m.first, x, {.same = true})), {2, 2}, {.stride = {2, 2}});
  x = neap::relu(nn::apply(m.second, x, {.same = true}));
  return nn::apply(m.out, neap::reshape(neap::max_pool(x, {2, 2}, {.stride = {2, 2}}), {n, 32 * 4}));
}

int main() {
  Array images = neap::load_npy("digits_images.npy"), labels = neap::load_npy("digits_labels.npy");  // 1797, in [0, 1]
  const int64_t held_out = 297, count = images.shape()[0] - held_out, batch = 100;
  Array order = nr::permutation(nr::key(0), count + held_out);
  images = neap::take(images, order), labels = neap::take(labels, order);
  Array test_x = images[{neap::slice(count, neap::end)}], test_y = labels[{neap::slice(count, neap::end)}];

  Model model{nn::conv2d(nr::key(1), 1, 16, 3), nn::conv2d(nr::key(2), 16, 32, 3), nn::linear(nr::key(3), 128, 10)};
  optim::Adam adam{.rate = 3e-3f};
  auto state = adam.init(model);
  auto step = neap::jit([&](const Model& m, const optim::Adam::State<Model>& s, const Array& x, const Array& y, const Array& key) {
    Array rows = nr::randint(key, {batch}, 0, count);
    auto loss = [&](const Model& at) { return nn::cross_entropy(logits(at, neap::take(x, rows)), neap::take(y, rows)); };
    auto [value, g] = neap::value_and_grad(loss)(m);
    auto [next, after] = adam.update(m, g, s);
    return std::tuple{next, after, value};
  }, {.donate = {0, 1}});
  for (int i = 0; i < 300; ++i) {
    auto [next, after, value] = step(std::move(model), std::move(state), images, labels, nr::fold_in(nr::key(9), i));
    model = std::move(next), state = std::move(after);
    if (i % 100 == 0) std::printf("step %d loss %.4f\n", i, value.item<float>());
  }
  float accuracy = nn::accuracy(neap::jit(logits)(model, test_x), test_y).item<float>();
  std::printf("accuracy on %lld held-out digits %.3f\n", static_cast<long long>(held_out), accuracy);
  return accuracy > 0.96f ? 0 : 1;
}
