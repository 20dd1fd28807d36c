#include "planner/rewrite/checkpoint_loops.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "planner/plan/graph_edit.h"
#include "trace/graph/effects.h"
#include "trace/graph/loop.h"

namespace neap::planner {

using namespace tracing;

namespace {

using Values = std::vector<ValueId>;

Shape without_axis(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

Shape with_axis(int64_t extent, Shape shape) {
  shape.insert(shape.begin(), extent);
  return shape;
}

ValueId reshaped(Graph& g, ValueId v, Shape shape) {
  if (g.aval(v).shape == shape) return v;
  return g.add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, {});
}

// Steps [begin, end) of what is stacked.
ValueId steps_of(Graph& g, ValueId v, int64_t begin, int64_t end) {
  return begin == 0 && end == g.aval(v).shape[0] ? v : append_slice(g, v, 0, begin, end);
}

bool contains(const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); }

// The steps of a loop, apart from the operands on which it runs.
struct Steps {
  GraphPtr body;
  size_t consts = 0, carries = 0;
  bool reverse = false;
  Attrs attrs;
  std::source_location loc;
};

Steps steps_of(const Node& node) {
  const LoopView loop(node);
  return {node.attrs.graph(Attr::body), loop.consts, loop.carries, loop.reverse, node.attrs, node.loc};
}

struct Operands {
  Values consts, carries, xs;
};

void append_all(Values& to, const Values& from) { to.insert(to.end(), from.begin(), from.end()); }

// The last results of a run: carries, stacked.
struct Results {
  Values carries, ys;
};

Results split(const Steps& steps, const Values& outputs) {
  const auto middle = outputs.begin() + static_cast<std::ptrdiff_t>(steps.carries);
  return {{outputs.begin(), middle}, {middle, outputs.end()}};
}

Values append_body(Graph& g, const Graph& body, const Values& inputs) {
  Values renamed(body.values.size(), no_value);
  for (size_t i = 0; i < inputs.size(); ++i) renamed[body.inputs[i]] = inputs[i];
  for (const Node& node : body.nodes) append_renamed(g, body, node, renamed);
  Values outputs;
  for (const ValueId v : body.outputs) outputs.push_back(renamed[v]);
  return outputs;
}

// Runs so many steps: one is no loop.
Results run(Graph& g, const Steps& steps, const Operands& on, int64_t length) {
  Values operands = on.consts;
  append_all(operands, on.carries);
  if (length == 1) {
    for (const ValueId x : on.xs) operands.push_back(reshaped(g, x, without_axis(g.aval(x).shape)));
    Results results = split(steps, append_body(g, *steps.body, operands));
    for (ValueId& y : results.ys) y = reshaped(g, y, with_axis(1, g.aval(y).shape));
    return results;
  }
  append_all(operands, on.xs);
  Attrs attrs = steps.attrs;
  attrs.set(Attr::body, steps.body);
  attrs.set(Attr::length, length);
  attrs.set(Attr::num_consts, std::ssize(on.consts));
  attrs.set(Attr::num_carry, std::ssize(on.carries));
  const NodeId id = g.add_node(Op::scan, std::move(operands), std::move(attrs), steps.loc);
  return split(steps, g.nodes[id].outputs);
}

// The same steps with these of the outputs.
Steps with_outputs(const Steps& steps, const std::vector<size_t>& outputs) {
  Graph body = *steps.body;
  body.outputs.clear();
  for (const size_t o : outputs) body.outputs.push_back(steps.body->outputs[o]);
  Steps result = steps;
  result.body = std::make_shared<const Graph>(eliminate_dead_code(body));
  return result;
}

// A stack of one value for each segment; what is left over is in a stack of its own.
struct Saved {
  Values values;
  std::unique_ptr<Saved> rest;
};

// How a loop is cut: `count` segments of `length` steps, then the rest, in the order in which the loop runs.
struct Division {
  int64_t count, length, rest;
  int64_t begin, end;            // the steps in segments, by their place in stacks
  int64_t rest_begin, rest_end;  // the others

