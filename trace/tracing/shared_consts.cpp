#include "trace/tracing/shared_consts.h"

#include <algorithm>

namespace neap::tracing {

SharedConsts::SharedConsts(const Arrays& leaves) : leaves_(leaves) {
  for (const Array& leaf : leaves) avals.push_back(leaf.aval());
}

void SharedConsts::add(TracedFunction traced) {
  std::vector<size_t>& places = places_.emplace_back();
  for (Array& x : traced.captured) {
    const auto same = std::ranges::find(consts_, x.impl(), [](const Array& c) { return c.impl(); });
    places.push_back(static_cast<size_t>(same - consts_.begin()));
    if (same == consts_.end()) consts_.push_back(std::move(x));
  }
  graphs_.push_back(std::move(traced.graph));
}

GraphPtr SharedConsts::graph(size_t i) const {
  const Graph& g = graphs_[i];
  std::vector<Aval> parameters;
  for (const Array& c : consts_) parameters.push_back(c.aval());
  const size_t own = g.inputs.size() - static_cast<size_t>(g.num_captured);
  for (size_t j = 0; j < own; ++j) parameters.push_back(g.aval(g.inputs[j]));
  return std::make_shared<const Graph>(trace_closed(
      parameters,
      [&](const Arrays& in) {
        Arrays inputs(in.begin() + std::ssize(consts_), in.end());
        for (const size_t place : places_[i]) inputs.push_back(in[place]);
        return inline_graph(g, inputs);
      },
      g.name));
}

Arrays SharedConsts::operands() const {
  Arrays all = consts_;
  all.insert(all.end(), leaves_.begin(), leaves_.end());
  return all;
}

}  // namespace neap::tracing
