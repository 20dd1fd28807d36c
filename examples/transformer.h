// A small transformer over characters, for transformer.cpp and mpi/transformer_ranks.cpp.
#pragma once

#include <neap/neap.h>

#include <vector>

#include "nn.h"

constexpr int64_t width = 64, heads = 4, length = 64, batch = 16, vocabulary = 128;

struct Block { nn::LayerNorm before, between; nn::Attention attention; nn::Linear up, down; };
struct Model { nn::Embedding token, position; std::vector<Block> blocks; nn::LayerNorm last; nn::Linear out; };

inline Model init(const neap::Array& key, int layers) {
  Model m{nn::embedding(neap::random::fold_in(key, 0), vocabulary, width, 0.1f), nn::embedding(neap::random::fold_in(key, 1), length, width, 0.1f), {},
          nn::layer_norm(width), nn::linear(neap::random::fold_in(key, 2), width, vocabulary)};
  for (int i = 0; i < layers; ++i) {
    neap::Array k = neap::random::fold_in(key, 10 + i);
    m.blocks.push_back({nn::layer_norm(width), nn::layer_norm(width), nn::attention(neap::random::fold_in(k, 0), width, heads),
                        nn::linear(neap::random::fold_in(k, 1), width, 4 * width), nn::linear(neap::random::fold_in(k, 2), 4 * width, width)});
  }
  return m;
}

inline neap::Array logits(const Model& m, const neap::Array& text) {  // i32 [batch, length]
  neap::Array x = nn::apply(m.token, text) + m.position.table;
  for (const Block& b : m.blocks) {
    x = x + nn::apply(b.attention, nn::apply(b.before, x));
    x = x + nn::apply(b.down, neap::gelu(nn::apply(b.up, nn::apply(b.between, x))));
  }
  return nn::apply(m.out, nn::apply(m.last, x));
}

inline neap::Array loss(const Model& m, const neap::Array& rows) {  // i32 [batch, length + 1]
  return nn::cross_entropy(logits(m, rows[{neap::slice(), neap::slice(length)}]), rows[{neap::slice(), neap::slice(1, neap::end)}]);
}
