#include "backends/vulkan/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "backends/vulkan/glsl_module.h"
#include "backends/vulkan/hazards.h"
#include "core/ascii.h"
#include "core/buffer.h"
#include "core/check.h"
#include "planner/kernels/dot.h"
#include "trace/graph/loop.h"

namespace neap::vk {

using backends::Launch;
using planner::PlanData;
using planner::PlanStep;
using tracing::Attr;

namespace {

/// Where the address of a body's buffer comes from, when its loop begins.
struct Origin {
  uint32_t home = 0;   // outside the loop
  int64_t add = 0;     // bytes
  int64_t stride = 0;  // bytes to move on after each iteration
};

/// The buffers of one plan: the outermost, or the body of a loop.
struct Scope {
  explicit Scope(const PlanData& of) : plan(of), hazards(of) {}
  const PlanData& plan;
  Hazards hazards;
  std::vector<uint32_t> homes;         // of roots
  std::vector<Origin> origins;         // of roots, in a loop
  std::vector<BindRecord> bind, move;  // in a loop
  bool is_loop = false;

  int root(int b) const { return plan.root(b); }
  bool is_output(int b) const {
    return std::ranges::any_of(plan.outputs, [&](int output) { return root(output) == b; });
  }
  int64_t shift(int b) const { return plan.shift(b); }
};

constexpr int64_t kIterationsAtOnce = 4096;    // of a body that is one shader, in a dispatch
constexpr int64_t kFewerIterations = 16;       // are not worth it
constexpr int64_t kLongestDispatch = 1 << 20;  // iterations of all loops together
constexpr int64_t kWorthViews = 1 << 16;       // elements: new buffers mean new descriptors, and commands recorded anew
constexpr uint32_t kLeastWorkgroup = 32, kMostGroups = 8;

/// A kernel before it has a pipeline.
struct Kernel {
  Shader shader;
  std::string name;
  std::function<Shader(const Choices&)> emit;  // null: it cannot become a stage of a loop
  const Pipeline* pipeline = nullptr;
};

class Compiler {
 public:
  Compiler(Device& device, const std::string& dump_name, bool views)
      : device_(device), dump_name_(dump_name), views_(views && device.choices().texels > 0) {}

  Program run(const PlanData& plan) {
    Scope scope(plan);
    for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
      scope.homes.push_back(entry());
      if (scope.root(b) == b) out_.entries.push_back({scope.homes[b], b, 0});
    }
    steps(scope, out_.commands);
    make_pipelines(out_.commands);
    out_.num_entries = next_;
    return std::move(out_);
  }

 private:
  uint32_t entry() { return next_++; }

  /// Of a kernel: for NEAP_DUMP and messages.
  std::string file_name(const std::string& what) {
    std::string name = fmt::format("{}-{:03}-{}", dump_name_.empty() ? "kernel" : dump_name_, kernels_++, what);
    for (char& c : name) {
      if (!ascii::is_alnum(c) && c != '-') c = '_';
    }
    return name.substr(0, 100);
  }

  void steps(Scope& scope, std::vector<Command>& list) {
    if (poisoning()) poison(scope, list, [](int) { return true; });
    for (int s = 0; s < static_cast<int>(scope.plan.steps.size()); ++s) {
      const PlanStep& step = scope.plan.steps[s];
      for (const tracing::Value& value : step.group.values) {  // kernels take pairs of floats for doubles in sums alone
        if (const auto feature = lacks(device_.choices(), value.aval.dtype)) lacking(step.op, *feature);
      }
      switch (step.kind) {
        case PlanStep::Kind::dot: dot(scope, step, list); break;
        case PlanStep::Kind::sort: sort(scope, step, list); break;
        case PlanStep::Kind::scan: scan(scope, step, list); break;
        case PlanStep::Kind::factor: factor(scope, step, list); break;
        default: launches(scope, step, list);
      }
      if (poisoning())
        poison(scope, list, [&](int b) { return scope.plan.buffers[b].last == s && !scope.is_output(b); });
      Command mark;
      mark.kind = Command::Kind::step;
      mark.step = s;
      list.push_back(std::move(mark));
    }
  }

  /// The operand list of a dispatch; its first entry.
  uint32_t operands(Scope& scope, const std::vector<int>& buffers) {
    const uint32_t first = next_;
    for (const int b : buffers) {
      const uint32_t e = entry();
      const int root = scope.root(b);
      if (!scope.is_loop) {
        out_.entries.push_back({e, root, scope.shift(b)});
        continue;
      }
      const Origin& origin = scope.origins[root];
      scope.bind.push_back({e, origin.home, origin.add + scope.shift(b)});
      if (origin.stride) scope.move.push_back({e, e, origin.stride});
    }
    return first;
  }

