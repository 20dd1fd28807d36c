#include "planner/fuse/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/buffer.h"
#include "core/check.h"
#include "planner/fuse/groups.h"
#include "planner/fuse/step_names.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/partials.h"
#include "planner/kernels/sort.h"
#include "planner/kernels/unique_indices.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

class StepMaker {
 public:
  StepMaker(const Graph& graph, const Fusion& fusion, const PlanOptions& options, PlanBody plan_body)
      : graph_(graph),
        fusion_(fusion),
        options_(options),
        plan_body_(plan_body),
        buffer_of_(graph.values.size(), -1),
        renamed_(graph.values.size(), no_value),
        taken_(graph.nodes.size(), false) {}

  PlanData run() {
    plan_.name = graph_.name;
    plan_.naive = options_.naive;
    plan_.num_captured = graph_.num_captured;
    make_buffers();
    join_buffers();
    size_t held = 0;
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.storage != Storage::intermediate) held += buffer.bytes;
    }
    table_budget_ = table_budget(held);
    plan_.steps.reserve(fusion_.groups.size());
    for (const Group& group : fusion_.groups) {
      if (group.roots.size() > 1 || !has_mark(*graph_.def(group.roots[0]), Mark::uninitialized)) make_step(group);
    }
    for (const ValueId v : graph_.outputs) {
      plan_.outputs.push_back(buffer_of_[view_root(graph_, v)]);
      plan_.output_avals.push_back(graph_.aval(v));
    }
    plan_.decisions = fusion_.decisions;
    set_live_ranges(plan_);
    return std::move(plan_);
  }

 private:
  int add_buffer(const Aval& aval, Storage storage, std::string label, std::source_location source) {
    PlanBuffer buffer;
    buffer.aval = aval;
    buffer.bytes = round_up_64(aval.bytes());
    buffer.storage = storage;
    buffer.label = std::move(label);
    buffer.source = source;
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  // The value in whose buffer `v` lies: the initial value of a carry lies in the final one's.
  ValueId owner(ValueId v) const {
    for (auto it = carried_.find(v); it != carried_.end(); it = carried_.find(v)) v = it->second;
    return v;
  }

  void make_buffers() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const bool captured = i + static_cast<size_t>(graph_.num_captured) >= graph_.inputs.size();
      const ValueId v = graph_.inputs[i];
      buffer_of_[v] = add_buffer(graph_.aval(v), captured ? Storage::captured : Storage::argument,
                                 fmt::format("{} {}", captured ? "captured" : "argument", i), {});
      plan_.inputs.push_back(buffer_of_[v]);
      plan_.donated.push_back(i < options_.donated.size() && options_.donated[i] && !captured);
    }
    for (const Node& node : graph_.nodes) {
      if (!is_loop(node.op)) continue;
      const auto [consts, carries] = LoopLayout(node.attrs);
      for (size_t j = 0; j < carries; ++j) {
        carried_[view_root(graph_, node.inputs[consts + j])] = node.outputs[j];
      }
    }
    const std::vector<bool> is_output = holds_output(graph_);
    for (size_t i = graph_.values.size(); i-- > 0;) {
      const auto v = static_cast<ValueId>(i);
      if (!fusion_.stored[v] || !graph_.def(v)) continue;
      const ValueId holder = owner(v);
      if (buffer_of_[holder] < 0) {
        const Node& node = *graph_.def(holder);
        buffer_of_[holder] =
            add_buffer(graph_.aval(holder), is_output[holder] ? Storage::output : Storage::intermediate,
                       std::string(name(node.op)), node.loc);
      }
      buffer_of_[v] = buffer_of_[holder];
      plan_.buffers[buffer_of_[v]].value = holder;
    }
  }

  // The pieces of a join lie in its buffer, one after the other.
  void join_buffers() {
    for (const Node& node : graph_.nodes) {
      if (!is_join(node)) continue;
      int64_t offset = 0;
      for (const ValueId piece : node.inputs) {
        PlanBuffer& buffer = plan_.buffers[buffer_of_[view_root(graph_, piece)]];
        buffer.storage = Storage::intermediate;
        buffer.alias_of = buffer_of_[node.out()];
        buffer.alias_offset = offset;
        offset += static_cast<int64_t>(graph_.aval(piece).bytes());
      }
    }
  }

  void make_step(const Group& group) {
    PlanStep step;
    step.kind = group.kind;
    const bool recomputes =
        is_opaque(group.kind) ? extract_node(step, *graph_.def(group.roots[0])) : extract(step, group.roots);
    for (const ValueId v : group.roots) step.writes.push_back(buffer_of_[v]);
    step.source = graph_.def(group.roots.back())->loc;
    if (group.kind == PlanStep::Kind::scan) {
      const Attrs& attrs = step.group.nodes[0].attrs;
      step.body = plan_body_(attrs.graph(Attr::body), CountedLoop(attrs));
    }
    if (options_.target.gpu && group.kind == PlanStep::Kind::sort) check_gpu_sort(step.group, step.group.nodes[0]);
    if (options_.target.gpu && (group.kind == PlanStep::Kind::factor || group.kind == PlanStep::Kind::host)) {
      step.host = host_work(step.group, step.group.nodes[0], options_.target);
    }
    if (options_.target.gpu && group.kind == PlanStep::Kind::dot) check_gpu_dot(step.group, step.group.nodes[0]);
    if (step.kind == PlanStep::Kind::scatter) {
      const ScatterRows rows = scatter_rows(graph_, *graph_.def(group.roots[0]));
      step.unique_indices = rows.unique_indices || has_mark(*graph_.def(group.roots[0]), Mark::unique_indices);
      step.covering = rows.covering;
    }
    choose_partials(step, table_budget_, options_.target);
    for (const Aval& aval : scratch_of(step, options_.target)) {
      step.scratch.push_back(add_buffer(aval, Storage::scratch, scratch_label(step), step.source));
    }
    name_step(step, options_.naive, recomputes);
    for (const ValueId v : group.roots) {
      if (group.roots.size() == 1) plan_.buffers[buffer_of_[v]].label = step.op;
    }
    plan_.steps.push_back(std::move(step));
  }

  bool is_recomputed(const Node& node) const { return fusion_.recomputed[node.out()] || is_copy(node); }

  // A view of a stored value under the shape that a reader wants.
  ValueId add_read(PlanStep& step, ValueId v) {
    step.reads.push_back(buffer_of_[view_root(graph_, v)]);
    return step.group.add_input(graph_.aval(v));
  }

  // Whether the step computes anything again; the same below.
  bool extract_node(PlanStep& step, const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(add_read(step, v));
    const NodeId id = append_copy(step.group, graph_, node, std::move(inputs));
    step.group.outputs = step.group.nodes[id].outputs;
    return is_recomputed(node);
  }

  bool extract(PlanStep& step, const std::vector<ValueId>& roots) {
    std::vector<NodeId> nodes, pending;
    std::vector<ValueId> read;
    const auto need = [&](NodeId id) {
      if (!taken_[id]) pending.push_back(id);
      taken_[id] = true;
    };
    for (const ValueId v : roots) need(graph_.values[v].def);
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      nodes.push_back(id);
      for (const ValueId v : graph_.nodes[id].inputs) {
        if (renamed_[v] != no_value) continue;
        // Stored, or a view of something stored; but what this very step makes it has in registers.
        const ValueId source = view_root(graph_, v);
        if (fusion_.stored[source] && std::ranges::find(roots, source) == roots.end()) {
          renamed_[v] = add_read(step, v);
          read.push_back(v);
        } else {
          need(graph_.values[v].def);
        }
      }
    }
    std::ranges::sort(nodes);
    step.group.nodes.reserve(nodes.size());
    step.group.values.reserve(step.group.values.size() + nodes.size());
    for (const NodeId id : nodes) append_renamed(step.group, graph_, graph_.nodes[id], renamed_);
    for (const ValueId v : roots) step.group.outputs.push_back(renamed_[v]);
    for (const ValueId v : read) renamed_[v] = no_value;  // for the next step
    for (const NodeId id : nodes) {
      taken_[id] = false;
      for (const ValueId v : graph_.nodes[id].outputs) renamed_[v] = no_value;
    }
    return std::ranges::any_of(nodes, [&](NodeId id) { return is_recomputed(graph_.nodes[id]); });
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const PlanOptions& options_;
  PlanBody plan_body_;
  std::vector<int> buffer_of_;
  std::vector<ValueId> renamed_;  // in the step that is made
  std::vector<bool> taken_;       // nodes of that step
  std::unordered_map<ValueId, ValueId> carried_;
  size_t table_budget_ = 0;
  PlanData plan_;
};

}  // namespace

