// programs: what users write out of operations, as they write it in JAX: samplers, solvers, optimizers, layers and
// training steps (bench/README.md, Programs). The size is a part of the longest extents, in thousandths.
#include <cmath>

#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;

enum class Of : uint8_t { result, gradients };

// --- sampling

// Hamiltonian Monte Carlo on Rosenbrock's density of 16 numbers: 1,000 draws of 10 leapfrog steps.
std::unique_ptr<Job> hmc(const Request& r) {
  const int64_t draws = part_of(1000, r), n = 16, leaps = 10;
  const auto potential = [](const Array& q) {
    const Array head = q[{neap::slice(0, -1)}], tail = q[{neap::slice(1, neap::none)}];
    return neap::sum(5.0f * neap::square(tail - neap::square(head)) + neap::square(1.0f - head)) / 4;
  };
  const auto force = neap::grad(potential);
  const auto f = [=](const Array& start) {
    const float dt = 0.02f;
    const auto draw = [=](const Array& q, const Array& i) {
      const Array key = neap::random::fold_in(neap::random::key(7), i);
      const Array keys = neap::random::split(key);
      const Array p = neap::random::normal(keys[0], {n});
      const auto leap = [=](const Array&, const std::pair<Array, Array>& at) {
        const Array half = at.second - dt / 2 * force(at.first);
        const Array moved = at.first + dt * half;
        return std::pair{moved, half - dt / 2 * force(moved)};
      };
      const auto [moved, kick] = neap::fori_loop(0, leaps, leap, std::pair{q, p});
      const auto energy = [&](const Array& at, const Array& speed) {
        return potential(at) + neap::sum(neap::square(speed)) / 2;
      };
      const Array taken = neap::log(neap::random::uniform(keys[1], {})) < energy(q, p) - energy(moved, kick);
      const Array next = neap::where(taken, moved, q);
      return std::pair{next, next};
    };
    return neap::scan(draw, start, neap::arange(draws)).second;
  };
  return uniform_job(r, f, static_cast<double>(draws * leaps), spec_of({n}));
}

// --- solvers

// u less its neighbours, round the torus.
Array five_point(const Array& u) {
  return 4.01f * u - neap::roll(u, 1, 0) - neap::roll(u, -1, 0) - neap::roll(u, 1, 1) - neap::roll(u, -1, 1);
}

// Conjugate gradients, 100 steps.
std::unique_ptr<Job> cg(const Request& r) {
  const int64_t side = part_of(1024, r), steps = 100;
  struct State {
    Array x, residual, direction, square;
  };
  const auto f = [=](const Array& b) {
    const auto step = [](const Array&, const State& s) {
      const Array image = five_point(s.direction);
      const Array alpha = s.square / neap::sum(s.direction * image);
      const Array residual = s.residual - alpha * image;
      const Array square = neap::sum(neap::square(residual));
      return State{s.x + alpha * s.direction, residual, residual + square / s.square * s.direction, square};
    };
    return neap::fori_loop(0, steps, step, State{neap::zeros_like(b), b, b, neap::sum(neap::square(b))}).x;
  };
  return uniform_job(r, f, static_cast<double>(steps * side * side), spec_of({side, side}));
}

// GMRES(30), restarted 4 times, for flow that carries and diffuses: Gram and Schmidt's method twice, as blocks.
std::unique_ptr<Job> gmres(const Request& r) {
  const int64_t side = part_of(256, r), n = side * side, inner = 30;
  const auto apply_to = [=](const Array& v) {
    const Array u = neap::reshape(v, {side, side});
    const Array carried = neap::roll(u, 1, 0) - neap::roll(u, -1, 0);
    return neap::reshape(five_point(u) + 0.3f * carried, {n});
  };
  const auto norm = [](const Array& v) { return neap::sqrt(neap::sum(neap::square(v))); };
  const auto f = [=](const Array& b) {
    const auto restart = [=](const Array&, const Array& x) {
      const Array residual = b - apply_to(x), beta = norm(residual);
      const Array first = neap::zeros({inner + 1, n}).at({0}).set(residual / beta);
      const auto step = [=](const Array& k, const std::pair<Array, Array>& s) {
        const auto& [basis, h] = s;
        const Array image = apply_to(basis[{k}]);
        const Array along = neap::matmul(basis, image);
        const Array once = image - neap::matmul(along, basis);
        const Array again = neap::matmul(basis, once);
        const Array left = once - neap::matmul(again, basis);
        const Array length = norm(left);
        return std::pair{basis.at({k + 1}).set(left / length), h.at({k}).set((along + again).at({k + 1}).set(length))};
      };
      // h holds Hessenberg's matrix transposed: a row for each step.
      const auto [basis, h] = neap::fori_loop(0, inner, step, std::pair{first, neap::zeros({inner, inner + 1})});
      const Array image = neap::matmul(h, neap::transpose(h));
      const Array y = neap::linalg::solve(image, beta * h[{neap::slice(), 0}], true);
      return x + neap::matmul(y, basis[{neap::slice(0, inner)}]);
    };
    return neap::fori_loop(0, 4, restart, neap::zeros_like(b));
  };
  return uniform_job(r, f, static_cast<double>(4 * inner * n), spec_of({n}));
}