  void dispatch(Scope& scope, std::vector<Command>& list, const Shader& shader, const std::string& name,
                const std::vector<int>& buffers, const std::vector<int>& reads, const std::vector<int>& writes,
                uint32_t number = 0) {
    if (scope.hazards.needs_barrier(reads, writes)) {
      barrier(scope, list);
      scope.hazards.needs_barrier(reads, writes);
    }
    Command command = new_kernel({shader, name, {}, nullptr});
    command.first = operands(scope, buffers);
    for (const View& view : shader.views) {
      const int b = buffers[static_cast<size_t>(view.operand)], root = scope.root(b);
      command.views.push_back({view, root, scope.shift(b), scope.plan.buffers[b].aval.bytes()});
      if (std::ranges::find(out_.viewed, root) == out_.viewed.end()) out_.viewed.push_back(root);
    }
    for (uint32_t i = 0; i < shader.dispatches; ++i) {
      if (i > 0) list.push_back({});
      command.count = number + i;
      list.push_back(command);
    }
  }

  template <class Emit>
    requires std::is_invocable_v<Emit, const Choices&>
  void dispatch(Scope& scope, std::vector<Command>& list, Emit emit, const std::string& name,
                const std::vector<int>& buffers, const std::vector<int>& reads, const std::vector<int>& writes) {
    dispatch(scope, list, emit(device_.choices()), name, buffers, reads, writes);
    made_.back().emit = std::move(emit);
  }

  Command new_kernel(Kernel kernel) {
    Command command;
    command.kind = Command::Kind::dispatch;
    command.kernel = static_cast<int>(made_.size());
    command.groups = kernel.shader.groups;
    made_.push_back(std::move(kernel));
    return command;
  }

  void make_pipelines(std::vector<Command>& list) {
    for (Command& command : list) {
      if (command.kind != Command::Kind::dispatch || command.pipeline) continue;
      Kernel& kernel = made_[static_cast<size_t>(command.kernel)];
      if (!kernel.pipeline) kernel.pipeline = &device_.pipeline(kernel.shader, file_name(kernel.name));
      command.pipeline = kernel.pipeline;
    }
  }

  static void barrier(Scope& scope, std::vector<Command>& list) {
    if (list.empty() || list.back().kind != Command::Kind::barrier) list.push_back({});
    scope.hazards.clear();
  }

  void launches(Scope& scope, const PlanStep& step, std::vector<Command>& list) {
    std::vector<int> all = step.reads;
    all.insert(all.end(), step.writes.begin(), step.writes.end());
    all.insert(all.end(), step.scratch.begin(), step.scratch.end());
    for (const Launch& launch : backends::lower(step)) {
      for (const int o : launch.zero_fill) fill(scope, list, all[o]);
      const auto& kernel = launch.kernel;
      if (kernel.kind != backends::Kernel::Kind::reduce && (kernel.extent[0] == 0 || kernel.extent[1] == 0)) continue;
      std::vector<int> buffers, reads, writes;
      for (size_t i = 0; i < launch.operands.size(); ++i) {
        const int b = all.at(launch.operands[i]);
        buffers.push_back(b);
        reads.push_back(b);  // atomics and products in place read what they write
        if (kernel.buffers[i].written) writes.push_back(b);
      }
      if (launch.part0_operand >= 0) {
        buffers.push_back(all.at(launch.part0_operand));
        writes.push_back(buffers.back());
      }
      for (const auto& s : kernel.scatters) writes.push_back(all.at(launch.operands.at(s.buffer)));
      for (const auto& r : kernel.reductions) writes.push_back(all.at(launch.operands.at(r.buffer)));
      for (const auto& s : kernel.stores) writes.push_back(all.at(launch.operands.at(s.buffer)));
      if (const auto viewable = viewable_operands(scope, kernel, buffers, writes); !viewable.empty()) {
        dispatch(scope, list, emit(launch, device_.choices(), viewable), step.op, buffers, reads, writes);
        continue;
      }
      dispatch(
          scope, list, [launch](const Choices& choices) { return emit(launch, choices); }, step.op, buffers, reads,
          writes);
    }
  }

