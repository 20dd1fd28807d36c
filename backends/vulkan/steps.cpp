#include "backends/vulkan/steps.h"

#include <algorithm>
#include <utility>

#include "backends/vulkan/glsl_module.h"
#include "backends/vulkan/loop.h"
#include "core/buffer.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"

namespace neap::vk {

using backends::Launch;
using planner::PlanStep;

namespace {

// Elements of a launch, from which on it may read through texel buffers: where these have moved, there are new
// descriptors, and all commands are recorded anew. To measure it again, on llvmpipe:
// `neap-bench --case gather-grad --device vulkan` at a --size on either side.
constexpr int64_t kWorthViews = 1 << 16;

class StepLowering {
 public:
  StepLowering(Assembly& assembly, Scope& scope, std::vector<Command>& list)
      : assembly_(assembly), scope_(scope), list_(list) {}

  void run() {
    if (poisoning()) poison([](int) { return true; });
    for (int s = 0; s < static_cast<int>(scope_.plan.steps.size()); ++s) {
      lower(scope_.plan.steps[s]);
      if (poisoning()) poison([&](int b) { return scope_.plan.buffers[b].last == s && !scope_.is_output(b); });
      Command mark;
      mark.kind = Command::Kind::step;
      mark.step = s;
      list_.push_back(std::move(mark));
    }
  }

 private:
  const Choices& choices() const { return assembly_.choices(); }

  void lower(const PlanStep& step) {
    for (const tracing::Value& value : step.group.values) {  // kernels take pairs of floats for doubles in sums alone
      if (const auto feature = lacks(choices(), value.aval.dtype)) lacking(step.op, *feature);
    }
    switch (step.kind) {
      case PlanStep::Kind::dot: dot(step); break;
      case PlanStep::Kind::sort:
        opaque(step, sort_dispatches(planner::sort_form(step.group, step.group.nodes.at(0)), choices()));
        break;
      case PlanStep::Kind::cumulative:
        opaque(step, cumulative_dispatches(planner::cumulative_form(step.group, step.group.nodes.at(0)), choices()));
        break;
      case PlanStep::Kind::scan: lower_loop(assembly_, scope_, step, list_); break;
      case PlanStep::Kind::factor:
      case PlanStep::Kind::host: on_host(step); break;
      default: launches(step);
    }
  }

  void launches(const PlanStep& step) {
    std::vector<int> all = step.reads;
    all.insert(all.end(), step.writes.begin(), step.writes.end());
    all.insert(all.end(), step.scratch.begin(), step.scratch.end());
    for (const Launch& launch : backends::lower(step)) {
      for (const int o : launch.zero_fill) fill(all[o]);
      const auto& kernel = launch.kernel;
      if (kernel.kind != backends::Kernel::Kind::reduce && (kernel.extent[0] == 0 || kernel.extent[1] == 0)) continue;
      const Assembly::Access access = access_of(launch, all);
      if (const auto viewable = viewable_operands(kernel, access); !viewable.empty()) {
        assembly_.dispatch(scope_, list_, emit(launch, choices(), viewable), step.op, access);
        continue;
      }
      const auto by_address = [launch](const Choices& choices) { return emit(launch, choices); };
      assembly_.dispatch(scope_, list_, by_address, step.op, access);
    }
  }

  // `all`: the step's buffers, which the launch numbers.
  static Assembly::Access access_of(const Launch& launch, const std::vector<int>& all) {
    const auto& kernel = launch.kernel;
    Assembly::Access access;
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const int b = all.at(launch.operands[i]);
      access.operands.push_back(b);
      access.reads.push_back(b);  // atomics and products in place read what they write
      if (kernel.buffers[i].written) access.writes.push_back(b);
    }
    if (launch.part0_operand >= 0) {
      access.operands.push_back(all.at(launch.part0_operand));
      access.writes.push_back(access.operands.back());
    }
    for (const auto& s : kernel.scatters) access.writes.push_back(all.at(launch.operands.at(s.buffer)));
    for (const auto& r : kernel.reductions) access.writes.push_back(all.at(launch.operands.at(r.buffer)));
    for (const auto& s : kernel.stores) access.writes.push_back(all.at(launch.operands.at(s.buffer)));
    return access;
  }

