#include "planner/kernels/traffic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>

#include "planner/kernels/cost.h"
#include "planner/kernels/frames.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

double bytes_of(const Graph& group, ValueId v) { return static_cast<double>(group.aval(v).bytes()); }

// How often each element of an operand is computed for one of the result: a broadcast repeats what it spreads along all
// its new axes but the innermost, in whose loop nothing changes.
double repeats(const Graph& group, const Node& node) {
  if (node.op != Op::broadcast_in_dim) return 1;
  const Shape &from = group.aval(node.inputs[0]).shape, &to = group.aval(node.out()).shape;
  const Ints& axes = node.attrs.ints(Attr::axes);
  std::vector<bool> is_new(to.size(), true);
  for (size_t i = 0; i < axes.size(); ++i) is_new[axes[i]] = from[i] != to[axes[i]];
  auto axis = std::ssize(to);
  while (axis > 0 && (is_new[axis - 1] || to[axis - 1] == 1)) --axis;
  double times = 1;
  for (int64_t i = 0; i < axis; ++i) times *= is_new[i] ? static_cast<double>(to[i]) : 1;
  return times;
}

// Bytes that rows at places of a table fetch: whole cache lines.
double bytes_at(const Graph& group, ValueId indices, ValueId at_them) {
  const auto rows = static_cast<double>(index_rows(group.aval(indices)));
  return std::max(rows * predicted::kLine, bytes_of(group, at_them));
}

// What a step reads of each input: once what is read of it at all.
std::vector<double> bytes_read(const Graph& group, const std::vector<double>& times) {
  std::vector<double> read(group.values.size());
  for (const ValueId v : group.inputs) read[v] = std::min(1.0, times[v]) * bytes_of(group, v);
  std::vector<double> lines(group.values.size()), rows(group.values.size());  // of tables: what gathers fetch, and make
  for (const Node& node : group.nodes) {
    if (op_info(node.op).family != Family::gather) continue;
    lines[node.inputs[0]] += bytes_at(group, node.inputs[1], node.out());
    rows[node.inputs[0]] += bytes_of(group, node.out());
  }
  for (size_t v = 0; v < lines.size(); ++v) {
    if (lines[v] == 0 || read[v] == 0) continue;
    const double once = read[v] * -std::expm1(-lines[v] / read[v]);  // of places at random some share a line
    read[v] = std::min(read[v], std::max(once, rows[v]));
  }
  return read;
}

// How many bytes are marked in a part of a row of moments. A Fenwick tree.
class Marks {
 public:
  explicit Marks(size_t moments) : sums_(moments + 1) {}

