#include "jit/non_finite.h"

#include <neap/creation.h>
#include <neap/debug.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/dispatch.h"
#include "trace/graph/call.h"
#include "trace/graph/collective.h"
#include "trace/graph/effects.h"
#include "trace/graph/host_call.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/eager.h"
#include "trace/tracing/interpret.h"

namespace neap {
namespace {

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text && *text && std::string_view(text) != "0";
}

thread_local int nan_checks = 0, infinity_checks = 0;
thread_local bool searching = false;  // operations of the search are not looked at

bool looks_for_nans() {
  static const bool always = is_set("NEAP_DEBUG_NANS");
  return always || nan_checks > 0;
}
bool looks_for_infinities() {
  static const bool always = is_set("NEAP_DEBUG_INFS");
  return always || infinity_checks > 0;
}

}  // namespace

debug_nans::debug_nans() { ++nan_checks; }
debug_nans::~debug_nans() { --nan_checks; }
debug_infs::debug_infs() { ++infinity_checks; }
debug_infs::~debug_infs() { --infinity_checks; }

namespace jit_detail {

using namespace tracing;

namespace {

/// Find is an element that is looked for: where it is in its array, and whether it is a NaN.
struct Find {
  int64_t element;
  bool is_nan;
};

std::optional<Find> find_in(const Array& x) {
  if (!is_inexact(x.dtype()) || !x.is_concrete()) return {};
  const bool nans = looks_for_nans(), infinities = looks_for_infinities();
  const std::span<const std::byte> bytes = x.raw();
  return dispatch_all(x.dtype(), [&]<class T>() -> std::optional<Find> {
    const T* elements = reinterpret_cast<const T*>(bytes.data());
    const auto is_wanted = [&](double v) { return (nans && std::isnan(v)) || (infinities && std::isinf(v)); };
    for (int64_t i = 0; i < x.size(); ++i) {
      if constexpr (ComplexScalar<T>) {
        for (const double v : {static_cast<double>(elements[i].real()), static_cast<double>(elements[i].imag())})
          if (is_wanted(v)) return Find{i, std::isnan(v)};
      } else if (const double v = static_cast<double>(elements[i]); is_wanted(v)) {
        return Find{i, std::isnan(v)};
      }
    }
    return {};
  });
}

// " at [1, 2]"; of a scalar nothing.
std::string at_place(int64_t element, const Shape& shape) {
  if (shape.empty()) return "";
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0;) {
    text = fmt::format("{}{}{}", element % shape[axis], text.empty() ? "" : ", ", text);
    element /= shape[axis];
  }
  return " at [" + text + "]";
}

Arrays run_node(const Node& node, const Arrays& operands) {
  return eager().apply(node.op, operands, node.attrs, node.loc);
}

std::string_view name_of(const Node& node) {
  return node.op == Op::host_call ? node.attrs.function(Attr::callee)->name : name(node.op);
}

// Search runs a graph again to find the node whose results have what its operands have not. Nodes with effects or
// collectives are not run, nor those that read what they gave.
class Search {
 public:
  // `outputs`: those of the graph that are looked at.
  Search(const Graph& graph, Arrays inputs, std::vector<ValueId> outputs, std::string where)
      : graph_(graph),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        where_(std::move(where)),
        has_(graph.values.size(), false),
        after_(graph.values.size(), nullptr) {}

  /// Throws where the origin is found. Returns whether an input has it already; false, too, where unsearched().
  bool run() {
    std::vector<size_t> uses(graph_.values.size(), 0);
    for (const Node& node : graph_.nodes)
      for (const ValueId v : node.inputs) ++uses[v];
    walk([&](const Node&, Arrays&) { return true; }, uses);
    ValueId at = no_value;
    for (const ValueId v : outputs_) {
      if (after_[v]) unsearched_ = after_[v];
      if (has_[v]) at = v;
    }
    while (at != no_value) {
      const Node* node = graph_.def(at);
      if (!node) return true;
      const auto before = std::ranges::find_if(node->inputs, [&](ValueId v) { return has_[v]; });
      if (before == node->inputs.end()) {
        const auto result = static_cast<size_t>(std::ranges::find(node->outputs, at) - node->outputs.begin());
        walk(
            [&](const Node& n, Arrays& operands) {
              if (&n == node) report(n, operands, result);
              return &n != node;
            },
            uses);
        return false;
      }
      at = *before;
    }
    return false;
  }
  /// Returns the call with an effect, or the collective, of which an output is made, so that its origin is not found;
  /// nullptr: none.
  const Node* unsearched() const { return unsearched_; }

 private:
  // Runs node by node, while `visit` says so. Values die at their last use.
  void walk(const std::function<bool(const Node&, Arrays&)>& visit, std::vector<size_t> uses) {
    Arrays values(graph_.values.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      values[graph_.inputs[i]] = inputs_[i];
      has_[graph_.inputs[i]] = find_in(inputs_[i]).has_value();
    }
    for (const Node& node : graph_.nodes) {
      const Node* effect = has_collectives(node) ? &node : first_effect(node);  // other ranks do not search
      for (const ValueId v : node.inputs)
        if (after_[v]) effect = after_[v];
      if (effect) {
        for (const ValueId v : node.outputs) after_[v] = effect;
        continue;
      }
      Arrays operands;
      for (const ValueId v : node.inputs) operands.push_back(values[v]);
      if (!visit(node, operands)) return;
      const Arrays results = run_node(node, operands);
      for (size_t i = 0; i < results.size(); ++i) {
        values[node.outputs[i]] = results[i];
        has_[node.outputs[i]] = find_in(results[i]).has_value();
      }
      for (const ValueId v : node.inputs)
        if (--uses[v] == 0) values[v] = Array();
    }
  }