  Division(int64_t steps, int64_t segment, bool reverse) : count(steps / segment), length(segment) {
    rest = steps - count * length;
    begin = reverse ? rest : 0;
    end = begin + count * length;
    rest_begin = reverse ? 0 : end;
    rest_end = rest_begin + rest;
  }
};

// A loop that leaves residuals, to be run with them or with checkpoints.
struct Forward {
  Steps whole;                   // stacked results: those that are kept, then the residuals
  Steps plain;                   // without the residuals
  size_t kept = 0;               // of the stacked results
  std::vector<bool> checkpoint;  // of each carry: residuals follow from it
};

std::vector<size_t> numbers(size_t count) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

Forward forward_of(const Node& node, const StackedLoop& which) {
  const Steps steps = steps_of(node);
  std::vector<size_t> outputs = numbers(steps.carries);
  for (size_t o = steps.carries; o < node.outputs.size(); ++o) {
    if (!contains(which.residuals, o)) outputs.push_back(o);
  }
  Forward result;
  result.plain = with_outputs(steps, outputs);
  result.kept = outputs.size() - steps.carries;
  outputs.insert(outputs.end(), which.residuals.begin(), which.residuals.end());
  result.whole = with_outputs(steps, outputs);
  result.checkpoint = which.needed;
  return result;
}

// What computes residuals again, from the carries of a checkpoint.
Forward recomputation(const Node& node, const StackedLoop& which) {
  Steps steps = steps_of(node);
  if (calls_host(node)) steps.body = std::make_shared<const Graph>(without_ordered_effects(*steps.body));
  std::vector<size_t> outputs;
  for (size_t i = 0; i < steps.carries; ++i) {
    if (which.needed[i]) outputs.push_back(i);
  }
  const size_t carries = outputs.size();
  outputs.insert(outputs.end(), which.residuals.begin(), which.residuals.end());
  const GraphPtr wide = with_outputs(steps, outputs).body;
  Graph body;
  body.name = wide->name;
  Values renamed(wide->values.size(), no_value);
  for (size_t i = 0; i < wide->inputs.size(); ++i) {
    const bool is_carry = i >= steps.consts && i < steps.consts + steps.carries;
    const ValueId v = wide->inputs[i];
    if (!is_carry || which.needed[i - steps.consts]) renamed[v] = body.add_input(wide->aval(v));
  }
  for (const Node& inner : wide->nodes) append_renamed(body, *wide, inner, renamed);
  for (const ValueId v : wide->outputs) body.outputs.push_back(renamed[v]);
  Forward result;
  result.whole = std::move(steps);
  result.whole.carries = carries;
  result.whole.body = std::make_shared<const Graph>(std::move(body));
  result.plain = with_outputs(result.whole, numbers(carries));
  result.checkpoint.assign(carries, true);
  return result;
}

Values part(Graph& g, const Values& stacks, int64_t begin, int64_t end) {
  Values parts;
  for (const ValueId v : stacks) parts.push_back(steps_of(g, v, begin, end));
  return parts;
}

// Stacks of steps as stacks of segments.
Values segmented(Graph& g, const Values& stacks, const Division& cut) {
  Values result;
  for (const ValueId v : part(g, stacks, cut.begin, cut.end)) {
    result.push_back(reshaped(g, v, with_axis(cut.count, with_axis(cut.length, without_axis(g.aval(v).shape)))));
  }
  return result;
}

// Stacks of segments, and of the rest, as stacks of steps.
void join(Graph& g, const Division& cut, Values& ys, const Values& rest) {
  for (size_t i = 0; i < ys.size(); ++i) {
    const Shape step = without_axis(without_axis(g.aval(ys[i]).shape));
    ys[i] = reshaped(g, ys[i], with_axis(cut.count * cut.length, step));
    if (cut.rest == 0) continue;
    const Values parts = cut.begin == 0 ? Values{ys[i], rest[i]} : Values{rest[i], ys[i]};
    ys[i] = g.add(Op::concatenate, parts, {{Attr::axis, int64_t{0}}}, {});
  }
}

Values add_inputs(Graph& body, const Graph& g, const Values& operands) {
  Values inputs;
  for (const ValueId v : operands) inputs.push_back(body.add_input(g.aval(v)));
  return inputs;
}

// One of each segment.
Values add_slices(Graph& body, const Graph& g, const Values& stacks) {
  Values inputs;
  for (const ValueId v : stacks) inputs.push_back(body.add_input({without_axis(g.aval(v).shape), g.aval(v).dtype}));
  return inputs;
}

bool is_whole(std::span<const int64_t> segments, int64_t length) { return segments.empty() || segments[0] >= length; }

Results write_forward(Graph& g, const Forward& loop, const Operands& on, int64_t length,
                      std::span<const int64_t> segments, Saved& saved) {
  if (is_whole(segments, length)) {
    Results result = run(g, loop.whole, on, length);
    saved.values.assign(result.ys.begin() + static_cast<std::ptrdiff_t>(loop.kept), result.ys.end());
    result.ys.resize(loop.kept);
    return result;
  }
  const Division cut(length, segments[0], loop.whole.reverse);
  Graph body;
  body.name = loop.whole.body->name;
  const Values xs = segmented(g, on.xs, cut);
  const Operands inside{add_inputs(body, g, on.consts), add_inputs(body, g, on.carries), add_slices(body, g, xs)};
  const Results inner = run(body, loop.plain, inside, cut.length);
  append_all(body.outputs, inner.carries);
  append_all(body.outputs, inner.ys);
  for (size_t i = 0; i < inside.carries.size(); ++i) {
    if (loop.checkpoint[i]) body.outputs.push_back(inside.carries[i]);
  }
  Steps outer = loop.plain;
  outer.body = std::make_shared<const Graph>(std::move(body));
  Results result = run(g, outer, {on.consts, on.carries, xs}, cut.count);
  saved.values.assign(result.ys.begin() + std::ssize(inner.ys), result.ys.end());
  result.ys.resize(inner.ys.size());
  Results rest;
  if (cut.rest > 0) {
    saved.rest = std::make_unique<Saved>();
    rest = write_forward(g, loop, {on.consts, result.carries, part(g, on.xs, cut.rest_begin, cut.rest_end)}, cut.rest,
                         segments.subspan(1), *saved.rest);
    result.carries = rest.carries;
  }
  join(g, cut, result.ys, rest.ys);
  return result;
}

// A loop that reads residuals.
struct Reader {
  Steps steps;
  std::vector<int> residual;  // of each stacked operand: which residual it is, or -1
};

// What computes the residuals again, and reads.
struct Again {
  const Forward& loop;
  Operands on;  // no carries
};

Results write_reader(Graph& g, const Reader& reader, const Again& again, const Operands& on, int64_t length,
                     std::span<const int64_t> segments, const Saved& saved);

Results write_segments(Graph& g, const Reader& reader, const Again& again, const Operands& on, const Division& cut,
                       std::span<const int64_t> segments, const Values& checkpoints) {
  Graph body;
  body.name = reader.steps.body->name;
  Operands operands{again.on.consts, on.carries, checkpoints};
  append_all(operands.consts, on.consts);
  append_all(operands.xs, segmented(g, again.on.xs, cut));
  append_all(operands.xs, segmented(g, on.xs, cut));
  const auto parts = [](const Values& all, std::initializer_list<size_t> sizes) {
    std::vector<Values> result;
    auto at = all.begin();
    for (const size_t size : sizes) {
      result.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
      at += static_cast<std::ptrdiff_t>(size);
    }
    return result;
  };
  const auto consts = parts(add_inputs(body, g, operands.consts), {again.on.consts.size(), on.consts.size()});
  const Values carries = add_inputs(body, g, operands.carries);
  const auto xs = parts(add_slices(body, g, operands.xs), {checkpoints.size(), again.on.xs.size(), on.xs.size()});
  Saved saved;
  write_forward(body, again.loop, {consts[0], xs[0], xs[1]}, cut.length, segments, saved);
  const Results inner = write_reader(body, reader, {again.loop, {consts[0], {}, xs[1]}}, {consts[1], carries, xs[2]},
                                     cut.length, segments, saved);
  append_all(body.outputs, inner.carries);
  append_all(body.outputs, inner.ys);
  Steps outer = reader.steps;
  outer.body = std::make_shared<const Graph>(std::move(body));
  return run(g, outer, operands, cut.count);
}

Results write_reader(Graph& g, const Reader& reader, const Again& again, const Operands& on, int64_t length,
                     std::span<const int64_t> segments, const Saved& saved) {
  if (is_whole(segments, length)) {
    Operands operands{on.consts, on.carries, {}};
    size_t next = 0;
    for (const int r : reader.residual) operands.xs.push_back(r < 0 ? on.xs[next++] : saved.values[r]);
    return run(g, reader.steps, operands, length);
  }
  const bool reverse = again.loop.whole.reverse, rest_first = reader.steps.reverse != reverse;
  const Division cut(length, segments[0], reverse);
  Operands operands = on;
  Results rest;
  const auto write_rest = [&] {
    if (cut.rest == 0) return;
    const auto of_rest = [&](const Operands& all) {
      return Operands{all.consts, all.carries, part(g, all.xs, cut.rest_begin, cut.rest_end)};
    };
    rest = write_reader(g, reader, {again.loop, of_rest(again.on)}, of_rest(operands), cut.rest, segments.subspan(1),
                        *saved.rest);
    operands.carries = rest.carries;
  };
  if (rest_first) write_rest();
  Results result = write_segments(g, reader, again, operands, cut, segments.subspan(1), saved.values);
  operands.carries = result.carries;
  if (!rest_first) write_rest();
  result.carries = operands.carries;
  join(g, cut, result.ys, rest.ys);
  return result;
}

// Writes a graph in which some loops, and those that read their residuals, run in segments.
class LoopWriter {
 public:
  LoopWriter(const Graph& graph, const std::vector<CheckpointedLoop>& loops) : graph_(graph) {
    for (const CheckpointedLoop& which : loops) {
      const Node& node = graph.nodes[which.loop.loop];
      loops_.push_back({which, forward_of(node, which.loop), recomputation(node, which.loop), {}, {}});
    }
    for (Loop& loop : loops_) {
      role_[loop.which.loop.loop] = &loop;
      for (const NodeId id : loop.which.loop.readers) role_[id] = &loop;
    }
  }