  void add(size_t moment, double bytes) {
    for (size_t i = moment + 1; i < sums_.size(); i += i & -i) sums_[i] += bytes;
  }
  double before(size_t moment) const {
    double sum = 0;
    for (size_t i = moment; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<double> sums_;
};

// How much was touched since a buffer was.
class Touches {
 public:
  Touches(const PlanData& plan, size_t held, size_t count)
      : plan_(plan), held_(static_cast<double>(held)), marks_(count), last_(plan.buffers.size()) {}

  // How many bytes lie between, its own included, of which so many are touched; infinite where it never was.
  double distance(int buffer, double bytes) const {
    const int root = plan_.root(buffer);
    if (!last_[root]) return std::numeric_limits<double>::infinity();
    const double since = marks_.before(now_) - marks_.before(last_[root]->moment);
    // Another part of it may be meant each time.
    const bool is_part = bytes < static_cast<double>(plan_.buffers[buffer].aval.bytes());
    return std::max(is_part ? static_cast<double>(plan_.buffers[root].bytes) : bytes, std::min(since, held_));
  }

  void touch(int buffer, double bytes) {
    std::optional<Touch>& last = last_[plan_.root(buffer)];
    if (last) {
      marks_.add(last->moment, -last->bytes);
      bytes = std::max(bytes, last->bytes);  // touching a part leaves the others in their place
    }
    marks_.add(now_, bytes);
    last = {now_++, bytes};
  }

 private:
  struct Touch {
    size_t moment;
    double bytes;  // that are marked there
  };

  const PlanData& plan_;
  double held_;  // no more than this is touched
  Marks marks_;
  std::vector<std::optional<Touch>> last_;  // of root buffers
  size_t now_ = 0;
};

// What rows at random places of tables cost beside going through these once, in units: those of a table that the cache
// of a thread does not hold come from further away each time.
double cost_at_places(const PlanStep& step, const StepTraffic& traffic, const predicted::Machine& machine) {
  const Graph& group = step.group;
  double units = 0;
  const auto add = [&](ValueId indices, double bytes, double table, bool written) {
    bytes += predicted::kFar * static_cast<double>(index_rows(group.aval(indices)));
    const ByteCost far = byte_cost(table, machine), near = byte_cost(0, machine);
    units += std::max(0.0, bytes) * (far.read - near.read + (written ? far.write - near.write : 0));
  };
  for (const Node& node : group.nodes) {
    if (op_info(node.op).family != Family::gather) continue;
    const double table = bytes_of(group, node.inputs[0]);
    const double often = std::max(1.0, traffic.times[node.out()]);
    add(node.inputs[1], often * bytes_at(group, node.inputs[1], node.out()) - table, predicted::kThreads * table,
        false);
  }
  if (step.kind == PlanStep::Kind::scatter && !step.unique_indices) {
    const Node& node = *group.def(group.outputs[0]);
    const bool direct = step.form == ScatterForm::direct;  // else each thread has a table
    const double table =
        static_cast<double>(group.aval(node.out()).size()) *
        static_cast<double>(direct ? size_of(group.aval(node.out()).dtype) : size_of(step.table_dtype));
    const double updates = bytes_of(group, node.inputs[2]);
    add(node.inputs[1], bytes_at(group, node.inputs[1], node.inputs[2]) - (step.operand_in_place ? updates : 0),
        (direct ? predicted::kThreads : 1) * table, true);
  }
  return units;
}

// That of a step alone: all lies in memory.
StepTraffic step_traffic(const PlanStep& step, const predicted::Machine& machine) {
  const Graph& group = step.group;
  StepTraffic result;
  result.times = times_computed(group);
  std::vector<double> read = bytes_read(group, result.times);
  // What is updated where it lies is read and written in the rows that are updated.
  double updated = std::numeric_limits<double>::infinity();
  if (step.kind == PlanStep::Kind::scatter && step.operand_in_place) {
    const Node& scatter = *group.def(group.outputs[0]);
    updated = bytes_of(group, scatter.inputs[2]);
    double& operand = read[scatter.inputs[0]];
    operand = std::min(operand, updated);
  }
  const ByteCost in_memory = byte_cost(std::numeric_limits<double>::infinity(), machine);
  for (const ValueId v : group.inputs) result.read.push_back(read[v]);
  for (const ValueId v : group.outputs) result.written.push_back(std::min(bytes_of(group, v), updated));
  result.read_costs.assign(result.read.size(), in_memory.read);
  result.write_costs.assign(result.written.size(), in_memory.write);
  result.at_places = cost_at_places(step, result, machine);
  if (step.kind == PlanStep::Kind::scatter && step.form != ScatterForm::direct) {
    result.tables = step.partials * static_cast<double>(group.aval(group.outputs[0]).size()) *
                    static_cast<double>(size_of(step.table_dtype));
  }
  return result;
}

}  // namespace

std::vector<double> times_computed(const Graph& group) {
  const auto size = [&](ValueId v) { return static_cast<double>(std::max<int64_t>(1, group.aval(v).size())); };
  std::vector<Evaluations> of(group.values.size());
  for (const ValueId v : group.outputs) of[v].read({kFrameOfResults, 1, 1});
  std::vector<OperandRead> reads;
  for (const Node& node : group.nodes | std::views::reverse) {
    const bool slices = node.op == Op::slice || node.op == Op::dynamic_slice;
    const double again = repeats(group, node);
    reads.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) reads.emplace_back(group, node, i);
    for (const ValueId out : node.outputs) {
      for (const Evaluations::InFrame& f : of[out].frames()) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          const ValueId v = node.inputs[i];
          const double part = slices && i == 0 ? size(node.out()) / size(v) : 1;
          const double often = f.often * again * part;
          of[v].read({reads[i].frame(f.frame), often, often});
        }
      }
    }
  }
  std::vector<double> times;
  for (const Evaluations& evaluations : of) times.push_back(evaluations.often());
  return times;
}

