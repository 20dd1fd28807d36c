// dropout-mlp: value_and_grad of a classifier with dropout on real images. The masks of the forward pass are drawn
// again in the backward pass, never kept: the plan shows it, the accuracy shows that they are the same masks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

struct Layer {
  Array w, b;
};
using Params = std::vector<Layer>;
struct Batch {
  Array images, labels;
};

const std::vector<int64_t> kSizes{64, 256, 256, 256, 10};
constexpr float kDrop = 0.1f, kRate = 0.1f;
constexpr int64_t kBatch = 32, kImages = 1437;
constexpr int64_t kHeldOut = 5;  // one image of five, spread over the writers, is held out

Params initial(const Array& key) {
  Params p;
  for (size_t i = 0; i + 1 < kSizes.size(); ++i) {
    const float scale = std::sqrt(2.0f / static_cast<float>(kSizes[i]));
    p.push_back({nr::normal(nr::fold_in(key, static_cast<int>(i)), {kSizes[i], kSizes[i + 1]}) * scale,
                 neap::zeros({kSizes[i + 1]})});
  }
  return p;
}

Params param_specs() {
  Params p;
  for (size_t i = 0; i + 1 < kSizes.size(); ++i) {
    p.push_back({neap::spec({kSizes[i], kSizes[i + 1]}, neap::f32), neap::spec({kSizes[i + 1]}, neap::f32)});
  }
  return p;
}

Array logits(const Params& p, Array x, const Array& key, float drop) {
  for (size_t i = 0; i < p.size(); ++i) {
    x = neap::matmul(x, p[i].w) + p[i].b;
    if (i + 1 == p.size()) break;
    x = neap::relu(x);
    if (drop == 0) continue;
    const Array keep = nr::bernoulli(nr::fold_in(key, static_cast<int>(i)), 1 - drop, x.shape());
    x = neap::where(keep, x / (1 - drop), 0.0f);
  }
  return x;
}

Array loss(const Params& p, const Batch& b, const Array& key) {
  const Array log_p = neap::log_softmax(logits(p, b.images, key, kDrop));
  return -neap::mean(neap::take_along_axis(log_p, b.labels[{neap::slice(), neap::newaxis}], 1));
}

Array read_data(const char* name) { return neap::load_npy(std::string(NEAP_SOURCE_DIR "/tests/data/") + name); }

struct Split {
  Batch train, test;
};

Split split_of(const Batch& all) {
  std::vector<int32_t> train, test;
  for (int32_t i = 0; i < all.labels.shape(0); ++i) (i % kHeldOut == 0 ? test : train).push_back(i);
  const auto rows = [&](const std::vector<int32_t>& index) {
    return Batch{neap::take(all.images, neap::array(index)), neap::take(all.labels, neap::array(index))};
  };
  return {rows(train), rows(test)};
}

double accuracy(const Params& p, const Batch& test) {
  const auto hits = neap::jit([](const Params& p, const Batch& b) {
    const Array guess = neap::argmax(logits(p, b.images, nr::key(0), 0), -1);
    return neap::mean(neap::convert(guess == b.labels, neap::f32));
  });
  return hits(p, test).item<double>();
}

// Plain gradient descent in small batches, by the pipeline that was measured; held-out accuracy.
double train(const Request& r, int64_t epochs) {
  const Split data = split_of({read_data("digits_images.npy"), read_data("digits_labels.npy")});
  neap::JitOptions options = jit_options(r);
  options.donate = {0};
  const auto step = neap::jit(
      [](const Params& p, const Batch& all, const Array& rows, const Array& key) {
        const Batch b{neap::take(all.images, rows), neap::take(all.labels, rows)};
        const auto [value, g] = neap::value_and_grad(loss)(p, b, key);
        return neap::tree_map([](const Array& a, const Array& da) { return a - kRate * da; }, p, g);
      },
      options);
  Params p = initial(nr::key(42));
  std::vector<int32_t> order(static_cast<size_t>(data.train.labels.size()));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 shuffle(1);
  int count = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), shuffle);
    for (size_t i = 0; i + kBatch <= order.size(); i += kBatch) {
      const Array rows = neap::array(std::span<const int32_t>(order).subspan(i, kBatch));
      p = step(std::move(p), data.train, rows, nr::fold_in(nr::key(7), count++));
    }
  }
  return accuracy(p, data.test);
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t n = r.shape[0];
  const auto f = [](const Params& p, const Batch& b, const Array& key) {
    return neap::value_and_grad(loss)(p, b, key);
  };
  const std::tuple specs{param_specs(), Batch{neap::spec({n, 64}, neap::f32), neap::spec({n}, neap::i32)},
                         neap::spec({2}, neap::u32)};
  const auto make = [n] {
    const Batch all{read_data("digits_images.npy"), read_data("digits_labels.npy")};
    if (n > all.labels.shape(0)) throw UsageError{fmt::format("--size {}: the data set has 1797 images", n)};
    const Batch first{all.images[{neap::slice(0, n)}], all.labels[{neap::slice(0, n)}]};
    return std::tuple{initial(nr::key(42)), first, nr::key(7)};
  };
  auto job = make_job(r, f, specs, make);
  job->describe = [r](const std::vector<Array>&) {
    const int64_t epochs = r.shape[0] < kImages ? 1 : 20;  // of a small size a quick look
    return fmt::format("held-out accuracy {:.2f} % after {} epoch{}", 100 * train(r, epochs), epochs,
                       epochs == 1 ? "" : "s");
  };
  for (const Array& a : neap::tree_leaves(param_specs())) job->output_bytes += a.bytes();
  job->output_bytes += sizeof(float);
  job->elements = static_cast<double>(n);
  return job;
}

}  // namespace

void add_dropout_mlp_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "dropout-mlp";
  c.what = "value and gradient of a 4-layer classifier with dropout on the digits images; then 20 epochs of training";
  c.size_means = "images";
  c.size = {kImages};
  c.full = {1797};
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