  // What a launch may do through texel buffers; empty: nothing, as in loops, whose arrays move on, and where there is
  // little to do. What is written beside other operands' memory is no table.
  std::vector<Viewable> viewable_operands(const backends::Kernel& kernel, const Assembly::Access& access) const {
    if (!assembly_.views() || scope_.is_loop || kernel.extent[0] * kernel.extent[1] < kWorthViews) return {};
    std::vector<Viewable> viewable;
    for (const int b : access.operands) {
      const auto same = [&](int other) { return scope_.root(other) == scope_.root(b); };
      const bool aligned = scope_.shift(b) % choices().texel_alignment == 0;
      viewable.push_back({aligned ? scope_.bytes(b) : 0, std::ranges::any_of(access.writes, same)});
    }
    return viewable;
  }

  void fill(int b) {
    const uint64_t bytes = scope_.bytes(b);
    if (bytes == 0) return;
    const auto emit = [bytes](const Choices& choices) { return fill_shader(bytes, choices); };
    assembly_.dispatch(scope_, list_, emit, "fill", {{b}, {}, {b}});
  }

  // Overwrites what lies in the arena and is chosen.
  template <class Chosen>
  void poison(const Chosen& chosen) {
    for (int b = 0; b < static_cast<int>(scope_.plan.buffers.size()); ++b) {
      const uint64_t bytes = scope_.bytes(b);
      if (scope_.root(b) != b || scope_.plan.buffers[b].offset < 0 || bytes == 0 || !chosen(b)) continue;
      const auto emit = [bytes](const Choices& choices) { return fill_shader(bytes, choices, kPoison); };
      assembly_.dispatch(scope_, list_, emit, "poison", {{b}, {}, {b}});
    }
  }

  void dot(const PlanStep& step) {
    const tracing::Node& node = step.group.nodes.at(0);
    const auto form = planner::dot_form(step.group, node);
    const auto read = [&](tracing::ValueId v) {
      return step.reads.at(static_cast<size_t>(step.group.values[v].index));
    };
    const int lhs = read(node.inputs[0]), rhs = read(node.inputs[1]);
    const int out = step.writes.at(0);
    if (form.batch * form.m * form.n == 0) return;
    if (form.adds) {
      const int initial = read(node.inputs[2]);
      if (scope_.root(initial) != scope_.root(out)) assembly_.copy(scope_, list_, initial, out, scope_.bytes(out));
    }
    assembly_.dispatch(scope_, list_, matmul_shader(form, choices()), step.op, {{lhs, rhs, out}, {lhs, rhs}, {out}});
  }

  // One dispatch after the other, on the step's operand, its result and its scratch.
  void opaque(const PlanStep& step, const std::vector<OpaqueDispatch>& dispatches) {
    std::vector<int> all{step.reads.at(0), step.writes.at(0)};
    all.insert(all.end(), step.scratch.begin(), step.scratch.end());
    const auto buffers_of = [&](const std::vector<int>& operands) {
      std::vector<int> buffers;
      for (const int o : operands) buffers.push_back(all.at(static_cast<size_t>(o)));
      return buffers;
    };
    for (const OpaqueDispatch& d : dispatches) {
      const std::vector<int> operands = buffers_of(d.operands);
      assembly_.dispatch(scope_, list_, d.shader, step.op, {operands, operands, buffers_of(d.writes)}, d.number);
    }
  }

  // The host waits for all before it, and what comes after for the host.
  void on_host(const PlanStep& step) {
    HostStep host = host_step(scope_.plan, step);
    if (host.bytes[host.reads] == 0) return;  // of a call: it is made for no element, or its result is empty
    Command command;
    command.kind = Command::Kind::host;
    command.first = assembly_.addresses().operands(scope_, host.buffers);
    command.count = static_cast<uint32_t>(host.buffers.size());
    command.host = assembly_.add_host_step(std::move(host));
    list_.push_back(std::move(command));
    scope_.hazards.clear();
  }

  Assembly& assembly_;
  Scope& scope_;
  std::vector<Command>& list_;
};

}  // namespace

void lower_steps(Assembly& assembly, Scope& scope, std::vector<Command>& list) {
  StepLowering(assembly, scope, list).run();
}

}  // namespace neap::vk