  // Throws for result `at` of the node, whose operands have nothing of it.
  void report(const Node& node, const Arrays& operands, size_t at) const {
    if (node.op == Op::scan) into_scan(node, operands, at);
    if (node.op == Op::while_loop) into_while(node, operands);
    if (node.op == Op::cond) {
      const bool yes = operands[0].item<bool>();
      into(*node.attrs.graph(yes ? Attr::body : Attr::otherwise), Arrays(operands.begin() + 1, operands.end()), at);
    }
    if (op_info(node.op).family == Family::call) into(called(node.op, node.attrs, node.loc), operands, at);
    const Array y = run_node(node, operands)[at];
    const std::optional<Find> found = find_in(y);
    if (!found) return;
    std::string of;
    if (op_info(node.op).family == Family::elementwise)
      for (const Array& x : operands)
        of += fmt::format("{}{}", of.empty() ? " of " : ", ", to_string(reshape(x, {-1})[found->element]));
    throw_user<FloatingPointError>(
        found->is_nan ? "debug_nans" : "debug_infs",
        fmt::format("{} gives {}{}{}, in {}{}", name_of(node), found->is_nan ? "NaN" : "an infinity",
                    at_place(found->element, y.shape()), of, to_string(y.aval()), where_),
        "", "its operands hold none", node.loc);
  }

  void into(const Graph& body, const Arrays& operands, size_t result) const {
    Search(body, operands, {body.outputs[result]}, where_).run();
  }

  // Of a result that is stacked, the carries count, too, of which it is made.
  void into_scan(const Node& node, const Arrays& operands, size_t result) const {
    const LoopView loop(node);
    Arrays state(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(loop.consts + loop.carries));
    std::vector<size_t> looked_at = carries_of(loop);
    if (loop.is_stacked_result(result)) looked_at.push_back(result);
    for (int64_t step = 0; step < loop.length; ++step) {
      const int64_t at = loop.reverse ? loop.length - 1 - step : step;
      Arrays in = state;
      for (size_t i = loop.consts + loop.carries; i < operands.size(); ++i) in.push_back(operands[i][at]);
      into_step(loop, in, looked_at, state, step, "scan");
    }
  }

  void into_while(const Node& node, const Arrays& operands) const {
    const LoopView loop(node);
    Arrays state = operands;
    for (int64_t step = 0; state[loop.consts].item<bool>(); ++step)
      into_step(loop, state, carries_of(loop), state, step, "while_loop");
  }

  static std::vector<size_t> carries_of(const LoopView& loop) {
    std::vector<size_t> carries(loop.carries);
    std::iota(carries.begin(), carries.end(), 0);
    return carries;
  }

  void into_step(const LoopView& loop, const Arrays& in, const std::vector<size_t>& looked_at, Arrays& state,
                 int64_t step, std::string_view what) const {
    const Arrays out = eager().run(loop.body, in);
    if (std::ranges::any_of(looked_at, [&](size_t i) { return find_in(out[i]).has_value(); })) {
      std::vector<ValueId> outputs;
      for (const size_t i : looked_at) outputs.push_back(loop.body.outputs[i]);
      Search(loop.body, in, outputs, fmt::format("{}, in step {} of a {}", where_, step, what)).run();
    }
    std::copy_n(out.begin(), loop.carries, state.begin() + static_cast<std::ptrdiff_t>(loop.consts));
  }

  const Graph& graph_;
  Arrays inputs_;
  std::vector<ValueId> outputs_;
  std::string where_;
  std::vector<bool> has_;
  std::vector<const Node*> after_;  // of values that are not computed: the call with an effect of which they are made
  const Node* unsearched_ = nullptr;
};

}  // namespace

bool checks_results() { return !searching && (looks_for_nans() || looks_for_infinities()); }

void check_results(const TracedFunction& function, const Arrays& arguments, const Arrays& results,
                   std::source_location loc) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::optional<Find> found = find_in(results[i]);
    if (!found) continue;
    const auto fail = [&](std::string_view hint, std::source_location at) {
      throw_user<FloatingPointError>(
          found->is_nan ? "debug_nans" : "debug_infs",
          fmt::format("result {} holds {}{} of {}", i, found->is_nan ? "NaN" : "an infinity",
                      at_place(found->element, results[i].shape()), to_string(results[i].aval())),
          "", std::string(hint), at);
    };
    Arrays inputs = arguments;
    for (const Array& x : arguments)
      if (!x.is_concrete())
        fail("the arguments were donated: leave the option `donate` out to learn which operation made it", loc);
    inputs.insert(inputs.end(), function.captured.begin(), function.captured.end());
    struct Searching {
      Searching() { searching = true; }
      ~Searching() { searching = false; }
      Searching(const Searching&) = delete;
      Searching& operator=(const Searching&) = delete;
    } const scope;
    const Graph graph = without_effects(function.graph);  // they have been had
    Search search(graph, inputs, {graph.outputs[i]}, "");
    const bool has_it = search.run();
    if (const Node* call = search.unsearched())
      fail(fmt::format("it is made of what {} gave, which the search does not call again", name_of(*call)), call->loc);
    fail(has_it ? "an argument or a captured array holds one" : "the operations one by one give none", loc);
  }
}

}  // namespace jit_detail
}  // namespace neap