  /// What a launch may do through texel buffers; empty: nothing, as in loops, whose arrays move on, and where there is
  /// little to do. What is written beside other operands' memory is no table.
  std::vector<Viewable> viewable_operands(const Scope& scope, const backends::Kernel& kernel,
                                          const std::vector<int>& buffers, const std::vector<int>& writes) const {
    if (!views_ || scope.is_loop || kernel.extent[0] * kernel.extent[1] < kWorthViews) return {};
    std::vector<Viewable> viewable;
    for (const int b : buffers) {
      const auto same = [&](int other) { return scope.root(other) == scope.root(b); };
      const bool aligned = scope.shift(b) % device_.choices().texel_alignment == 0;
      viewable.push_back({aligned ? scope.plan.buffers[b].aval.bytes() : 0, std::ranges::any_of(writes, same)});
    }
    return viewable;
  }

  void fill(Scope& scope, std::vector<Command>& list, int b) {
    const uint64_t bytes = scope.plan.buffers[b].aval.bytes();
    if (bytes == 0) return;
    dispatch(scope, list, [bytes](const Choices& choices) { return fill_shader(bytes, choices); }, "fill", {b}, {},
             {b});
  }

  // Overwrites what lies in the arena and is chosen.
  template <class Chosen>
  void poison(Scope& scope, std::vector<Command>& list, const Chosen& chosen) {
    for (int b = 0; b < static_cast<int>(scope.plan.buffers.size()); ++b) {
      const auto& buffer = scope.plan.buffers[b];
      if (scope.root(b) != b || buffer.offset < 0 || buffer.aval.bytes() == 0 || !chosen(b)) continue;
      const uint64_t bytes = buffer.aval.bytes();
      dispatch(scope, list, [bytes](const Choices& choices) { return fill_shader(bytes, choices, kPoison); }, "poison",
               {b}, {}, {b});
    }
  }

  void dot(Scope& scope, const PlanStep& step, std::vector<Command>& list) {
    const auto form = planner::dot_form(step.group, step.group.nodes.at(0));
    const auto read = [&](tracing::ValueId v) {
      return step.reads.at(static_cast<size_t>(step.group.values[v].index));
    };
    const int lhs = read(step.group.nodes[0].inputs[0]), rhs = read(step.group.nodes[0].inputs[1]);
    const int out = step.writes.at(0);
    if (form.batch * form.m * form.n == 0) return;
    if (form.adds) {
      const int initial = read(step.group.nodes[0].inputs[2]);
      if (scope.root(initial) != scope.root(out)) copy(scope, list, initial, out, scope.plan.buffers[out].aval.bytes());
    }
    dispatch(scope, list, matmul_shader(form, device_.choices()), step.op, {lhs, rhs, out}, {lhs, rhs}, {out});
  }

  void sort(Scope& scope, const PlanStep& step, std::vector<Command>& list) {
    std::vector<int> all{step.reads.at(0), step.writes.at(0)};
    all.insert(all.end(), step.scratch.begin(), step.scratch.end());
    const auto buffers_of = [&](const std::vector<int>& operands) {
      std::vector<int> buffers;
      for (const int o : operands) buffers.push_back(all.at(static_cast<size_t>(o)));
      return buffers;
    };
    const auto form = planner::sort_form(step.group, step.group.nodes.at(0));
    for (const SortDispatch& d : sort_dispatches(form, device_.choices())) {
      const std::vector<int> operands = buffers_of(d.operands);
      dispatch(scope, list, d.shader, step.op, operands, operands, buffers_of(d.writes), d.number);
    }
  }

  /// The host waits for all before it, and what comes after for the host.
  void factor(Scope& scope, const PlanStep& step, std::vector<Command>& list) {
    HostStep host = host_step(scope.plan, step);
    if (host.bytes[host.reads] == 0) return;
    Command command;
    command.kind = Command::Kind::host;
    command.host = static_cast<int>(out_.host_steps.size());
    command.first = operands(scope, host.buffers);
    command.count = static_cast<uint32_t>(host.buffers.size());
    out_.host_steps.push_back(std::move(host));
    list.push_back(std::move(command));
    scope.hazards.clear();
  }

  /// A copy between buffers of two scopes that are addressed by the entries of `inner`.
  void copy(Scope& scope, std::vector<Command>& list, int from, int to, uint64_t bytes) {
    if (bytes == 0) return;
    dispatch(scope, list, [bytes](const Choices& choices) { return copy_shader(bytes, choices); }, "copy", {from, to},
             {from}, {to});
  }

