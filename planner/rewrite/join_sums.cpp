#include "planner/rewrite/join_sums.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/graph_edit.h"
#include "trace/graph/loop.h"
#include "trace/graph/mesh.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// An array of more bytes is sent by itself, while others are computed; and sums of so many bytes are enough for one.
constexpr size_t kSmall = size_t{128} << 10, kTogether = size_t{256} << 10;

using Members = std::vector<NodeId>;

// Sums that are made together. Of the same depth, so that none waits for another, nor do two such groups for each
// other.
std::vector<Members> groups_of(const Graph& graph) {
  std::vector<int> depth(graph.values.size(), 0);  // sums on the way to each value, at most
  std::vector<MeshAxisPtr> axes;                   // by first use
  std::map<std::tuple<int, Op, size_t, DType>, Members> alike;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    int before = 0;
    for (const ValueId v : node.inputs) before = std::max(before, depth[v]);
    const bool sums = node.op == Op::psum || node.op == Op::pmax || node.op == Op::pmin;
    for (const ValueId v : node.outputs) depth[v] = before + (sums ? 1 : 0);
    if (!sums || node.attrs.mesh_axis()->size < 2) continue;
    const Aval& aval = graph.aval(node.out());
    if (aval.bytes() == 0 || aval.bytes() > kSmall) continue;
    const MeshAxisPtr& axis = node.attrs.mesh_axis();
    const auto known = std::ranges::find_if(axes, [&](const MeshAxisPtr& other) { return *other == *axis; });
    const auto number = static_cast<size_t>(known - axes.begin());
    if (known == axes.end()) axes.push_back(axis);
    alike[{before, node.op, number, aval.dtype}].push_back(static_cast<NodeId>(n));
  }
  std::vector<Members> result;
  for (auto& [key, all] : alike) {
    // What is computed first is sent first: nothing of it waits for what comes long after.
    std::ranges::sort(all, {}, [&](NodeId id) { return std::pair(graph.nodes[id].inputs[0], id); });
    Members members;
    size_t held = 0;
    const auto close = [&] {
      if (members.size() > 1) result.push_back(std::move(members));
      members.clear(), held = 0;
    };
    for (const NodeId id : all) {
      const size_t bytes = graph.aval(graph.nodes[id].out()).bytes();
      if (held + bytes > kTogether) close();
      members.push_back(id), held += bytes;
    }
    close();
  }
  return result;
}

// The graph with each group as one node, in an order in which all operands come before.
class Joiner {
 public:
  Joiner(const Graph& graph, const std::vector<Members>& groups)
      : graph_(graph), groups_(groups), group_of_(graph.nodes.size(), -1), missing_(graph.nodes.size(), 0) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const NodeId id : groups[g]) group_of_[id] = static_cast<int>(g);
      left_.push_back(groups[g].size());
    }
  }

  Graph run() {
    renamed_ = copy_inputs(result_, graph_);
    std::vector<std::vector<NodeId>> readers = consumers(graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      std::set<ValueId> computed;
      for (const ValueId v : graph_.nodes[n].inputs) {
        if (graph_.def(v)) computed.insert(v);
      }
      missing_[n] = computed.size();
      if (computed.empty()) ready_.insert(static_cast<NodeId>(n));
    }
    while (!ready_.empty()) {
      const NodeId id = *ready_.begin();
      ready_.erase(ready_.begin());
      const int g = group_of_[id];
      if (g >= 0 && --left_[g] > 0) continue;  // the last one makes all of them
      if (g >= 0) {
        write(groups_[g]);
        for (const NodeId member : groups_[g]) release(graph_.nodes[member], readers);
      } else {
        append_renamed(result_, graph_, graph_.nodes[id], renamed_);
        release(graph_.nodes[id], readers);
      }
    }
    for (const ValueId v : graph_.outputs) result_.outputs.push_back(renamed_[v]);
    return std::move(result_);
  }

 private:
  void release(const Node& node, const std::vector<std::vector<NodeId>>& readers) {
    for (const ValueId v : node.outputs) {
      for (const NodeId reader : readers[v]) {
        if (--missing_[reader] == 0) ready_.insert(reader);
      }
    }
  }

  void write(const Members& members) {
    const Node& like = graph_.nodes[members.front()];
    std::vector<ValueId> rows;
    for (const NodeId id : members) {
      const ValueId v = graph_.nodes[id].inputs[0];
      const Attrs flat{{Attr::shape, Shape{graph_.aval(v).size()}}};
      rows.push_back(result_.add(Op::reshape, {renamed_[v]}, flat, graph_.nodes[id].loc));
    }
    const ValueId all = result_.add(Op::concatenate, std::move(rows), {{Attr::axis, int64_t{0}}}, like.loc);
    const ValueId sums = result_.add(like.op, {all}, like.attrs, like.loc);
    int64_t at = 0;
    for (const NodeId id : members) {
      const Node& node = graph_.nodes[id];
      const Aval& aval = graph_.aval(node.out());
      const ValueId part = append_slice(result_, sums, 0, at, at + aval.size(), node.loc);
      renamed_[node.out()] = result_.add(Op::reshape, {part}, {{Attr::shape, aval.shape}}, node.loc);
      at += aval.size();
    }
  }

  const Graph& graph_;
  const std::vector<Members>& groups_;
  std::vector<int> group_of_;    // of each node; -1: none
  std::vector<size_t> missing_;  // of each node: operands that are not there yet
  std::vector<size_t> left_;     // of each group: nodes whose operands are not there yet
  std::set<NodeId> ready_;
  Graph result_;
  std::vector<ValueId> renamed_;
};

}  // namespace

std::optional<Graph> join_sums(const Graph& graph) {
  const std::vector<Members> groups = groups_of(graph);
  Graph result = groups.empty() ? graph : Joiner(graph, groups).run();
  bool changed = !groups.empty();
  for (Node& node : result.nodes) {
    if (!is_loop(node.op)) continue;
    if (std::optional<Graph> body = join_sums(*node.attrs.graph(Attr::body))) {
      node.attrs.set(Attr::body, std::make_shared<const Graph>(*std::move(body)));
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return result;
}

}  // namespace neap::planner