// L-BFGS with ten pairs and a line search by halving, on logistic regression: the 8 steps that it takes to converge.
std::unique_ptr<Job> lbfgs(const Request& r) {
  const int64_t rows = part_of(5000, r), n = 200, pairs = 10, steps = 8;
  struct State {
    Array w, value, gradient, moves, changes, inverse;  // [n], [], [n], [pairs, n] twice, [pairs]
  };
  const auto f = [=](const Array& x, const Array& y) {
    const auto loss = [=](const Array& w) {
      return neap::mean(neap::softplus(-neap::sign(y) * neap::matmul(x, w))) + 1e-3f * neap::sum(neap::square(w));
    };
    const auto with_gradient = neap::value_and_grad(loss);
    const auto step = [=](const Array& k, const State& s) {
      // Pair number k - 1 - i stands in row (k - 1 - i) modulo pairs; those not made yet are zeros and change nothing.
      const auto down = [&](const Array& i, const std::pair<Array, Array>& at) {
        const Array row = neap::remainder(k - 1 - i + pairs, static_cast<int32_t>(pairs));
        const Array a = s.inverse[{row}] * neap::vdot(s.moves[{row}], at.first);
        return std::pair{at.first - a * s.changes[{row}], at.second.at({row}).set(a)};
      };
      const auto [q, a] = neap::fori_loop(0, pairs, down, std::pair{s.gradient, neap::zeros({pairs})});
      const Array last = neap::remainder(k - 1 + pairs, static_cast<int32_t>(pairs));
      const Array change = s.changes[{last}];
      const Array scale = neap::where(k > 0, neap::vdot(s.moves[{last}], change) / neap::vdot(change, change), 1.0f);
      const auto up = [&, a = a](const Array& i, const Array& z) {
        const Array row = neap::remainder(k + i, static_cast<int32_t>(pairs));
        const Array b = s.inverse[{row}] * neap::vdot(s.changes[{row}], z);
        return z + (a[{row}] - b) * s.moves[{row}];
      };
      const Array direction = -neap::fori_loop(0, pairs, up, scale * q);
      const Array slope = neap::vdot(direction, s.gradient);
      const auto too_long = [&](const Array& t) {
        return neap::logical_and(loss(s.w + t * direction) > s.value + 1e-4f * t * slope, t > 1e-6f);
      };
      const Array t = neap::while_loop(too_long, [](const Array& length) { return length / 2; }, neap::ones({}));
      const Array move = t * direction, w = s.w + move;
      const auto [value, gradient] = with_gradient(w);
      const Array row = neap::remainder(k, static_cast<int32_t>(pairs));
      const Array turned = gradient - s.gradient;
      return State{w,
                   value,
                   gradient,
                   s.moves.at({row}).set(move),
                   s.changes.at({row}).set(turned),
                   s.inverse.at({row}).set(1 / neap::vdot(move, turned))};
    };
    const Array w = neap::zeros({n}), none = neap::zeros({pairs, n});
    const auto [value, gradient] = with_gradient(w);
    const State end = neap::fori_loop(0, steps, step, State{w, value, gradient, none, none, neap::zeros({pairs})});
    return std::pair{end.w, end.value};
  };
  return uniform_job(r, f, static_cast<double>(steps * rows * n), spec_of({rows, n}), spec_of({rows}));
}

