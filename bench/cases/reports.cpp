// reports: programs that ran out of memory in JAX, MLX, PyTorch and their libraries, by what their users reported. Each
// is written as its author wrote it, with nothing done about memory. The size is a part of the report's own, in
// thousandths of its longest extents.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/job.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

// By its indices: neap::diagonal() takes another way, and these peaks are recorded.
Array diagonal(const Array& x) {
  const Array i = neap::arange(x.shape(0));
  return x[{i, i}];
}

// Optimal transport between two clouds of points by 100 Sinkhorn iterations; the cost of every pair is written once
// (ott issue 9).
Array sinkhorn(const Array& x, const Array& y) {
  const Array cost = neap::sum(neap::square(neap::expand_dims(x, 1) - neap::expand_dims(y, 0)), {2});
  const float rows = static_cast<float>(x.shape(0)), columns = static_cast<float>(y.shape(0));
  const auto step = [&](const std::pair<Array, Array>& fg, std::nullptr_t) {
    const Array f = -neap::logsumexp(neap::expand_dims(fg.second, 0) - cost, {1}) + std::log(rows);
    const Array g = -neap::logsumexp(neap::expand_dims(f, 1) - cost, {0}) + std::log(columns);
    return std::pair(std::pair(f, g), nullptr);
  };
  const std::pair start(neap::zeros({x.shape(0)}), neap::zeros({y.shape(0)}));
  const auto [f, g] = neap::scan(step, start, nullptr, 100).first;
  return neap::mean(f) + neap::mean(g);
}

