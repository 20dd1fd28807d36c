// Operations on concrete arrays outside a trace run at once, each as a compiled executable cached under its graph.
#include <algorithm>
#include <shared_mutex>
#include <unordered_map>

#include "core/at_line.h"
#include "core/convert.h"
#include "core/dispatch.h"
#include "jit/compile.h"
#include "trace/graph/effects.h"
#include "trace/graph/op_table.h"
#include "trace/reference/reference.h"
#include "trace/tracing/eager.h"

namespace neap {
namespace {

thread_local int reference_depth = 0;

}  // namespace

eager_reference::eager_reference() { ++reference_depth; }
eager_reference::~eager_reference() { --reference_depth; }

namespace tracing {
namespace {

using jit_detail::Compiled;

Arrays run_reference(const Graph& graph, const Arrays& inputs) {
  std::vector<HostArray> host;
  for (const Array& a : inputs) host.push_back({a.aval(), concrete_buffer(a, "eager_reference", {})});
  Arrays outputs;
  for (HostArray& y : evaluate_reference(graph, host))
    outputs.push_back(detail::make_concrete(std::move(y.aval), std::move(y.data)));
  return outputs;
}

planner::PlanOptions eager_options(const std::string& name, Device device) {
  planner::PlanOptions options;
  options.name = name;
  options.target = jit_detail::target_of(device);
  return options;
}

// A single operation is called by its name, a graph of several by that of what it returns.
std::string label_of(const Graph& graph) {
  if (!graph.name.empty() || graph.outputs.empty()) return graph.name;
  const Node* node = graph.def(graph.outputs[0]);
  return node ? std::string(name(node->op)) : "";
}

/// Holds one executable for each graph and device.
class GraphCache {
 public:
  std::shared_ptr<const Compiled> find_or_compile(const Graph& graph) {
    const Device device = default_device();
    const size_t hash = graph.hash();
    {
      const std::shared_lock lock(mutex_);
      const auto [begin, end] = entries_.equal_range(hash);
      for (auto it = begin; it != end; ++it)
        if (it->second.device == device && it->second.graph == graph && it->second.compiled->usable())
          return it->second.compiled;
    }
    auto compiled = std::make_shared<const Compiled>(TracedFunction{graph, {}}, eager_options(graph.name, device),
                                                     device, jit_detail::Origin{label_of(graph), true});
    const std::unique_lock lock(mutex_);
    return entries_.emplace(hash, Entry{graph, device, std::move(compiled)})->second.compiled;
  }

 private:
  std::shared_mutex mutex_;
  struct Entry {
    Graph graph;
    Device device;
    std::shared_ptr<const Compiled> compiled;
  };
  std::unordered_multimap<size_t, Entry> entries_;
};

/// Holds the executables of composites by device, name and avals.
struct CompositeCache {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Compiled>> entries;
};

// Constants are as many as there are numbers: they are filled in, not compiled.
Array fill(const Attrs& attrs) {
  Aval aval{attrs.ints(Attr::shape), attrs.dtype(Attr::dtype)};
  BufferPtr buffer = allocate(aval.bytes(), "constant");
  const int64_t n = aval.size();
  dispatch_all(aval.dtype, [&]<class T>() {
    const auto* integer = std::get_if<int64_t>(attrs.find(Attr::value));
    std::fill_n(buffer->as<T>(), n,
                integer ? convert_element<T>(*integer) : convert_element<T>(attrs.real(Attr::value)));
  });
  return detail::make_concrete(std::move(aval), std::move(buffer));
}

// Executables, each cached under what it was compiled from; the reference interpreter in eager_reference mode.
class Executables : public Eager {
 public:
  Arrays run(const Graph& graph, const Arrays& inputs) const override {
    if (reference_depth) return run_reference(graph, inputs);
    if (may_call_host(graph)) {  // a function of its own at each trace: nothing will find it again
      const Device device = default_device();
      return Compiled({graph, {}}, eager_options(graph.name, device), device, {label_of(graph), true})
          .run(inputs, user_line({}));
    }
    static GraphCache& cache = *new GraphCache;  // never destroyed: operations may run in the destructor of a static
    return cache.find_or_compile(graph)->run(inputs, user_line({}));
  }

  Arrays apply(Op op, const Arrays& inputs, const Attrs& attrs, std::source_location loc) const override {
    Graph graph;
    std::vector<ValueId> values;
    for (const Array& x : inputs) values.push_back(graph.add_input(x.aval()));
    graph.outputs = graph.nodes[graph.add_node(op, values, attrs, loc)].outputs;
    return at_line(loc, [&]() -> Arrays {
      if (op == Op::constant && !reference_depth) return {fill(attrs)};
      if (op == Op::host_call) return run_reference(graph, inputs);  // there is nothing to compile
      return run(graph, inputs);
    });
  }

  Array composite(const std::string& key, const Arrays& inputs,
                  const std::function<Array(const Arrays&)>& f) const override {
    const std::source_location line = user_line({});
    for (const Array& x : inputs) check_usable(x, std::string_view(key).substr(0, key.find(' ')), line);
    const auto traced = [&] {
      std::vector<Aval> avals;
      for (const Array& x : inputs) avals.push_back(x.aval());
      return trace_closed(
          avals,
          [&](const Arrays& in) {
            const AtLine at(line);
            return Arrays{f(in)};
          },
          key);
    };
    if (reference_depth) return run_reference(traced(), inputs)[0];
    static CompositeCache& cache = *new CompositeCache;
    const Device device = default_device();
    std::string full_key = to_string(device) + " " + key;
    for (const Array& x : inputs) full_key += to_string(x.aval());
    return at_line(line, [&] {
      std::shared_ptr<const Compiled> compiled;
      {
        const std::shared_lock lock(cache.mutex);
        if (const auto it = cache.entries.find(full_key); it != cache.entries.end() && it->second->usable())
          compiled = it->second;
      }
      if (!compiled) {
        auto fresh = std::make_shared<const Compiled>(TracedFunction{traced(), {}}, eager_options(key, device), device,
                                                      jit_detail::Origin{key, true});
        const std::unique_lock lock(cache.mutex);
        compiled = cache.entries.insert_or_assign(std::move(full_key), std::move(fresh)).first->second;
      }
      return compiled->run(inputs, line)[0];
    });
  }
};

}  // namespace

const Eager& eager() {
  static const Executables& executables = *new Executables;
  return executables;
}

}  // namespace tracing
}  // namespace neap
