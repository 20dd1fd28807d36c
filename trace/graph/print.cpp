// Graphs as text. The grammar, which parse.cpp reads:
//
//   graph = "graph" [string] ["captured=" integer] "(" [value {"," value}] ")" "{" {node} "return" [ref {"," ref}] "}"
//   node  = [value {"," value}] "=" op {ref} ["{" attr {"," attr} "}"]
//   value = ref ":" dtype "[" [integer {"," integer}] "]"
//   ref   = "%" integer
//   attr  = name "=" (integer | double | dtype | "[" [integer {"," integer}] "]" | string | graph | function |
//          mesh_axis)
//   function = "@" integer [string]
//   mesh_axis = "<" string integer ">"
//
// Values are numbered in the order inputs, then outputs of the nodes; a sub-graph has numbers of its own. Doubles have
// a point or an exponent, or are inf or nan ("nan:" and 16 hexadecimal digits when not the ordinary one), and read back
// exactly. A function of the host has a number, by which only the process that made it finds it again, and a name for
// people. An axis of a mesh is read back without its processes. "//" starts a comment: the user's source line.
#include <neap/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "trace/graph/graph.h"
#include "trace/graph/host_call.h"
#include "trace/graph/mesh.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string real(double value) {
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto ordinary = std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
    return bits == ordinary ? "nan" : fmt::format("nan:{:016x}", bits);
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, std::string indent)
      : graph_(graph), indent_(std::move(indent)), number_(graph.values.size(), -1) {}

  std::string run() {
    number(graph_.inputs);
    for (const Node& node : graph_.nodes) number(node.outputs);
    std::string text = "graph ";
    if (!graph_.name.empty()) text += quoted(graph_.name) + " ";
    if (graph_.num_captured != 0) text += fmt::format("captured={} ", graph_.num_captured);
    text += fmt::format("({}) {{\n", definitions(graph_.inputs));
    for (const Node& node : graph_.nodes) text += indent_ + "  " + line(node) + "\n";
    text += indent_ + "  return";
    const char* separator = " ";
    for (const ValueId v : graph_.outputs) text += std::exchange(separator, ", ") + ref(v);
    return text + "\n" + indent_ + "}";
  }

 private:
  void number(const std::vector<ValueId>& ids) {
    for (const ValueId v : ids) {
      if (exists(v)) number_[v] = next_++;
    }
  }
  bool exists(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(number_.size()); }

  // A malformed graph prints too, for the verifier's message: "%?7" is defined nowhere.
  std::string ref(ValueId v) const {
    return exists(v) && number_[v] >= 0 ? fmt::format("%{}", number_[v]) : fmt::format("%?{}", v);
  }

  std::string definitions(const std::vector<ValueId>& ids) const {
    std::string text;
    for (const ValueId v : ids) {
      if (!text.empty()) text += ", ";
      text += ref(v) + ": " + (exists(v) ? to_string(graph_.aval(v)) : "?");
    }
    return text;
  }

  std::string line(const Node& node) const {
    std::string text = definitions(node.outputs);
    text += fmt::format("{}= {}", text.empty() ? "" : " ", name(node.op));
    for (const ValueId v : node.inputs) text += " " + ref(v);
    const char* separator = " {";
    for (const auto& [key, value] : node.attrs.items()) {
      text += fmt::format("{}{}={}", std::exchange(separator, ", "), name(key),
                          std::visit(ValueText{indent_ + "    "}, value));
    }
    if (!node.attrs.items().empty()) text += "}";
    if (node.loc.line() != 0) text += "  // " + to_string(node.loc);
    return text;
  }

  struct ValueText {
    std::string indent;
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return real(value); }
    std::string operator()(DType value) const { return std::string(neap::name(value)); }
    std::string operator()(const Ints& value) const { return fmt::format("[{}]", fmt::join(value, ",")); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(const HostFunctionPtr& value) const {
      return fmt::format("@{} {}", value->number, quoted(value->name));
    }
    std::string operator()(const MeshAxisPtr& value) const {
      return fmt::format("<{} {}>", quoted(value->name), value->size);
    }
    std::string operator()(const GraphPtr& value) const { return value ? Printer(*value, indent).run() : "null"; }
  };

  const Graph& graph_;
  std::string indent_;
  std::vector<int> number_;
  int next_ = 0;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph, "").run() + "\n"; }

}  // namespace neap::tracing