std::unique_ptr<Job> build_sinkhorn(const Request& r, bool gradient) {
  const int64_t n = part_of(50'000, r);
  const double work = 200.0 * static_cast<double>(n) * static_cast<double>(n);
  if (gradient) return uniform_job(r, neap::grad(sinkhorn), work, spec_of({n, 3}), spec_of({n, 3}));
  return uniform_job(r, sinkhorn, work, spec_of({n, 3}), spec_of({n, 3}));
}

// Ten loops of a thousand steps, one after the other (jax issue 27748).
std::unique_ptr<Job> build_loops(const Request& r) {
  const int64_t rows = part_of(30'000, r);
  const auto loss = [](const Array& x, const Array& p) {
    Array state = x;
    for (int i = 0; i < 10; ++i) {
      state = neap::fori_loop(
          0, 1000, [&](const Array&, const Array& c) { return c + neap::sin(p * c) + neap::cos(p * neap::sin(p * c)); },
          state);
    }
    return neap::sum(state);
  };
  return uniform_job(r, neap::grad<0, 1>(loss), 1e4 * static_cast<double>(rows) * 100, spec_of({rows, 100}),
                     spec_of({}));
}

// The adjoint of a wave in three dimensions: the gradient of what a receiver records in the speed of sound.
std::unique_ptr<Job> build_wave(const Request& r) {
  constexpr int64_t kSide = 128;
  const int64_t steps = part_of(1000, r);
  const auto misfit = [=](const Array& speed, const Array& trace) {
    const auto laplacian = [](const Array& u) {
      Array total = -6 * u;
      for (int64_t axis = 0; axis < 3; ++axis) total = total + neap::roll(u, 1, axis) + neap::roll(u, -1, axis);
      return total;
    };
    const auto step = [&](const std::pair<Array, Array>& u, const Array& recorded) {
      const Array next = 2 * u.second - u.first + 0.1f * neap::square(speed) * laplacian(u.second);
      return std::pair(std::pair(u.second, next), neap::square(next[{kSide / 2, kSide / 2, kSide / 4}] - recorded));
    };
    const Array still = neap::zeros({kSide, kSide, kSide});
    const Array struck = still.at({kSide / 2, kSide / 2, kSide / 2}).set(1.0f);
    return neap::sum(neap::scan(step, std::pair(still, struck), trace).second);
  };
  return uniform_job(r, neap::grad(misfit), static_cast<double>(steps) * kSide * kSide * kSide,
                     spec_of({kSide, kSide, kSide}), spec_of({steps}));
}

struct Lstm {
  Array input, state, bias;  // [E, 4 H], [H, 4 H], [4 H]
};

std::unique_ptr<Job> build_lstm(const Request& r) {
  constexpr int64_t kBatch = 64, kHidden = 512;
  const int64_t steps = part_of(10'000, r);
  const auto loss = [](const Lstm& w, const Array& xs) {
    const auto step = [&](const std::pair<Array, Array>& s, const Array& x) {
      const Array gates = neap::matmul(neap::expand_dims(x, 1), w.input) + neap::matmul(s.first, w.state) + w.bias;
      const std::vector<Array> parts = neap::split(gates, 4, 1);
      const Array cell = neap::sigmoid(parts[0]) * s.second + neap::sigmoid(parts[1]) * neap::tanh(parts[2]);
      return std::pair(std::pair(neap::sigmoid(parts[3]) * neap::tanh(cell), cell), nullptr);
    };
    const Array zero = neap::zeros({kBatch, kHidden});
    return neap::sum(neap::square(neap::scan(step, std::pair(zero, zero), xs).first.first));
  };
  return uniform_job(r, neap::grad(loss), static_cast<double>(steps) * kBatch * kHidden,
                     Lstm{spec_of({1, 4 * kHidden}), spec_of({kHidden, 4 * kHidden}), spec_of({4 * kHidden})},
                     spec_of({steps, kBatch}));
}

// Cross entropy over a vocabulary: the logits are the largest array of a language model.
std::unique_ptr<Job> build_cross_entropy(const Request& r, bool gradient) {
  const int64_t tokens = part_of(8192, r), words = part_of(128'256, r), width = 4096;
  const auto loss = [=](const Array& x, const Array& w) {
    const Array logits = neap::matmul(x, neap::transpose(w)).astype(neap::f32);
    const Array labels = neap::expand_dims(neap::arange(tokens) * 7919 % static_cast<int>(words), 1);
    return neap::mean(neap::logsumexp(logits, {1}) - neap::squeeze(neap::take_along_axis(logits, labels, 1), 1));
  };
  const double work = static_cast<double>(tokens) * static_cast<double>(words);
  const Array x = spec_of({tokens, width}, neap::bf16), w = spec_of({words, width}, neap::bf16);
  if (gradient) return uniform_job(r, neap::grad<0, 1>(loss), work, x, w);
  return uniform_job(r, loss, work, x, w);
}

std::unique_ptr<Job> build_kernel_density(const Request& r) {
  const int64_t queries = part_of(10'000, r), samples = part_of(1'000'000, r);
  const auto density = [](const Array& q, const Array& x) {
    const Array distance = neap::sum(neap::square(neap::expand_dims(q, 1) - neap::expand_dims(x, 0)), {2});
    return neap::sum(neap::log(neap::mean(neap::exp(-0.5f * distance), {1})));
  };
  return uniform_job(r, neap::grad(density), static_cast<double>(queries) * static_cast<double>(samples),
                     spec_of({queries, 2}), spec_of({samples, 2}));
}

struct Net {
  Array w1, b1, w2, b2, w3, b3;
};

Net net_spec(int64_t inputs, int64_t width) {
  return {spec_of({inputs, width}), spec_of({width}),    spec_of({width, width}),
          spec_of({width}),         spec_of({width, 1}), spec_of({1})};
}

// One number of one example.
Array output_of(const Net& net, const Array& x) {
  const Array h1 = neap::tanh(neap::matmul(x, net.w1) * 0.1f + net.b1);
  const Array h2 = neap::tanh(neap::matmul(h1, net.w2) * 0.1f + net.b2);
  return neap::squeeze(neap::matmul(h2, net.w3) + net.b3);
}

// The gradient of a physics-informed net's loss, the square of its Laplacian.
std::unique_ptr<Job> build_laplacian(const Request& r) {
  const int64_t batch = part_of(4096, r);
  const auto loss = [](const Net& net, const Array& xs) {
    const auto at = [&](const Array& x) {
      return neap::sum(diagonal(neap::hessian([&](const Array& one) { return output_of(net, one); })(x)));
    };
    return neap::mean(neap::square(neap::vmap(at)(xs)));
  };
  return uniform_job(r, neap::grad(loss), static_cast<double>(batch) * 64, net_spec(64, 512), spec_of({batch, 64}));
}

// The neural tangent kernel: J J^T of a net in its parameters.
std::unique_ptr<Job> build_tangent_kernel(const Request& r) {
  const int64_t batch = part_of(4096, r);
  const auto kernel = [](const Net& net, const Array& xs) {
    const Net slopes = neap::vmap(neap::grad(output_of), {.in_axes = {neap::none, 0}})(net, xs);
    Array total;
    for (const Array& slope : neap::tree_leaves(slopes)) {
      const Array flat = neap::reshape(slope, {slope.shape(0), slope.size() / slope.shape(0)});
      const Array part = neap::matmul(flat, neap::transpose(flat));
      total = total.impl() ? total + part : part;
    }
    return total;
  };
  return uniform_job(r, kernel, static_cast<double>(batch) * static_cast<double>(batch), net_spec(784, 512),
                     spec_of({batch, 784}));
}

// Patches of an image beside each other, times a matrix: a convolution written as a product.
std::unique_ptr<Job> build_patches(const Request& r) {
  const int64_t height = part_of(512, r), width = 512, channels = 32;
  const auto loss = [=](const Array& w, const Array& images) {
    const Array padded = neap::pad(images, {0, 0, 1, 1}, {0, 0, 1, 1});
    std::vector<Array> shifted;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        shifted.push_back(padded[{neap::ellipsis, neap::slice(i, i + height), neap::slice(j, j + width)}]);
      }
    }
    const Array patches = neap::moveaxis(neap::concatenate(shifted, 1), 1, 3);  // [8, height, width, 288]
    return neap::sum(neap::square(neap::matmul(patches, w)));
  };
  return uniform_job(r, neap::grad(loss), 8 * static_cast<double>(height * width * channels),
                     spec_of({9 * channels, channels}), spec_of({8, channels, height, width}));
}

// An Asian option by cumulative sums: value and derivative in the volatility.
std::unique_ptr<Job> build_asian(const Request& r) {
  const int64_t paths = part_of(1'000'000, r), days = 252;
  const auto price = [=](const Array& volatility, const Array& seed) {
    const Array key = nr::fold_in(nr::key(7), (seed * 1000).astype(neap::i32));
    const float dt = 1.0f / static_cast<float>(days);
    const Array z = nr::normal(key, {paths, days});
    const Array steps = (0.02f - 0.5f * neap::square(volatility)) * dt + volatility * std::sqrt(dt) * z;
    const Array spots = 100.0f * neap::exp(neap::cumsum(steps, 1));
    return neap::mean(neap::maximum(neap::mean(spots, {1}) - 100.0f, 0.0f));
  };
  return uniform_job(r, neap::value_and_grad(price), static_cast<double>(paths * days), spec_of({}), spec_of({}));
}

// The heat equation on a square, its field donated.
std::unique_ptr<Job> build_heat(const Request& r) {
  const int64_t side = part_of(16'384, r), steps = part_of(1000, r);
  const auto f = [=](const Array& u) {
    const auto step = [](const Array&, const Array& a) {
      const Array around = neap::roll(a, 1, 0) + neap::roll(a, -1, 0) + neap::roll(a, 1, 1) + neap::roll(a, -1, 1);
      return a + 0.1f * (around - 4 * a);
    };
    return neap::fori_loop(0, steps, step, u);
  };
  const std::tuple specs{spec_of({side, side})};
  auto job = make_step_job(r, f, specs, [=] { return std::tuple{host_uniform({side, side}, neap::f32, 1)}; });
  job->elements = static_cast<double>(side * side) * static_cast<double>(steps);
  return job;
}

// A table whose rows follow from those before, written a row a step (jax issue 10197).
std::unique_ptr<Job> build_table(const Request& r) {
  const int64_t n = part_of(200, r);
  const auto loss = [=](const Array& p) {
    const auto step = [&](const Array& i, const Array& table) {
      return table.at({i}).set(neap::matmul(table[{i - 1}], table[{i - 2}]) / static_cast<float>(n));
    };
    return neap::sum(neap::fori_loop(2, n, step, p));
  };
  return uniform_job(r, neap::grad(loss), static_cast<double>(n * n * n) * static_cast<double>(n), spec_of({n, n, n}));
}

// Forces of a Lennard-Jones fluid over lists of neighbours.
std::unique_ptr<Job> build_lennard_jones(const Request& r) {
  const int64_t atoms = part_of(1'000'000, r), neighbours = 64;
  const auto total = [](const Array& x, const Array& near) {
    const Array apart = neap::expand_dims(x, 1) - x[{near}];
    const Array squared = neap::sum(neap::square(apart), {2}) + 0.1f;
    const Array sixth = neap::power(1.0f / squared, 3);
    return neap::sum(4.0f * (neap::square(sixth) - sixth));
  };
  const std::tuple specs{spec_of({atoms, 3}), spec_of({atoms, neighbours}, neap::i32)};
  auto job = make_job(r, neap::grad(total), specs, [=] {
    return std::tuple{host_uniform({atoms, 3}, neap::f32, 1, 10), host_indices({atoms, neighbours}, atoms, 2)};
  });
  job->elements = static_cast<double>(atoms * neighbours);
  return job;
}

// The log likelihood of a Gaussian process.
std::unique_ptr<Job> build_gaussian_process(const Request& r, bool gradient) {
  const int64_t n = part_of(10'000, r);
  const auto likelihood = [=](const Array& scale, const Array& x, const Array& y) {
    const Array distance = neap::square(neap::expand_dims(x, 1) - neap::expand_dims(x, 0));
    const Array covariance = neap::exp(-distance / (0.1f + neap::square(scale))) + 0.1f * neap::eye(n);
    const Array factor = neap::linalg::cholesky(covariance);
    const Array white = neap::linalg::triangular_solve(factor, neap::expand_dims(y, 1), {.lower = true});
    return -0.5f * neap::sum(neap::square(white)) - neap::sum(neap::log(diagonal(factor)));
  };
  const double work = std::pow(static_cast<double>(n), 3) / 3;
  if (gradient) return uniform_job(r, neap::grad(likelihood), work, spec_of({}), spec_of({n}), spec_of({n}));
  return uniform_job(r, likelihood, work, spec_of({}), spec_of({n}), spec_of({n}));
}

// The ten nearest of all points, by one product.
std::unique_ptr<Job> build_neighbours(const Request& r) {
  const int64_t n = part_of(60'000, r), width = 384;
  const auto nearest = [](const Array& x) {
    const Array length = neap::sum(neap::square(x), {1});
    const Array distance =
        neap::expand_dims(length, 1) + neap::expand_dims(length, 0) - 2 * neap::matmul(x, neap::transpose(x));
    return neap::top_k(-distance, std::min<int64_t>(10, x.shape(0)));
  };
  return uniform_job(r, nearest, static_cast<double>(n) * static_cast<double>(n), spec_of({n, width}));
}

constexpr Form kReports[] = {
    {"sinkhorn", [](const Request& r) { return build_sinkhorn(r, false); }},
    {"sinkhorn-grad", [](const Request& r) { return build_sinkhorn(r, true); }},
    {"loops", build_loops},
    {"wave", build_wave},
    {"lstm", build_lstm},
    {"cross-entropy", [](const Request& r) { return build_cross_entropy(r, false); }},
    {"cross-entropy-grad", [](const Request& r) { return build_cross_entropy(r, true); }},
    {"kernel-density", build_kernel_density},
    {"laplacian", build_laplacian},
    {"patches", build_patches},
    {"asian", build_asian},
    {"heat", build_heat},
    {"table", build_table},
    {"tangent-kernel", build_tangent_kernel},
    {"lennard-jones", build_lennard_jones},
    {"gaussian-process", [](const Request& r) { return build_gaussian_process(r, false); }},
    {"gaussian-process-grad", [](const Request& r) { return build_gaussian_process(r, true); }},
    {"neighbours", build_neighbours},
};

}  // namespace

void add_report_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "reports";
  c.what = "programs that ran out of memory elsewhere, as their users reported them (bench/README.md, Reports)";
  c.size_means = "thousandths of the report's size";
  c.size = {20};
  c.full = {1000};
  c.has_peers = true;
  offer_forms(c, kReports);
  cases.push_back(c);
}

}  // namespace bench
