// The parts of a loop's node (scan; while_loop, of which nothing is stacked), and making one. Operands, results and the
// body's inputs and outputs are ordered (constants, carries, stacked), results without constants.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "trace/graph/loop.h"
#include "trace/tracing/tracing.h"

namespace neap::autodiff {

using tracing::LoopView;

/// Returns the attributes, with the marks (checkpoint(), copies) that a node has.
inline tracing::Attrs marked_as(const tracing::Node& node, tracing::Attrs attrs) {
  for (const tracing::Attr mark : {tracing::Attr::copy, tracing::Attr::region, tracing::Attr::saveable})
    if (const tracing::AttrValue* value = node.attrs.find(mark)) attrs.set(mark, *value);
  return attrs;
}

inline tracing::Attrs scan_attrs(tracing::Graph body, int64_t length, size_t consts, size_t carries, bool reverse) {
  return {{tracing::Attr::body, std::make_shared<const tracing::Graph>(std::move(body))},
          {tracing::Attr::length, length},
          {tracing::Attr::num_consts, static_cast<int64_t>(consts)},
          {tracing::Attr::num_carry, static_cast<int64_t>(carries)},
          {tracing::Attr::reverse, static_cast<int64_t>(reverse)}};
}

/// Returns the attributes of a loop of the same op, as often and in the same direction, with another body.
inline tracing::Attrs loop_attrs(const LoopView& loop, tracing::Graph body, size_t consts, size_t carries) {
  tracing::Attrs attrs = loop.node.attrs;
  attrs.set(tracing::Attr::body, std::make_shared<const tracing::Graph>(std::move(body)));
  attrs.set(tracing::Attr::num_consts, static_cast<int64_t>(consts));
  attrs.set(tracing::Attr::num_carry, static_cast<int64_t>(carries));
  return attrs;
}

/// Returns the graph with its inputs in another order: input i becomes what input order[i] was.
inline tracing::Graph with_inputs_ordered(tracing::Graph graph, const std::vector<size_t>& order) {
  NEAP_CHECK(order.size() == graph.inputs.size());
  std::vector<tracing::ValueId> inputs;
  for (const size_t i : order) {
    graph.values[graph.inputs[i]].index = static_cast<int>(inputs.size());
    inputs.push_back(graph.inputs[i]);
  }
  graph.inputs = std::move(inputs);
  graph.num_captured = 0;
  return graph;
}

}  // namespace neap::autodiff
