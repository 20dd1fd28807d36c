// per-example-grad: the gradient of each example alone, by vmap; `clipped`: each cut to unit length before their mean
// is taken, as in differentially private training, `all`: every one of them is a result.
#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;
using Params = std::vector<Layer>;

constexpr int64_t kInputs = 784, kClasses = 10;

Params param_specs(int64_t width) {
  return {layer_spec(kInputs, width), layer_spec(width, width), layer_spec(width, kClasses)};
}

Array loss_of_one(const Params& p, const Array& image, const Array& label) {
  Array x = image;
  for (size_t i = 0; i < p.size(); ++i) {
    x = apply(p[i], x);
    if (i + 1 < p.size()) x = neap::relu(x);
  }
  return -neap::take(neap::log_softmax(x), label);
}

Params gradients(const Params& p, const Array& images, const Array& labels) {
  return neap::vmap(neap::grad(loss_of_one), {.in_axes = {neap::none, 0, 0}})(p, images, labels);
}

Params clipped_mean(const Params& p, const Array& images, const Array& labels) {
  const Params all = gradients(p, images, labels);
  const int64_t batch = images.shape(0);
  Array squares = neap::zeros({batch});
  for (const Array& g : neap::tree_leaves(all)) {
    squares = squares + neap::sum(neap::square(neap::reshape(g, {batch, -1})), 1);
  }
  const Array scale = neap::minimum(neap::rsqrt(squares + 1e-12f), 1.0f) / static_cast<float>(batch);
  return neap::tree_map(
      [&](const Array& g) {
        neap::Shape along(static_cast<size_t>(g.ndim()), 1);
        along[0] = batch;
        return neap::sum(g * neap::reshape(scale, along), 0);
      },
      all);
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t batch = r.shape[0], width = r.shape[1];
  const std::tuple specs{param_specs(width), neap::spec({batch, kInputs}, neap::f32), neap::spec({batch}, neap::i32)};
  const auto make = [=] {
    return std::tuple{host_weights(param_specs(width), 1), host_uniform({batch, kInputs}, neap::f32, 10),
                      host_indices({batch}, kClasses, 11)};
  };
  const bool all = r.form == "all";
  auto job = make_job(r, all ? gradients : clipped_mean, specs, make);
  for (const Array& a : neap::tree_leaves(param_specs(width))) {
    job->output_bytes += a.bytes() * static_cast<size_t>(all ? batch : 1);
  }
  job->elements = static_cast<double>(batch);
  return job;
}

}  // namespace

void add_per_example_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "per-example-grad";
  c.what = "vmap(grad) of a 3-layer classifier: the mean of gradients clipped one by one, or all of them";
  c.size_means = "batch x width";
  c.size = {256, 256};
  c.full = {4096, 1024};
  c.forms = {"clipped", "all"};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