  Graph run() {
    renamed_ = copy_inputs(result_, graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const auto role = role_.find(static_cast<NodeId>(n));
      if (role == role_.end())
        append_renamed(result_, graph_, node, renamed_);
      else if (role->first == role->second->which.loop.loop)
        write_loop(node, *role->second);
      else
        write_reader_of(node, *role->second);
    }
    for (const ValueId v : graph_.outputs) result_.outputs.push_back(renamed_[v]);
    return std::move(result_);
  }

 private:
  struct Loop {
    const CheckpointedLoop& which;
    Forward forward, again;
    Operands operands;  // in the result; no carries
    Saved saved;
  };

  Operands renamed_operands(const Node& node) const {
    const LoopLayout loop(node.attrs);
    Operands on;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      (loop.is_const(i) ? on.consts : loop.is_carry(i) ? on.carries : on.xs).push_back(renamed_[node.inputs[i]]);
    }
    return on;
  }

  void write_loop(const Node& node, Loop& loop) {
    const std::vector<size_t>& residuals = loop.which.loop.residuals;
    loop.operands = renamed_operands(node);
    const Results results =
        write_forward(result_, loop.forward, loop.operands, loop.which.loop.length, loop.which.segments, loop.saved);
    loop.operands.carries.clear();
    Values outputs = results.carries;
    size_t next = 0;
    for (size_t o = results.carries.size(); o < node.outputs.size(); ++o) {
      outputs.push_back(contains(residuals, o) ? no_value : results.ys[next++]);
    }
    name(node, outputs);
  }

