#include "backends/vulkan/loop.h"

#include <limits>
#include <optional>
#include <utility>

#include "backends/vulkan/fused_loop.h"
#include "backends/vulkan/steps.h"
#include "trace/graph/loop.h"

namespace neap::vk {

using planner::PlanData;
using planner::PlanStep;
using tracing::Attr;

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The dispatch that copies the condition of a loop to a flag, which the host reads.
struct Report {
  Command command;
  int flag = -1;
};

class LoopLowering {
 public:
  LoopLowering(Assembly& assembly, Scope& outer, const PlanStep& step, std::vector<Command>& list)
      : assembly_(assembly),
        outer_(outer),
        step_(step),
        node_(step.group.nodes.at(0)),
        plan_(*step.body),
        list_(list),
        layout_(node_.attrs),
        length_(node_.attrs.integer_or(Attr::length, kNoLimit)),
        has_condition_(node_.op == tracing::Op::while_loop),
        reverse_(node_.attrs.integer_or(Attr::reverse, 0) != 0),
        body_(assembly.addresses().body(plan_)) {}

  void run() {
    place_in_arena();
    place_inputs();
    place_outputs();
    Addresses::bind_homes(body_);
    std::vector<Command> inside = iteration();
    // The lists are complete only now: the bind that precedes the loop knows all entries of the body.
    Assembly::barrier(outer_, list_);
    bind(body_.bind, list_);
    list_.push_back({});
    bind(body_.move, inside);
    inside.push_back({});
    std::optional<Report> report;
    if (has_condition_) report = copy_to_flag(step_.writes.at(0));
    if (length_ == 0 || in_one_shader(inside, report)) return;
    assembly_.make_pipelines(inside);
    repeat(std::move(inside), length_, report);
  }

 private:
  int read(size_t i) const { return step_.reads.at(static_cast<size_t>(step_.group.values[node_.inputs[i]].index)); }

  Origin outside(int b) const { return {outer_.homes[outer_.root(b)], outer_.shift(b), 0}; }

  // The body's buffer `b` walks through slices of `whole`.
  Origin slices(int b, int whole) const {
    const auto bytes = static_cast<int64_t>(body_.bytes(b));
    Origin origin = outside(whole);
    if (reverse_) origin.add += bytes * (length_ - 1);
    origin.stride = reverse_ ? -bytes : bytes;
    return origin;
  }

  void place_in_arena() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].offset < 0 || step_.scratch.empty()) continue;  // empty arrays need no arena
      body_.origins[b] = outside(step_.scratch.at(0));
      body_.origins[b].add += plan_.buffers[b].offset;
    }
  }

  void place_inputs() {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      Origin& origin = body_.origins[plan_.inputs[i]];
      if (layout_.is_const(i)) {
        origin = outside(read(i));
      } else if (layout_.is_carry(i)) {
        const int carry = step_.writes.at(i - layout_.consts);
        origin = outside(carry);
        if (read(i) != carry) assembly_.copy(outer_, list_, read(i), carry, outer_.bytes(carry));
      } else {
        origin = slices(plan_.inputs[i], read(i));
      }
    }
  }

  void place_outputs() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const int b = plan_.outputs[i];
      if (layout_.is_stacked_result(i)) {
        body_.origins[body_.root(b)] = slices(body_.root(b), step_.writes.at(i));
      } else if (body_.root(b) != plan_.inputs[layout_.consts + i]) {
        carried_.emplace_back(b, plan_.inputs[layout_.consts + i]);
      }
    }
  }

  // The body's steps, and the copies to its carries; the addresses have not moved on yet.
  std::vector<Command> iteration() {
    std::vector<Command> inside;
    lower_steps(assembly_, body_, inside);
    Assembly::barrier(body_, inside);
    bool moves = false;
    for (const auto& [from, to] : carried_) {
      assembly_.copy(body_, inside, from, to, body_.bytes(from));
      moves |= body_.origins[body_.root(from)].stride != 0;
    }
    if (moves || has_condition_) Assembly::barrier(body_, inside);
    std::erase_if(inside, [](const Command& command) { return command.kind == Command::Kind::step; });
    return inside;
  }

  void bind(const std::vector<BindRecord>& records, std::vector<Command>& list) {
    if (records.empty()) return;
    Command command = assembly_.add_kernel({bind_shader(assembly_.choices()), "bind", bind_shader, nullptr});
    command.first = assembly_.addresses().records(records);
    command.count = static_cast<uint32_t>(records.size());
    list.push_back(std::move(command));
  }

  // It has its pipeline at once: it is repeated at the end of a body whose other commands have theirs.
  Report copy_to_flag(int condition) {
    Command command = assembly_.add_kernel({copy_shader(1, assembly_.choices()), "condition", {}, nullptr});
    assembly_.make_pipeline(command);
    const Addresses::Flag flag = assembly_.addresses().flag(outer_, condition);
    command.first = flag.first;
    return {std::move(command), flag.number};
  }

  // The body so many times; with a report, as long as the flag says so.
  void repeat(std::vector<Command> body, int64_t times, const std::optional<Report>& report) {
    if (times == 0) return;
    Command loop;
    loop.kind = Command::Kind::loop;
    loop.times = times;
    if (report) {
      loop.flag = report->flag;
      list_.insert(list_.end(), {report->command, Command()});
      if (times > 1) body.insert(body.end(), {report->command, Command()});
    }
    loop.body = std::move(body);
    list_.push_back(std::move(loop));
  }

  // Dispatches that run many iterations each, where the body allows it. With a report the shader looks at the condition
  // itself, and the host is told after each dispatch.
  bool in_one_shader(const std::vector<Command>& inside, const std::optional<Report>& report) {
    std::optional<uint32_t> condition;
    if (report) condition = report->command.first;
    const std::optional<FusedLoop> fused = fuse_loop(assembly_, inside, length_, condition);
    if (!fused) return false;
    const int64_t at_once = fused->iterations;
    std::vector<Command> once{fused->dispatch, {}};
    assembly_.make_pipelines(once);
    if (report && length_ > at_once) {
      repeat(std::move(once), (length_ - 1) / at_once + 1, report);
      return true;
    }
    if (length_ % at_once) {
      list_.insert(list_.end(), once.begin(), once.end());
      list_[list_.size() - 2].count = static_cast<uint32_t>(length_ % at_once);
    }
    repeat(std::move(once), length_ / at_once, {});
    return true;
  }

  Assembly& assembly_;
  Scope& outer_;
  const PlanStep& step_;
  const tracing::Node& node_;
  const PlanData& plan_;  // of the body
  std::vector<Command>& list_;
  const tracing::LoopLayout layout_;
  const int64_t length_;
  const bool has_condition_, reverse_;
  Scope body_;
  std::vector<std::pair<int, int>> carried_;  // a buffer of the body, and the carry that it is copied to
};

}  // namespace

void lower_loop(Assembly& assembly, Scope& outer, const PlanStep& step, std::vector<Command>& list) {
  LoopLowering(assembly, outer, step, list).run();
}

}  // namespace neap::vk
