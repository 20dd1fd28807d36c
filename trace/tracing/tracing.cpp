#include "trace/tracing/tracing.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/check.h"
#include "core/stack.h"
#include "trace/graph/op_table.h"
#include "trace/tracing/eager.h"

namespace neap::detail {

Array make_concrete(Aval aval, BufferPtr data) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->aval = std::move(aval);
  impl->data = std::move(data);
  return Array(std::move(impl));
}

Array make_spec(Aval aval) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->aval = std::move(aval);
  impl->kind = ArrayImpl::Kind::spec;
  return Array(std::move(impl));
}

}  // namespace neap::detail

namespace neap::tracing {
namespace {

using detail::ArrayImpl;
using Kind = ArrayImpl::Kind;

struct Builder {
  uint64_t id = 0;
  int depth = 1;  // traces within traces
  Graph graph;
  Arrays captured;
  std::vector<ValueId> captured_values;
  std::unordered_map<const void*, size_t> known;  // captured by the identity of the array
  int64_t next_region = 0;
  Builder* outer = nullptr;
};

// What nodes are marked with. It is empty where a thread ends, and never destroyed: destructors of statics come later.
Attrs& marks() {
  alignas(Attrs) thread_local std::byte room[sizeof(Attrs)];
  thread_local Attrs* attrs = nullptr;
  if (!attrs) attrs = new (room) Attrs;
  return *attrs;
}

thread_local Builder* innermost = nullptr;
thread_local std::optional<std::source_location> line;
std::atomic<uint64_t> next_id{1};

struct Activation {
  explicit Activation(Builder& b) {
    b.id = next_id.fetch_add(1, std::memory_order_relaxed);
    b.outer = innermost;
    if (innermost) b.depth = innermost->depth + 1;
    innermost = &b;
  }
  ~Activation() { innermost = innermost->outer; }
};

bool is_active(uint64_t id) {
  for (const Builder* b = innermost; b; b = b->outer)
    if (b->id == id) return true;
  return false;
}

[[noreturn]] void escaped(const ArrayImpl& x, std::string_view op, std::source_location loc) {
  const std::string where = x.source.line() == 0 ? "" : " made at " + to_string(x.source);
  throw_user<TracerError>(op, "a traced " + to_string(x.aval) + where + " is used after its trace has ended", "",
                          "return it from the traced function instead of storing it elsewhere", loc);
}

constexpr auto kEndless =
    "a function that calls itself while it is traced has no values of arrays to end at: use scan, fori_loop or "
    "while_loop, or recur on a C++ number";

void check_depth(std::source_location loc) {
  if (innermost->depth > kDeepest)
    throw_user<UserError>("trace", "a function is traced within " + std::to_string(kDeepest) + " others", "fewer",
                          kEndless, loc);
}

/// Returns the value that stands for x in builder b.
ValueId value_in(Builder& b, const Array& x, std::string_view op, std::source_location loc) {
  check_usable(x, op, loc);
  const ArrayImpl& impl = *x.impl();
  if (impl.kind == Kind::traced && impl.trace_id == b.id) return impl.value;
  const void* identity = impl.kind == Kind::concrete ? static_cast<const void*>(impl.data.get()) : x.impl().get();
  const auto [it, fresh] = b.known.try_emplace(identity, b.captured.size());
  if (!fresh && b.captured[it->second].aval() == impl.aval) return b.captured_values[it->second];
  it->second = b.captured.size();
  b.captured.push_back(x);
  b.captured_values.push_back(b.graph.add_input(impl.aval));
  return b.captured_values.back();
}

Array tracer(const Builder& b, ValueId value, std::source_location loc) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->aval = b.graph.aval(value);
  impl->kind = Kind::traced;
  impl->trace_id = b.id;
  impl->value = value;
  impl->source = loc;
  return Array(std::move(impl));
}

}  // namespace

void check_stack(std::string_view op, std::source_location loc) {
  if (detail::stack_nearly_full())
    throw_user<UserError>(op, "calls are nested so deep that the stack is used up", "fewer", kEndless, loc);
}

AtLine::AtLine(std::source_location loc) : outermost_(!line) {
  if (outermost_) line = loc;
}
AtLine::~AtLine() {
  if (outermost_) line.reset();
}
std::source_location user_line(std::source_location otherwise) { return line.value_or(otherwise); }

MarkedLike::MarkedLike(const Attrs& attrs) : outer_(marks()) {
  Attrs inner = marks();  // all or nothing: without memory for it, there is no destructor that restores them
  if (attrs.has(Attr::copy)) inner.set(Attr::copy, attrs.integer(Attr::copy));
  if (attrs.has(Attr::region) && !marks().has(Attr::region)) {
    inner.set(Attr::region, attrs.integer(Attr::region));
    inner.set(Attr::saveable, attrs.string(Attr::saveable));
  }
  marks() = std::move(inner);
}
MarkedLike::~MarkedLike() { marks() = std::move(outer_); }

int64_t new_region() { return innermost ? innermost->next_region++ : 0; }

bool is_tracing() { return innermost != nullptr; }

const Aval& aval_of(const Array& array, std::source_location loc) {
  if (!array.impl()) throw_user<UserError>("array", "an Array without a value is used", "", "assign it first", loc);
  return array.impl()->aval;
}

std::vector<Aval> avals_of(const Arrays& arrays, std::source_location loc) {
  std::vector<Aval> avals;
  for (const Array& a : arrays) avals.push_back(aval_of(a, loc));
  return avals;
}

Arrays stage_or_run(const Graph& graph, const Arrays& inputs) {
  return is_tracing() ? inline_graph(graph, inputs) : eager().run(graph, inputs);
}

