// Copying parts of a graph into another one.
#pragma once

#include <vector>

#include "core/check.h"
#include "trace/graph.h"

namespace neap::autodiff {

/// Copies values of one graph into a new one, node by node.
class Copier {
 public:
  explicit Copier(const trace::Graph& from) : from_(from), renamed_(from.values.size(), trace::no_value) {
    to.name = from.name;
  }

  bool has(trace::ValueId v) const { return renamed_[v] != trace::no_value; }
  trace::ValueId operator[](trace::ValueId v) const {
    NEAP_CHECK(has(v), "value {} is not copied", v);
    return renamed_[v];
  }
  void set(trace::ValueId v, trace::ValueId copy) { renamed_[v] = copy; }
  /// v as an input of the new graph.
  trace::ValueId input(trace::ValueId v) { return renamed_[v] = to.add_input(from_.aval(v)); }
  /// The node, its operands being copied already.
  void node(const trace::Node& node) {
    this->node(node, [](trace::ValueId) { return true; });
  }
  /// The same; only those results stand for the node's that are wanted.
  template <class Wanted>
  void node(const trace::Node& node, const Wanted& wanted) {
    const trace::NodeId id = to.add_node(node.op, all(node.inputs), node.attrs, node.loc);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (wanted(node.outputs[i])) renamed_[node.outputs[i]] = to.nodes[id].outputs[i];
  }
  std::vector<trace::ValueId> all(const std::vector<trace::ValueId>& values) const {
    std::vector<trace::ValueId> copies;
    for (const trace::ValueId v : values) copies.push_back((*this)[v]);
    return copies;
  }

  trace::Graph to;

 private:
  const trace::Graph& from_;
  std::vector<trace::ValueId> renamed_;
};

}  // namespace neap::autodiff
