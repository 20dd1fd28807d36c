// graph-net: messages along the edges of a graph, gathered from both ends and added up where they arrive; value and
// gradient in the weights.
#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;

struct Round {
  Layer message, update;
};
using Params = std::vector<Round>;
struct Graph {
  Array features, from, to, target;  // [nodes, width], [edges], [edges], [nodes]
};

constexpr int64_t kWidth = 32;
constexpr int kRounds = 3;

Params param_specs() { return Params(kRounds, Round{layer_spec(2 * kWidth, kWidth), layer_spec(2 * kWidth, kWidth)}); }

Array loss(const Params& p, const Graph& g) {
  Array h = g.features;
  for (const Round& round : p) {
    const Array ends = neap::concatenate({neap::take(h, g.from), neap::take(h, g.to)}, 1);
    const Array messages = neap::relu(apply(round.message, ends));
    const Array arrived = neap::zeros(h.shape()).at(g.to).add(messages);
    h = h + neap::relu(apply(round.update, neap::concatenate({h, arrived}, 1)));
  }
  return neap::mean(neap::square(neap::mean(h, 1) - g.target));
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t nodes = r.shape[0], edges = r.shape[1];
  const auto f = [](const Params& p, const Graph& g) { return neap::value_and_grad(loss)(p, g); };
  const Array ends = neap::spec({edges}, neap::i32);
  const std::tuple specs{param_specs(),
                         Graph{neap::spec({nodes, kWidth}, neap::f32), ends, ends, neap::spec({nodes}, neap::f32)}};
  const auto make = [=] {
    return std::tuple{host_weights(param_specs(), 1),
                      Graph{host_uniform({nodes, kWidth}, neap::f32, 101), host_indices({edges}, nodes, 102),
                            host_indices({edges}, nodes, 103), host_uniform({nodes}, neap::f32, 104)}};
  };
  auto job = make_job(r, f, specs, make);
  job->output_bytes = tree_bytes(param_specs()) + sizeof(float);
  job->elements = static_cast<double>(edges);
  return job;
}

}  // namespace

void add_graph_net_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "graph-net";
  c.what = "value and gradient of a graph network: 3 rounds of messages, 32 wide, by gather and scatter";
  c.size_means = "nodes x edges";
  c.size = {20'000, 200'000};
  c.full = {2'000'000, 100'000'000};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
