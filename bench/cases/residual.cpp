// resnet-step: one step of gradient descent on a residual network of 3 x 3 convolutions.
#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;

struct Block {
  Array first, second;  // [channels, channels, 3, 3]
};
struct Params {
  Array stem;  // [channels, 3, 3, 3]
  std::vector<Block> blocks;
  Layer head;
};
struct Batch {
  Array images, labels;  // [n, side, side, 3], [n]
};

constexpr int kBlocks = 3;
constexpr int64_t kClasses = 10;

Params param_specs(int64_t channels) {
  const Array square = neap::spec({channels, channels, 3, 3}, neap::f32);
  return {neap::spec({channels, 3, 3, 3}, neap::f32), std::vector<Block>(kBlocks, Block{square, square}),
          layer_spec(channels, kClasses)};
}

// x [n, side, side, in], w [out, in, 3, 3].
Array conv(const Array& x, const Array& w) {
  const Array y = neap::conv_general(neap::transpose(x, neap::Shape{0, 3, 1, 2}), w, {.same = true});
  return neap::transpose(y, neap::Shape{0, 2, 3, 1});
}

Array loss(const Params& p, const Batch& b) {
  Array x = conv(b.images, p.stem);
  for (const Block& block : p.blocks) {
    const Array inner = conv(neap::relu(normalized(x)), block.first);
    x = x + conv(neap::relu(normalized(inner)), block.second);
  }
  return cross_entropy(apply(p.head, neap::mean(neap::relu(x), {1, 2})), b.labels);
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t n = r.shape[0], side = r.shape[1], channels = r.shape[2];
  const auto step = [](const Params& p, const Batch& b) {
    const auto [value, g] = neap::value_and_grad(loss)(p, b);
    return std::pair{descend(p, g, 0.01f), value};
  };
  const std::tuple specs{param_specs(channels),
                         Batch{neap::spec({n, side, side, 3}, neap::f32), neap::spec({n}, neap::i32)}};
  const auto make = [=] {
    return std::tuple{host_weights(param_specs(channels), 1),
                      Batch{host_uniform({n, side, side, 3}, neap::f32, 100), host_indices({n}, kClasses, 101)}};
  };
  auto job = make_step_job(r, step, specs, make);
  job->output_bytes = tree_bytes(std::get<0>(specs)) + sizeof(float);
  job->elements = static_cast<double>(n);
  return job;
}

}  // namespace

void add_residual_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "resnet-step";
  c.what = "a training step of a residual network: 7 convolutions 3 x 3";
  c.size_means = "images x side x channels";
  c.size = {32, 32, 32};
  c.full = {256, 64, 128};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