  void write_reader_of(const Node& node, Loop& loop) {
    const std::vector<size_t>& residuals = loop.which.loop.residuals;
    Reader reader{steps_of(node), {}};
    Operands on = renamed_operands(node);
    const Values xs = std::exchange(on.xs, {});
    for (size_t i = 0; i < xs.size(); ++i) {
      const Value& x = graph_.values[node.inputs[node.inputs.size() - xs.size() + i]];
      const auto residual =
          x.def == loop.which.loop.loop ? std::ranges::find(residuals, static_cast<size_t>(x.index)) : residuals.end();
      const bool is_residual = residual != residuals.end();
      reader.residual.push_back(is_residual ? static_cast<int>(residual - residuals.begin()) : -1);
      if (!is_residual) on.xs.push_back(xs[i]);
    }
    Results results = write_reader(result_, reader, {loop.again, loop.operands}, on, loop.which.loop.length,
                                   loop.which.segments, loop.saved);
    append_all(results.carries, results.ys);
    name(node, results.carries);
  }

  void name(const Node& node, const Values& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) renamed_[node.outputs[i]] = outputs[i];
  }

  const Graph& graph_;
  std::vector<Loop> loops_;
  std::map<NodeId, Loop*> role_;
  Graph result_;
  Values renamed_;
};

}  // namespace

Graph checkpoint_loops(const Graph& graph, const std::vector<CheckpointedLoop>& loops) {
  return LoopWriter(graph, loops).run();
}

}  // namespace neap::planner
