// Programs to order: random graphs, trees, series-parallel graphs, networks and loops.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "planner/order/order.h"

namespace neap::planner {

using Edges = std::vector<std::vector<int>>;  // of each step, the later ones
using Random = std::mt19937;

inline int below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
inline size_t some_bytes(Random& random) { return 64 * static_cast<size_t>(1 + below(random, 50)); }

inline void connect(Edges& edges, int a, int b) {
  if (std::ranges::find(edges[a], b) == edges[a].end()) edges[a].push_back(b);
}

/// The same graph with its steps numbered in another order that it allows.
inline Edges renumbered(Random& random, const Edges& edges) {
  const int n = static_cast<int>(edges.size());
  std::vector<int> missing(n, 0), ready, number(n);
  for (const auto& list : edges) {
    for (const int next : list) ++missing[next];
  }
  for (int s = 0; s < n; ++s) {
    if (missing[s] == 0) ready.push_back(s);
  }
  for (int count = 0; count < n; ++count) {
    std::swap(ready[below(random, static_cast<int>(ready.size()))], ready.back());
    const int s = ready.back();
    ready.pop_back();
    number[s] = count;
    for (const int next : edges[s]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  Edges result(n);
  for (int s = 0; s < n; ++s) {
    for (const int next : edges[s]) result[number[s]].push_back(number[next]);
    std::ranges::sort(result[number[s]]);
  }
  return result;
}

inline Edges random_graph(Random& random, int steps, int operands, int reach) {
  Edges edges(steps);
  for (int s = 1; s < steps; ++s) {
    for (int i = 0; i < operands; ++i) connect(edges, std::max(0, s - 1 - below(random, reach)), s);
  }
  return renumbered(random, edges);
}

inline Edges in_tree(Random& random, int steps) {
  Edges edges(steps);
  for (int s = 0; s + 1 < steps; ++s) edges[s] = {std::min(steps - 1, s + 1 + below(random, 5))};
  return renumbered(random, edges);
}

inline Edges out_tree(Random& random, int steps) { return random_graph(random, steps, 1, 5); }

/// Grown from one edge by putting a step in it or beside it.
inline Edges series_parallel(Random& random, int steps) {
  std::vector<std::pair<int, int>> pairs{{0, 1}};
  for (int s = 2; s < steps; ++s) {
    const int at = below(random, static_cast<int>(pairs.size()));
    const auto [a, b] = pairs[at];
    if (below(random, 2)) pairs[at] = pairs.back(), pairs.pop_back();
    pairs.emplace_back(a, s);
    pairs.emplace_back(s, b);
  }
  Edges edges(steps);
  for (const auto& [a, b] : pairs) connect(edges, a, b);
  return renumbered(random, edges);
}

inline Edges layered(Random& random, int layers, int width) {
  Edges edges(layers * width);
  for (int s = 0; s < (layers - 1) * width; ++s) {
    for (int i = 0; i < 2; ++i) connect(edges, s, (s / width + 1) * width + below(random, width));
  }
  return renumbered(random, edges);
}

/// A value for each edge, or for each step (`shared`), which all the steps after it read.
inline OrderProblem program_of(Random& random, const Edges& edges, bool shared) {
  OrderProblem problem;
  problem.steps = static_cast<int>(edges.size());
  for (int s = 0; s < problem.steps; ++s) {
    problem.scratch.push_back(below(random, 4) == 0 ? some_bytes(random) / 256 * 64 : 0);
    if (shared || edges[s].empty()) {
      problem.values.push_back({some_bytes(random), {s}, edges[s], edges[s].empty() && below(random, 2) == 0});
    } else {
      for (const int next : edges[s]) problem.values.push_back({some_bytes(random), {s}, {next}});
    }
  }
  return problem;
}

/// Lets steps write over an operand, gives values further writers, and adds some that are there from the beginning.
inline void complicate(Random& random, OrderProblem& problem) {
  for (int v = 0; v < static_cast<int>(problem.values.size()); ++v) {
    OrderProblem::Value& value = problem.values[v];
    const int chance = below(random, 6);
    if (chance == 0 && value.readers.size() > 1) value.writers.push_back(value.readers[value.readers.size() / 2]);
    if (chance > 1) continue;
    for (const int reader : value.readers) {
      for (int into = 0; into < static_cast<int>(problem.values.size()); ++into) {
        if (problem.values[into].writers != std::vector<int>{reader} || into == v) continue;
        problem.values[into].bytes = value.bytes;
        problem.reuses.push_back({reader, v, into});
      }
    }
  }
  std::erase_if(problem.reuses, [&](const OrderProblem::Reuse& reuse) {
    return problem.values[reuse.from].bytes != problem.values[reuse.into].bytes;
  });
  OrderProblem::Value given{some_bytes(random), {}, {}, false, true};
  for (int s = 0; s < problem.steps; ++s) {
    if (below(random, 5) == 0) given.readers.push_back(s);
  }
  if (!given.readers.empty()) problem.values.push_back(given);
}

/// Small programs of every kind, of two to `steps` steps.
inline std::vector<OrderProblem> small_programs(Random& random, int steps, bool complicated) {
  std::vector<OrderProblem> programs;
  for (const bool shared : {true, false}) {
    for (const Edges& edges : {random_graph(random, 2 + below(random, steps - 1), 2, steps),
                               random_graph(random, steps, 2, 4), in_tree(random, steps), out_tree(random, steps),
                               series_parallel(random, steps), layered(random, 2, steps / 2)}) {
      programs.push_back(program_of(random, edges, shared));
      if (complicated) complicate(random, programs.back());
    }
  }
  return programs;
}

/// Steps in program order, each making one value.
struct ProgramWriter {
  OrderProblem problem;

  int add(size_t bytes, const std::vector<int>& operands, bool kept = false) {
    const int s = problem.steps++;
    problem.values.push_back({bytes, {s}, {}, kept});
    problem.scratch.push_back(0);
    for (const int operand : operands) {
      auto& readers = problem.values[operand].readers;
      if (readers.empty() || readers.back() != s) readers.push_back(s);
    }
    return s;
  }
};

/// A U-Net, forward and backward: activations wait for the backward pass, gradients of weights are outputs.
inline OrderProblem u_net(int depth) {
  ProgramWriter program;
  std::vector<std::pair<int, std::vector<int>>> tape;
  std::vector<int> skips;
  size_t bytes = size_t{64} << depth;
  const auto layer = [&](const std::vector<int>& operands) {
    tape.emplace_back(program.add(bytes, operands), operands);
    return tape.back().first;
  };
  int x = program.add(bytes, {});
  for (int level = 0; level < depth; ++level) {
    x = layer({layer({x})});
    skips.push_back(x);
    bytes /= 2;
    x = layer({x});
  }
  for (int level = depth; level-- > 0;) {
    bytes *= 2;
    x = layer({layer({layer({x}), skips[level]})});
  }
  std::vector<int> gradient(program.problem.steps, -1);
  gradient[x] = program.add(64, {x});
  for (size_t i = tape.size(); i-- > 0;) {
    const auto& [y, operands] = tape[i];
    std::vector<int> of_weights = operands;
    of_weights.push_back(gradient[y]);
    program.add(128, of_weights, true);
    for (const int operand : operands) {
      const size_t size = program.problem.values[operand].bytes;
      const int mine = program.add(size, {gradient[y]});
      int& sum = gradient[operand];
      sum = sum < 0 ? mine : program.add(size, {sum, mine});
    }
  }
  return program.problem;
}

/// A loop of `count` steps, unrolled: all its noise is drawn before.
inline OrderProblem noisy_loop(int count) {
  ProgramWriter program;
  int x = program.add(640, {});
  std::vector<int> noise;
  for (int i = 0; i < count; ++i) noise.push_back(program.add(640, {}));
  for (int i = 0; i < count; ++i) x = program.add(640, {program.add(1280, {x, noise[i]})});
  program.problem.values[x].kept = true;
  return program.problem;
}

/// The same, each of whose steps has a wide result that is summed only after the loop.
inline OrderProblem observed_loop(int count) {
  ProgramWriter program;
  int x = program.add(640, {});
  std::vector<int> wide;
  for (int i = 0; i < count; ++i) {
    x = program.add(640, {x});
    wide.push_back(program.add(6400, {x}));
  }
  for (const int v : wide) program.add(64, {v}, true);
  return program.problem;
}

}  // namespace neap::planner
