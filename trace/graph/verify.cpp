#include <neap/error.h>

#include <fmt/format.h>

#include "core/check.h"
#include "trace/graph/graph.h"
#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  void run() {
    check(graph_.num_captured >= 0 && graph_.num_captured <= static_cast<int>(graph_.inputs.size()),
          "{} captured of {} inputs", graph_.num_captured, graph_.inputs.size());
    for (size_t i = 0; i < graph_.inputs.size(); ++i) define(graph_.inputs[i], no_node, i);
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) node(id);
    for (const ValueId v : graph_.outputs) use(v, "the graph's outputs");
  }

 private:
  template <class... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw InternalError(fmt::format("malformed graph: {}\n{}", message, print(graph_)));
  }

  void define(ValueId v, NodeId def, size_t index) {
    check(v >= 0 && v < static_cast<ValueId>(graph_.values.size()), "value {} of {}", v, graph_.values.size());
    check(!defined_[v], "value {} is defined twice", v);
    defined_[v] = true;
    const Value& value = graph_.values[v];
    check(value.def == def && value.index == static_cast<int>(index),
          "value {} says that it is output {} of node {}, not output {} of node {}", v, value.index, value.def, index,
          def);
  }

  void use(ValueId v, std::string_view where) const {
    check(v >= 0 && v < static_cast<ValueId>(graph_.values.size()), "{} name value {} of {}", where, v,
          graph_.values.size());
    check(defined_[v], "{} name value {} before its definition", where, v);
  }

  void node(NodeId id) {
    const Node& node = graph_.nodes[id];
    const std::string where = fmt::format("the operands of node {} ({})", id, name(node.op));
    std::vector<Aval> operands;
    for (const ValueId v : node.inputs) {
      use(v, where);
      operands.push_back(graph_.aval(v));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) define(node.outputs[i], id, i);
    check_results(id, node, operands);
    for (const auto& [key, value] : node.attrs.items())
      if (const GraphPtr* graph = std::get_if<GraphPtr>(&value)) verify(**graph);
  }

  void check_results(NodeId id, const Node& node, const std::vector<Aval>& operands) const {
    std::vector<Aval> expected;
    try {
      expected = infer(node.op, operands, node.attrs, node.loc);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(fmt::format("node {}: {}", id, error.what()));
    }
    check(expected.size() == node.outputs.size(), "node {} ({}) has {} outputs, not {}", id, name(node.op),
          node.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      check(graph_.aval(node.outputs[i]) == expected[i], "node {} ({}) gives {}, but its output {} is {}", id,
            name(node.op), to_string(expected[i]), i, to_string(graph_.aval(node.outputs[i])));
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace neap::tracing