PlanData make_steps(const Graph& graph, const Fusion& fusion, const PlanOptions& options, PlanBody plan_body) {
  return StepMaker(graph, fusion, options, plan_body).run();
}

void set_live_ranges(PlanData& plan) {
  const int last = std::max(0, static_cast<int>(plan.steps.size()) - 1);
  for (PlanBuffer& buffer : plan.buffers) {
    buffer.first = last + 1;
    buffer.last = -1;
  }
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    for (const auto* list : {&plan.steps[s].reads, &plan.steps[s].writes, &plan.steps[s].scratch}) {
      for (const int b : *list) {
        plan.buffers[b].first = std::min(plan.buffers[b].first, s);
        plan.buffers[b].last = std::max(plan.buffers[b].last, s);
      }
    }
  }
  for (const int b : plan.outputs) plan.buffers[b].last = last;
  for (PlanBuffer& buffer : plan.buffers) {
    if (buffer.last < 0 || buffer.storage == Storage::captured) buffer.last = last;  // never read: held all the same
    if (buffer.storage == Storage::argument || buffer.storage == Storage::captured) buffer.first = 0;
  }
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of < 0) continue;
    PlanBuffer& whole = plan.buffers[buffer.alias_of];
    whole.first = std::min(whole.first, buffer.first);
    whole.last = std::max(whole.last, buffer.last);
  }
}

}  // namespace neap::planner