Arrays as_one(const Arrays& inputs, const ArrayFunction& f) {
  if (is_tracing()) return f(inputs);
  const TracedFunction traced = trace(avals_of(inputs, {}), f);
  Arrays all = inputs;
  all.insert(all.end(), traced.captured.begin(), traced.captured.end());
  return eager().run(traced.graph, all);
}

Array composite(const std::string& key, const Arrays& inputs, const std::function<Array(const Arrays&)>& f) {
  return is_tracing() ? f(inputs) : eager().composite(key, inputs, f);
}

void check_usable(const Array& x, std::string_view op, std::source_location loc) {
  const Aval& aval = aval_of(x, loc);
  const ArrayImpl& impl = *x.impl();
  if (impl.kind == Kind::traced && !is_active(impl.trace_id)) escaped(impl, op, loc);
  if (impl.kind == Kind::spec)
    throw_user<UserError>(op, "a spec " + to_string(aval) + " has no elements", "an array",
                          "specs are only for jit(f).plan(...)", loc);
  if (impl.kind == Kind::donated)
    throw_user<UserError>(op, to_string(aval) + " was donated to the function compiled at " + to_string(impl.source),
                          "", "use that function's result, or do not donate this argument", loc);
}

const BufferPtr& concrete_buffer(const Array& array, std::string_view what, std::source_location loc) {
  const Aval& aval = aval_of(array, loc);
  const ArrayImpl& impl = *array.impl();
  if (impl.kind == Kind::traced && is_active(impl.trace_id))
    throw_user<TracerError>(what, "the elements of a traced " + to_string(aval) + " are not known yet", "",
                            "return the array from the function and read it there; branch with where()", loc);
  check_usable(array, what, loc);
  return impl.data;
}

TracedFunction trace(std::span<const Aval> parameters, const ArrayFunction& f, const std::string& name) {
  Builder b;
  const std::optional<std::source_location> outer_line = std::exchange(line, std::nullopt);
  Attrs outer_marks = std::exchange(marks(), {});  // they go to what the graph becomes when it is inlined
  const auto restore = std::shared_ptr<void>(nullptr, [&](void*) {
    line = outer_line;
    marks() = std::move(outer_marks);
  });
  const std::source_location loc = outer_line.value_or(std::source_location{});
  const Activation activation(b);
  check_depth(loc);
  check_stack("trace", loc);
  b.graph.name = name;
  Arrays inputs;
  for (const Aval& aval : parameters) inputs.push_back(tracer(b, b.graph.add_input(aval), loc));
  const Arrays outputs = f(inputs);
  inputs.clear();
  for (const Array& y : outputs) b.graph.outputs.push_back(value_in(b, y, "return", loc));
  // Captured inputs were appended as they were met; parameters came first.
  b.graph.num_captured = static_cast<int>(b.captured.size());
  return {std::move(b.graph), std::move(b.captured)};
}

Graph trace_closed(std::span<const Aval> parameters, const ArrayFunction& f, const std::string& name) {
  TracedFunction traced = trace(parameters, f, name);
  NEAP_CHECK(traced.captured.empty(), "a graph rule captured an array of outside");
  return std::move(traced.graph);
}

Arrays apply_many(Op op, const Arrays& inputs, Attrs attrs, std::source_location loc) {
  loc = user_line(loc);
  check_stack(name(op), loc);
  if (!innermost) {
    for (const Array& x : inputs) check_usable(x, name(op), loc);
    return eager().apply(op, inputs, attrs, loc);
  }
  Builder& b = *innermost;
  std::vector<ValueId> values;
  values.reserve(inputs.size());
  for (const Array& x : inputs) values.push_back(value_in(b, x, name(op), loc));
  for (const auto& [key, value] : marks().items()) attrs.set(key, value);
  b.next_region = std::max(b.next_region, attrs.integer_or(Attr::region, -1) + 1);
  const NodeId node = b.graph.add_node(op, std::move(values), std::move(attrs), loc);
  Arrays outputs;
  for (const ValueId v : b.graph.nodes[node].outputs) outputs.push_back(tracer(b, v, loc));
  return outputs;
}

Array apply(Op op, const Arrays& inputs, Attrs attrs, std::source_location loc) {
  return std::move(apply_many(op, inputs, std::move(attrs), loc)[0]);
}

Arrays inline_graph(const Graph& graph, const Arrays& inputs) {
  NEAP_CHECK(inputs.size() == graph.inputs.size(), "inline_graph: {} inputs for {}", inputs.size(),
             graph.inputs.size());
  Arrays env(graph.values.size());
  std::map<int64_t, int64_t> regions;  // each use of a graph has its own
  std::vector<int> uses = count_uses(graph);
  for (size_t i = 0; i < inputs.size(); ++i) env[graph.inputs[i]] = inputs[i];
  for (const Node& node : graph.nodes) {
    Arrays operands;
    for (const ValueId v : node.inputs) operands.push_back(env[v]);
    for (const ValueId v : node.inputs)
      if (--uses[v] == 0) env[v] = Array();  // run at once, intermediates die at their last use
    Attrs attrs = node.attrs;
    if (attrs.has(Attr::region) && !marks().has(Attr::region)) {
      const auto [it, fresh] = regions.try_emplace(attrs.integer(Attr::region));
      if (fresh) it->second = new_region();
      attrs.set(Attr::region, it->second);
    }
    const AtLine at(node.loc);
    Arrays results = apply_many(node.op, operands, std::move(attrs), node.loc);
    for (size_t i = 0; i < results.size(); ++i)
      if (uses[node.outputs[i]] > 0) env[node.outputs[i]] = std::move(results[i]);
  }
  Arrays outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(env[v]);
  return outputs;
}

}  // namespace neap::tracing