// --- derivatives

// The Hessians of a small net in its eight inputs, at many points: what physics-informed nets ask.
std::unique_ptr<Job> hessians(const Request& r) {
  const int64_t points = part_of(1024, r), in = 8, width = 32;
  struct Net {
    Layer first, second, last;
  };
  const auto f = [](const Net& net, const Array& x) {
    const auto u = [&](const Array& point) {
      const Array hidden = neap::tanh(apply(net.second, neap::tanh(apply(net.first, point))));
      return neap::sum(apply(net.last, hidden));
    };
    return neap::vmap(neap::hessian(u))(x);
  };
  const Net net{layer_spec(in, width), layer_spec(width, width), layer_spec(width, 1)};
  auto job = make_job(r, f, std::tuple{net, spec_of({points, in})},
                      [=] { return std::tuple{host_weights(net, 1), host_uniform({points, in}, neap::f32, 10)}; });
  job->elements = static_cast<double>(points);
  return job;
}

// The log marginal likelihood of a Gaussian process and its gradient in three parameters.
std::unique_ptr<Job> gaussian_process(const Request& r) {
  const int64_t n = part_of(800, r);
  const auto f = [=](const Array& p, const Array& x, const Array& y) {
    const auto likelihood = [&](const Array& at) {
      const Array scales = neap::exp(at);
      const Array apart = neap::sum(neap::square(neap::expand_dims(x, 1) - neap::expand_dims(x, 0)), 2);
      const Array covariance = scales[1] * neap::exp(-0.5f * apart / neap::square(scales[0]));
      const Array factor = neap::linalg::cholesky(covariance + (scales[2] + 0.1f) * neap::eye(n));
      const Array solved = neap::linalg::cho_solve(factor, y);
      return 0.5f * neap::vdot(y, solved) + neap::sum(neap::log(neap::diagonal(factor)));
    };
    return neap::value_and_grad(likelihood)(p);
  };
  return uniform_job(r, f, std::pow(static_cast<double>(n), 3), spec_of({3}), spec_of({n, 4}), spec_of({n}));
}

// --- sequences

