// Copying parts of a graph into another one.
#pragma once

#include <vector>

#include "core/check.h"
#include "trace/graph/graph.h"

namespace neap::autodiff {

/// Copier copies values of one graph into a new one, node by node.
class Copier {
 public:
  explicit Copier(const tracing::Graph& from) : from_(from), renamed_(from.values.size(), tracing::no_value) {
    to.name = from.name;
  }

  bool has(tracing::ValueId v) const { return renamed_[v] != tracing::no_value; }
  tracing::ValueId operator[](tracing::ValueId v) const {
    NEAP_CHECK(has(v), "value {} is not copied", v);
    return renamed_[v];
  }
  void set(tracing::ValueId v, tracing::ValueId copy) { renamed_[v] = copy; }
  /// Makes v an input of the new graph.
  tracing::ValueId input(tracing::ValueId v) { return renamed_[v] = to.add_input(from_.aval(v)); }
  /// Copies the node; its operands are copied already.
  void node(const tracing::Node& node) {
    this->node(node, [](tracing::ValueId) { return true; });
  }
  /// Does the same, but only the wanted results stand for the node's.
  template <class Wanted>
  void node(const tracing::Node& node, const Wanted& wanted) {
    const tracing::NodeId id = to.add_node(node.op, all(node.inputs), node.attrs, node.loc);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (wanted(node.outputs[i])) renamed_[node.outputs[i]] = to.nodes[id].outputs[i];
  }
  std::vector<tracing::ValueId> all(const std::vector<tracing::ValueId>& values) const {
    std::vector<tracing::ValueId> copies;
    for (const tracing::ValueId v : values) copies.push_back((*this)[v]);
    return copies;
  }

  tracing::Graph to;

 private:
  const tracing::Graph& from_;
  std::vector<tracing::ValueId> renamed_;
};

}  // namespace neap::autodiff