  void scan(Scope& outer, const PlanStep& step, std::vector<Command>& list) {
    const tracing::Node& node = step.group.nodes.at(0);
    const auto [num_consts, num_carry] = tracing::LoopLayout(node.attrs);
    const int64_t length = node.attrs.integer_or(Attr::length, std::numeric_limits<int64_t>::max());
    const bool has_condition = node.op == tracing::Op::while_loop;
    const bool reverse = node.attrs.integer_or(Attr::reverse, 0) != 0;
    const PlanData& plan = *step.body;
    Scope body(plan);
    body.is_loop = true;
    body.origins.resize(plan.buffers.size());
    for (size_t b = 0; b < plan.buffers.size(); ++b) body.homes.push_back(entry());

    const auto read = [&](size_t i) {
      return step.reads.at(static_cast<size_t>(step.group.values[node.inputs[i]].index));
    };
    const auto outside = [&](int b) { return Origin{outer.homes[outer.root(b)], outer.shift(b), 0}; };
    const auto slices = [&](int b, int whole) {
      const auto bytes = static_cast<int64_t>(plan.buffers[b].aval.bytes());
      Origin origin = outside(whole);
      if (reverse) origin.add += bytes * (length - 1);
      origin.stride = reverse ? -bytes : bytes;
      body.origins[b] = origin;
    };
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].offset < 0 || step.scratch.empty()) continue;  // empty arrays need no arena
      body.origins[b] = outside(step.scratch.at(0));
      body.origins[b].add += plan.buffers[b].offset;
    }
    std::vector<std::pair<int, int>> carried;  // body buffer, carry's
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const int b = plan.inputs[i];
      if (i < num_consts) {
        body.origins[b] = outside(read(i));
      } else if (i < num_consts + num_carry) {
        const int carry = step.writes.at(i - num_consts);
        body.origins[b] = outside(carry);
        if (read(i) != carry) copy(outer, list, read(i), carry, outer.plan.buffers[carry].aval.bytes());
      } else {
        slices(b, read(i));
      }
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      const int b = plan.outputs[i];
      if (i >= num_carry) {
        slices(body.root(b), step.writes.at(i));
      } else if (body.root(b) != plan.inputs[num_consts + i]) {
        carried.emplace_back(b, plan.inputs[num_consts + i]);
      }
    }
    for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
      if (body.root(b) != b) continue;
      const Origin& origin = body.origins[b];
      body.bind.push_back({body.homes[b], origin.home, origin.add});
      if (origin.stride) body.move.push_back({body.homes[b], body.homes[b], origin.stride});
    }

    std::vector<Command> inside;
    steps(body, inside);
    barrier(body, inside);
    bool moves = false;
    for (const auto& [from, to] : carried) {
      copy(body, inside, from, to, plan.buffers[from].aval.bytes());
      moves |= body.origins[body.root(from)].stride != 0;
    }
    if (moves || has_condition) barrier(body, inside);
    std::erase_if(inside, [](const Command& command) { return command.kind == Command::Kind::step; });
    // The lists are complete only now: the bind that precedes the loop knows all entries of the body.
    barrier(outer, list);
    bind(body.bind, list);
    list.push_back({});
    bind(body.move, inside);
    inside.push_back({});
    std::optional<Command> report;
    if (has_condition) report = copy_to_flag(outer, step.writes.at(0));
    const int flag = report ? out_.num_flags - 1 : -1;
    if (length == 0 || in_one_shader(inside, length, list, report, flag)) return;
    make_pipelines(inside);
    repeat(std::move(inside), length, list, report, flag);
  }

  /// The dispatch that copies a bool to a new flag.
  Command copy_to_flag(Scope& scope, int condition) {
    Command command = new_kernel({copy_shader(1, device_.choices()), "condition", {}, nullptr});
    command.pipeline = made_.back().pipeline = &device_.pipeline(made_.back().shader, file_name(made_.back().name));
    const uint32_t flag = entry();
    const int64_t shift = Program::kFlagBytes * out_.num_flags++;
    out_.entries.push_back({flag, Program::kFlags, shift});
    command.first = operands(scope, {condition});
    const uint32_t to = entry();
    if (scope.is_loop)
      scope.bind.push_back({to, flag, 0});
    else
      out_.entries.push_back({to, Program::kFlags, shift});
    return command;
  }

  /// The body so many times; with a report, as long as the flag says so.
  static void repeat(std::vector<Command> body, int64_t times, std::vector<Command>& list,
                     const std::optional<Command>& report, int flag) {
    if (times == 0) return;
    if (report) {
      list.insert(list.end(), {*report, Command()});
      if (times > 1) body.insert(body.end(), {*report, Command()});
    }
    Command loop;
    loop.kind = Command::Kind::loop;
    loop.times = times;
    loop.flag = flag;
    loop.body = std::move(body);
    list.push_back(std::move(loop));
  }

  /// The kernels as stages of workgroups of this size, without the barrier at the end; none when one does not fit.
  std::vector<Stage> stages(const std::vector<Command>& body, uint32_t first, const Choices& choices) const {
    std::vector<Stage> all;
    bool barrier = false;
    for (const Command& command : body) {
      if (command.kind != Command::Kind::dispatch) {
        barrier = true;
        continue;
      }
      const Kernel& kernel = made_[static_cast<size_t>(command.kernel)];
      if (kernel.shader.combining > choices.workgroup) return {};
      Stage stage{kernel.emit(choices), command.first - first, command.count, barrier};
      if (stage.shader.groups != std::array<uint32_t, 3>{1, 1, 1} || stage.shader.dispatches != 1 ||
          stage.shader.combining != kernel.shader.combining || !stage.shader.parts) {
        return {};
      }
      if (choices.most_iterations > 0 && stage.shader.parts->exchanges) return {};
      all.push_back(std::move(stage));
      barrier = false;
    }
    return all;
  }

  /// A loop as dispatches of one workgroup that run many iterations each, where the kernels of its body allow it.
  /// With a report it looks at the condition itself, and tells the host after as many as a dispatch has.
  bool in_one_shader(const std::vector<Command>& body, int64_t length, std::vector<Command>& list,
                     const std::optional<Command>& report, int flag) {
    uint32_t first = report ? report->first : next_;
    for (const Command& command : body) {
      if (command.kind == Command::Kind::barrier) continue;
      if (command.kind != Command::Kind::dispatch || command.kernel < 0) return false;
      const Kernel& kernel = made_[static_cast<size_t>(command.kernel)];
      const auto& groups = kernel.shader.groups;
      if (!kernel.emit || kernel.shader.dispatches != 1 || groups[0] > kMostGroups || groups[1] * groups[2] > 1) {
        return false;
      }
      first = std::min(first, command.first);
    }
    const Choices& own = device_.choices();
    const uint32_t largest = std::min(own.workgroup, own.reduce_workgroup);  // it may be of full subgroups
    for (uint32_t size = std::max(kLeastWorkgroup, own.subgroup); size <= largest; size *= 2) {
      Choices choices = own;
      choices.one_workgroup = true;
      choices.workgroup = choices.reduce_workgroup = size;
      if (!own.cpu && size < largest) choices.elements = 1;
      const std::vector<Stage> kernels = stages(body, first, choices);
      if (kernels.empty()) continue;
      const Shader shader = loop_shader(kernels, choices, report ? std::optional(report->first - first) : std::nullopt);
      const int64_t longest = own.most_iterations > 0 ? own.most_iterations - 1 : kLongestDispatch;
      const int64_t at_once = std::min({kIterationsAtOnce, length, longest / static_cast<int64_t>(shader.iterations)});
      if (at_once < std::min(kFewerIterations, length)) return false;
      // A flag is looked at after whole dispatches.
      if (report && length > at_once && length < std::numeric_limits<int64_t>::max()) return false;
      Command command = new_kernel({shader, "loop", {}, nullptr});
      command.first = first;
      command.count = static_cast<uint32_t>(at_once);
      std::vector<Command> once{command, {}};
      make_pipelines(once);
      if (report && length > at_once) {
        repeat(std::move(once), (length - 1) / at_once + 1, list, report, flag);
        return true;
      }
      if (length % at_once) {
        list.insert(list.end(), once.begin(), once.end());
        list[list.size() - 2].count = static_cast<uint32_t>(length % at_once);
      }
      repeat(std::move(once), length / at_once, list, {}, -1);
      return true;
    }
    return false;
  }

  void bind(const std::vector<BindRecord>& records, std::vector<Command>& list) {
    if (records.empty()) return;
    Command command = new_kernel({bind_shader(device_.choices()), "bind", bind_shader, nullptr});
    command.first = entry();
    command.count = static_cast<uint32_t>(records.size());
    out_.entries.push_back(
        {command.first, Program::kRecords, static_cast<int64_t>(out_.records.size() * sizeof(BindRecord))});
    out_.records.insert(out_.records.end(), records.begin(), records.end());
    list.push_back(std::move(command));
  }

  Device& device_;
  const std::string& dump_name_;
  const bool views_;
  int kernels_ = 0;
  Program out_;
  uint32_t next_ = 0;
  std::vector<Kernel> made_;
};

}  // namespace

Program compile_program(const PlanData& plan, Device& device, const std::string& dump_name, bool views) {
  return Compiler(device, dump_name, views).run(plan);
}

}  // namespace neap::vk