// h_t = a_t h_{t-1} + b_t of a state-space layer, by associative_scan.
std::unique_ptr<Job> recurrence(const Request& r) {
  const int64_t length = part_of(16'384, r), width = 64;
  const auto f = [](const Array& a, const Array& b) {
    const auto join = [](const std::pair<Array, Array>& left, const std::pair<Array, Array>& right) {
      return std::pair{left.first * right.first, right.first * left.second + right.second};
    };
    return neap::associative_scan(join, std::pair{a, b}).second;
  };
  return uniform_job(r, f, static_cast<double>(length * width), spec_of({length, width}), spec_of({length, width}));
}

std::unique_ptr<Job> convolve(const Request& r) {
  const int64_t n = part_of(100'000, r);
  return uniform_job(
      r, [](const Array& x, const Array& taps) { return neap::convolve(x, taps); }, static_cast<double>(n * 101),
      spec_of({n}), spec_of({101}));
}

// --- layers and training steps

Array attended(const Array& q, const Array& k, const Array& v) {
  const int64_t length = q.shape(1);
  const Array scores = neap::matmul(q, neap::swapaxes(k, 1, 2)) / 8;
  const Array visible = neap::tril(neap::ones({length, length}, neap::bool_));
  return neap::matmul(neap::softmax(neap::where(visible, scores, -1e30f)), v);
}

template <Of kOf>
std::unique_ptr<Job> causal_attention(const Request& r) {
  const int64_t heads = 16, length = part_of(1024, r);
  const Array spec = spec_of({heads, length, 64});
  const double elements = static_cast<double>(heads * length * length);
  if constexpr (kOf == Of::result) return uniform_job(r, attended, elements, spec, spec, spec);
  const auto loss = [](const Array& q, const Array& k, const Array& v, const Array& ct) {
    return neap::sum(attended(q, k, v) * ct);
  };
  return uniform_job(r, neap::grad<0, 1, 2>(loss), elements, spec, spec, spec, spec);
}

// Graph attention: weights of a node's incoming edges by softmax, value and gradient.
std::unique_ptr<Job> graph_attention(const Request& r) {
  const int64_t nodes = part_of(20'000, r), edges = part_of(200'000, r), width = 64;
  struct Weights {
    Array w, from, to;  // [width, width], [width], [width]
  };
  struct Graph {
    Array features, from, to;  // [nodes, width], [edges], [edges]
  };
  const auto loss = [=](const Weights& p, const Graph& g) {
    const Array h = neap::matmul(g.features, p.w);
    const Array score =
        neap::leaky_relu(neap::take(neap::matmul(h, p.from), g.from) + neap::take(neap::matmul(h, p.to), g.to), 0.2f);
    const Array most = neap::full({nodes}, -1e30f).at(g.to).max(score);
    const Array weight = neap::exp(score - neap::take(neap::stop_gradient(most), g.to));
    const Array total = neap::zeros({nodes}).at(g.to).add(weight);
    const Array share = weight / neap::take(total, g.to);
    const Array out = neap::zeros({nodes, width}).at(g.to).add(neap::expand_dims(share, 1) * neap::take(h, g.from));
    return neap::mean(neap::square(neap::elu(out)));
  };
  const Weights p{spec_of({width, width}), spec_of({width}), spec_of({width})};
  const Array ends = spec_of({edges}, neap::i32);
  auto job = make_job(r, neap::value_and_grad(loss), std::tuple{p, Graph{spec_of({nodes, width}), ends, ends}}, [=] {
    return std::tuple{host_weights(p, 1), Graph{host_uniform({nodes, width}, neap::f32, 10),
                                                host_indices({edges}, nodes, 11), host_indices({edges}, nodes, 12)}};
  });
  job->elements = static_cast<double>(edges * width);
  return job;
}

// x [n, side, side, in], w [out, in, 3, 3].
Array conv(const Array& x, const Array& w) {
  const Array y = neap::conv_general(neap::transpose(x, neap::Shape{0, 3, 1, 2}), w, {.same = true});
  return neap::transpose(y, neap::Shape{0, 2, 3, 1});
}

// x [n, side, side, channels].
Array pooled(const Array& x) {
  const int64_t n = x.shape(0), side = x.shape(1), channels = x.shape(3);
  return neap::mean(neap::reshape(x, {n, side / 2, 2, side / 2, 2, channels}), {2, 4});
}

// The network of Flax's first tutorial on its images, by momentum.
std::unique_ptr<Job> cnn_step(const Request& r) {
  const int64_t batch = part_of(128, r), side = 28;
  struct Net {
    Array first, second;
    Layer hidden, head;
  };
  struct State {
    Net net, speed;
  };
  const auto loss = [=](const Net& net, const Array& images, const Array& labels) {
    const Array once = pooled(neap::relu(conv(images, net.first)));
    const Array twice = pooled(neap::relu(conv(once, net.second)));
    const Array flat = neap::reshape(twice, {batch, side / 4 * (side / 4) * 64});
    return cross_entropy(apply(net.head, neap::relu(apply(net.hidden, flat))), labels);
  };
  const auto step = [=](const State& s, const Array& images, const Array& labels) {
    const auto [value, g] = neap::value_and_grad(loss)(s.net, images, labels);
    const Net speed = neap::tree_map([](const Array& v, const Array& slope) { return 0.9f * v + slope; }, s.speed, g);
    return std::pair{State{descend(s.net, speed, 0.01f), speed}, value};
  };
  const Net net{spec_of({32, 1, 3, 3}), spec_of({64, 32, 3, 3}), layer_spec(side / 4 * (side / 4) * 64, 256),
                layer_spec(256, 10)};
  const std::tuple specs{State{net, net}, spec_of({batch, side, side, 1}), spec_of({batch}, neap::i32)};
  auto job = make_step_job(r, step, specs, [=] {
    return std::tuple{State{host_weights(net, 1), host_weights(net, 20)},
                      host_uniform({batch, side, side, 1}, neap::f32, 100), host_indices({batch}, 10, 101)};
  });
  job->elements = static_cast<double>(batch);
  return job;
}

// A residual block with normalization over the batch, and the gradients of its weights and input.
std::unique_ptr<Job> batch_norm(const Request& r) {
  const int64_t batch = part_of(32, r), side = 28, channels = 64;
  struct Norm {
    Array scale, offset;
  };
  struct Block {
    Array first, second;
    Norm one, two;
  };
  const auto normal = [](const Array& x, const Norm& norm) {
    const Array centred = x - neap::mean(x, {0, 1, 2});
    return centred * neap::rsqrt(neap::mean(neap::square(centred), {0, 1, 2}) + 1e-5f) * norm.scale + norm.offset;
  };
  const auto loss = [=](const Block& p, const Array& x) {
    const Array once = neap::relu(normal(conv(x, p.first), p.one));
    return neap::mean(neap::square(neap::relu(x + normal(conv(once, p.second), p.two))));
  };
  const Norm norm{spec_of({channels}), spec_of({channels})};
  const Array kernel = spec_of({channels, channels, 3, 3}), x = spec_of({batch, side, side, channels});
  const Block block{kernel, kernel, norm, norm};
  auto job = make_job(r, neap::value_and_grad<0, 1>(loss), std::tuple{block, x},
                      [=] { return std::tuple{host_weights(block, 1), host_uniform(x.shape(), neap::f32, 10)}; });
  job->elements = static_cast<double>(batch * side * side * channels);
  return job;
}

// A language model of two LSTM layers over 64 steps, value and gradient.
std::unique_ptr<Job> lstm(const Request& r) {
  const int64_t batch = part_of(32, r), length = 64, width = 256, vocabulary = 1000;
  struct Model {
    Array embedding;           // [vocabulary, width]
    std::vector<Layer> cells;  // of [2 width, 4 width]
    Layer head;
  };
  using State = std::pair<Array, Array>;  // h, c: [batch, width]
  const auto loss = [=](const Model& p, const Array& tokens) {
    const Array inputs = neap::take(p.embedding, neap::transpose(tokens)[{neap::slice(0, length)}]);
    const auto step = [&](const std::vector<State>& states, const Array& in) {
      std::vector<State> next;
      Array x = in;
      for (size_t i = 0; i < states.size(); ++i) {
        const auto gates = neap::split(apply(p.cells[i], neap::concatenate({x, states[i].first}, 1)), 4, 1);
        const Array c = neap::sigmoid(gates[0]) * states[i].second + neap::sigmoid(gates[1]) * neap::tanh(gates[2]);
        x = neap::sigmoid(gates[3]) * neap::tanh(c);
        next.emplace_back(x, c);
      }
      return std::pair{next, x};
    };
    const Array zero = neap::zeros({batch, width});
    const Array out = neap::scan(step, std::vector<State>(2, State{zero, zero}), inputs).second;
    return cross_entropy(apply(p.head, out), neap::transpose(tokens)[{neap::slice(1, length + 1)}]);
  };
  const Model model{spec_of({vocabulary, width}), std::vector<Layer>(2, layer_spec(2 * width, 4 * width)),
                    layer_spec(width, vocabulary)};
  const Array tokens = spec_of({batch, length + 1}, neap::i32);
  auto job = make_job(r, neap::value_and_grad(loss), std::tuple{model, tokens}, [=] {
    return std::tuple{host_weights(model, 1), host_indices(tokens.shape(), vocabulary, 100)};
  });
  job->elements = static_cast<double>(batch * length);
  return job;
}

constexpr Form kPrograms[] = {
    {"hmc", hmc},
    {"cg", cg},
    {"gmres", gmres},
    {"lbfgs", lbfgs},
    {"hessians", hessians},
    {"gaussian-process", gaussian_process},
    {"recurrence", recurrence},
    {"convolve", convolve},
    {"causal-attention", causal_attention<Of::result>},
    {"causal-attention-grad", causal_attention<Of::gradients>},
    {"graph-attention", graph_attention},
    {"cnn-step", cnn_step},
    {"batch-norm", batch_norm},
    {"lstm", lstm},
};

}  // namespace

void add_program_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "programs";
  c.what = "samplers, solvers, layers and training steps as JAX's users write them (bench/README.md, Programs)";
  c.size_means = "thousandths of the longest extents";
  c.size = c.full = {1000};
  c.has_peers = true;
  offer_forms(c, kPrograms);
  cases.push_back(c);
}

}  // namespace bench
