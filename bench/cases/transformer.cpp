// transformer-step: one step of Adam on a decoder: causal attention, gelu, output weights tied to the embedding. The
// state (parameters and both moments) is donated.
#include <cmath>

#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;

struct Block {
  Array qkv, out;  // [width, 3 width], [width, width]
  Layer up, down;
};
struct Params {
  Array embedding, position;  // [vocabulary, width], [length, width]
  std::vector<Block> blocks;
};
struct State {
  Params params, mean, square;
  Array count;
};

constexpr int kBlocks = 4;
constexpr int64_t kVocabulary = 2048, kHead = 64;

Params param_specs(int64_t length, int64_t width) {
  const Block block{neap::spec({width, 3 * width}, neap::f32), neap::spec({width, width}, neap::f32),
                    layer_spec(width, 4 * width), layer_spec(4 * width, width)};
  return {neap::spec({kVocabulary, width}, neap::f32), neap::spec({length, width}, neap::f32),
          std::vector<Block>(kBlocks, block)};
}

// x [batch, length, width].
Array attention(const Block& block, const Array& x) {
  const int64_t batch = x.shape(0), length = x.shape(1), width = x.shape(2), heads = width / kHead;
  const std::vector<Array> qkv = neap::split(neap::matmul(x, block.qkv), 3, 2);
  const auto of_heads = [&](const Array& a) {
    return neap::swapaxes(neap::reshape(a, {batch, length, heads, kHead}), 1, 2);
  };
  const Array scores =
      neap::matmul(of_heads(qkv[0]), neap::swapaxes(of_heads(qkv[1]), 2, 3)) * (1 / std::sqrt(float{kHead}));
  const Array visible = neap::iota({length, length}, 0) >= neap::iota({length, length}, 1);
  const Array weights = neap::softmax(neap::where(visible, scores, -1e9f));
  const Array mixed = neap::swapaxes(neap::matmul(weights, of_heads(qkv[2])), 1, 2);
  return neap::matmul(neap::reshape(mixed, {batch, length, width}), block.out);
}

// tokens [batch, length + 1].
Array loss(const Params& p, const Array& tokens) {
  const int64_t length = p.position.shape(0);
  Array x = neap::take(p.embedding, tokens[{neap::slice(), neap::slice(0, length)}]) + p.position;
  for (const Block& block : p.blocks) {
    x = x + attention(block, normalized(x));
    x = x + apply(block.down, neap::gelu(apply(block.up, normalized(x))));
  }
  const Array logits = neap::matmul(normalized(x), neap::transpose(p.embedding));
  return cross_entropy(logits, tokens[{neap::slice(), neap::slice(1, length + 1)}]);
}

State adam(const State& s, const Params& gradient) {
  constexpr float kRate = 1e-3f, kMean = 0.9f, kSquare = 0.999f;
  const Array count = s.count + 1.0f;
  const Array mean_scale = 1 / (1 - neap::pow(kMean, count)), square_scale = 1 / (1 - neap::pow(kSquare, count));
  State next{s.params, s.mean, s.square, count};
  next.mean =
      neap::tree_map([](const Array& m, const Array& g) { return kMean * m + (1 - kMean) * g; }, s.mean, gradient);
  next.square = neap::tree_map(
      [](const Array& v, const Array& g) { return kSquare * v + (1 - kSquare) * neap::square(g); }, s.square, gradient);
  next.params = neap::tree_map(
      [&](const Array& p, const Array& m, const Array& v) {
        return p - kRate * (m * mean_scale) / (neap::sqrt(v * square_scale) + 1e-8f);
      },
      s.params, next.mean, next.square);
  return next;
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t batch = r.shape[0], length = r.shape[1], width = r.shape[2];
  const auto step = [](const State& s, const Array& tokens) {
    const auto [value, g] = neap::value_and_grad(loss)(s.params, tokens);
    return std::pair{adam(s, g), value};
  };
  const Params p = param_specs(length, width);
  const std::tuple specs{State{p, p, p, neap::spec({}, neap::f32)}, neap::spec({batch, length + 1}, neap::i32)};
  const auto make = [=] {
    const auto zeros = [&] {
      return neap::tree_map([](const Array& a) { return neap::zeros(a.shape(), a.dtype()); }, p);
    };
    return std::tuple{State{host_weights(p, 1), zeros(), zeros(), neap::zeros({})},
                      host_indices({batch, length + 1}, kVocabulary, 100)};
  };
  auto job = make_step_job(r, step, specs, make);
  job->output_bytes = tree_bytes(std::get<0>(specs)) + sizeof(float);
  job->elements = static_cast<double>(batch * length);
  return job;
}

}  // namespace

void add_transformer_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "transformer-step";
  c.what = "a step of Adam on a 4-block causal transformer, heads of 64, 2048 tokens in the vocabulary";
  c.size_means = "batch x length x width";
  c.size = {4, 256, 256};
  c.full = {8, 2048, 2048};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
