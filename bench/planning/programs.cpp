#include "bench/planning/programs.h"

#include <neap/neap.h>

#include <random>

namespace bench {

namespace {

using neap::Array;
using neap::DType;
using neap::tracing::Arrays;

constexpr int64_t kRows = 128, kWidth = 64, kTable = 4096;

// Elementwise, one after the other.
Arrays chain(const Arrays& in, int64_t operations) {
  Array x = in[0];
  for (int64_t i = 0; i < operations; ++i) x = i % 2 ? neap::sin(x) : neap::exp(x);
  return {x};
}

// A recurrence that was unrolled, with what each round observes.
Arrays loop(const Arrays& in, int64_t operations) {
  Array x = in[0];
  std::vector<Array> seen;
  for (int64_t i = 0; i < operations / 5; ++i) {
    x = x + neap::tanh(neap::matmul(x, in[1]));
    seen.push_back(neap::sum(x * x));
  }
  return {x, neap::stack(seen)};
}

// A residual network's loss and its gradient.
Arrays network(const Arrays& in, int64_t operations) {
  const auto loss = [&](const Array& w, const Array& b) {
    Array x = in[0];
    for (int64_t i = 0; i < operations / 17; ++i) x = x + neap::tanh(neap::matmul(x, w) + b);
    return neap::sum(x * x);
  };
  const auto [value, gradients] = neap::value_and_grad<0, 1>(loss)(in[1], in[2]);
  return {value, std::get<0>(gradients), std::get<1>(gradients)};
}

// Each operation reads any two values that were made not long before it; a fifth of them are products.
Arrays random_graph(const Arrays& in, int64_t operations) {
  std::minstd_rand random(1);
  std::vector<Array> values{in[1], neap::sin(in[1])};
  constexpr size_t kReach = 400;
  while (static_cast<int64_t>(values.size() + kReach) < operations) {
    const auto pick = [&] { return values[values.size() - 1 - random() % std::min(values.size(), kReach)]; };
    const Array a = pick(), b = pick();
    values.push_back(random() % 5 == 0 ? neap::matmul(a, b) : random() % 2 ? a + b : a * b);
  }
  Array total = values.back();
  for (size_t i = values.size() - std::min(values.size(), kReach); i < values.size(); ++i) total = total + values[i];
  return {total};
}

// Reads of a table by index, and updates of it.
Arrays gathers(const Arrays& in, int64_t operations) {
  Array table = in[3], total = neap::zeros({kRows});
  for (int64_t i = 0; i < operations / 8; ++i) {
    const Array rows = neap::take(table, in[4] + static_cast<int>(i % 7));
    total = total + rows;
    if (i % 4 == 0) table = table.at(in[4]).add(neap::sin(total));
  }
  return {total, table};
}

// Pieces that are cut off, worked on and put together again.
Arrays joins(const Arrays& in, int64_t operations) {
  Array x = in[0];
  std::vector<Array> parts;
  for (int64_t i = 0; i < operations / 9; ++i) {
    const Array left = neap::matmul(neap::slice_in_dim(x, 0, kRows / 2, 0), in[1]);
    const Array right = neap::sin(neap::slice_in_dim(x, kRows / 2, kRows, 0));
    x = neap::concatenate({right, left}, 0);
    if (i % 16 == 0) parts.push_back(neap::sum(x, {0}));
    if (i % 3 == 0) x = neap::sort(x, 0);
  }
  return {x, neap::concatenate(parts, 0)};
}

}  // namespace

std::vector<Program> programs() {
  const std::vector<neap::Aval> parameters = {{{kRows, kWidth}, DType::f32},
                                              {{kWidth, kWidth}, DType::f32},
                                              {{kWidth}, DType::f32},
                                              {{kTable}, DType::f32},
                                              {{kRows}, DType::i32}};
  return {{"chain", parameters, chain},         {"loop", parameters, loop},       {"network", parameters, network},
          {"random", parameters, random_graph}, {"gathers", parameters, gathers}, {"joins", parameters, joins}};
}

}  // namespace bench