ByteCost byte_cost(double distance, const predicted::Machine& machine) {
  const predicted::Levels& levels = machine.levels;
  const auto above = std::ranges::find_if(levels, [&](const auto& level) { return distance <= level.bytes; });
  if (above == levels.end()) return {levels.back().read, levels.back().write};
  if (above == levels.begin()) return {above->read, above->write};
  const auto below = above - 1;  // between two, by the logarithm
  const double part = std::log(distance / below->bytes) / std::log(above->bytes / below->bytes);
  return {std::lerp(below->read, above->read, part), std::lerp(below->write, above->write, part)};
}

std::vector<StepTraffic> plan_traffic(const PlanData& plan, size_t held, const CountedLoop* loop,
                                      const predicted::Machine& machine) {
  std::vector<StepTraffic> result;
  size_t touches = 0;
  for (const PlanStep& step : plan.steps) {
    touches += step.reads.size() + step.writes.size() + step.scratch.size();
    result.push_back(step_traffic(step, machine));
  }
  if (plan.naive) return result;  // what a step makes is new memory

  Touches seen(plan, held, 2 * touches);
  const auto touch_all = [&](size_t s) {
    const PlanStep& step = plan.steps[s];
    for (size_t i = 0; i < step.reads.size(); ++i) seen.touch(step.reads[i], result[s].read[i]);
    for (size_t i = 0; i < step.writes.size(); ++i) seen.touch(step.writes[i], result[s].written[i]);
    for (const int b : step.scratch) seen.touch(b, static_cast<double>(plan.buffers[b].bytes));
  };
  if (!loop || loop->length != 1) {
    for (size_t s = 0; s < plan.steps.size(); ++s) touch_all(s);  // the run before
  }

  std::vector<double> streamed(plan.buffers.size());  // bytes of what a buffer is a slice of, until it is touched
  const auto stream = [&](int buffer) {
    const int root = plan.root(buffer);
    streamed[root] = static_cast<double>(plan.buffers[root].bytes) * static_cast<double>(loop->length);
  };
  for (size_t i = 0; loop && i < plan.inputs.size(); ++i) {
    if (loop->is_stacked_input(i)) stream(plan.inputs[i]);
  }
  for (size_t i = 0; loop && i < plan.outputs.size(); ++i) {
    if (loop->is_stacked_result(i)) stream(plan.outputs[i]);
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    StepTraffic& traffic = result[s];
    const auto cost = [&](int buffer, double bytes) {
      return byte_cost(std::max(streamed[plan.root(buffer)], seen.distance(buffer, bytes)), machine);
    };
    for (size_t i = 0; i < step.reads.size(); ++i) {
      traffic.read_costs[i] = cost(step.reads[i], traffic.read[i]).read;
    }
    for (size_t i = 0; i < step.writes.size(); ++i) {
      traffic.write_costs[i] = cost(step.writes[i], traffic.written[i]).write;
    }
    touch_all(s);
    for (const auto* buffers : {&step.reads, &step.writes}) {
      for (const int b : *buffers) streamed[plan.root(b)] = 0;
    }
  }
  return result;
}

}  // namespace neap::planner
