#include "planner/kernels/traffic.h"

#include <algorithm>
#include <cmath>

#include "planner/kernels/cost.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

double bytes_of(const Graph& group, ValueId v) { return static_cast<double>(group.aval(v).bytes()); }

// What a step reads of each input: no more than its slices, where nothing else reads it.
std::vector<double> bytes_read(const Graph& group) {
  std::vector<double> sliced(group.values.size());
  std::vector<bool> whole(group.values.size(), false);
  for (const Node& node : group.nodes) {
    const bool slices = node.op == Op::slice || node.op == Op::dynamic_slice;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (slices && i == 0)
        sliced[node.inputs[i]] += bytes_of(group, node.out());
      else
        whole[node.inputs[i]] = true;
    }
  }
  std::vector<double> read(group.values.size());
  for (const ValueId v : group.inputs) {
    const double all = bytes_of(group, v);
    read[v] = whole[v] || sliced[v] == 0 ? all : std::min(all, sliced[v]);
  }
  for (const Node& node : group.nodes) {
    if (op_info(node.op).family != Family::gather) continue;
    const Aval& indices = group.aval(node.inputs[1]);
    const double rows =
        static_cast<double>(indices.size()) / static_cast<double>(std::max<int64_t>(1, indices.shape.back()));
    double& table = read[node.inputs[0]];
    table = std::min(table, std::max(rows * predicted::kLine, bytes_of(group, node.out())));
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

// Goes through the steps of a plan twice, as they run again and again, and knows how much was touched since a buffer
// was.
class Touches {
 public:
  Touches(const PlanData& plan, size_t held, size_t count)
      : plan_(plan), held_(static_cast<double>(held)), marks_(count), last_(plan.buffers.size(), kNever) {}

  bool is_first(int buffer) const { return last_[root_of(buffer)].first == kNever.first; }
  int root_of(int buffer) const {
    const int of = plan_.buffers[buffer].alias_of;
    return of < 0 ? buffer : of;
  }

  // How many bytes lie between, its own included; `bytes`: of it that are touched.
  double distance(int buffer, double bytes) const {
    const int root = root_of(buffer);
    const auto whole = static_cast<double>(plan_.buffers[root].bytes);
    const double since = last_[root].first == kNever.first ? marks_.before(now_)
                                                           : marks_.before(now_) - marks_.before(last_[root].first);
    // Another part of it may be meant each time.
    return std::max(bytes < static_cast<double>(plan_.buffers[buffer].aval.bytes()) ? whole : bytes,
                    std::min(since, held_));
  }

  void touch(int buffer, double bytes) {
    auto& [moment, marked] = last_[root_of(buffer)];
    if (moment != kNever.first) marks_.add(moment, -marked);
    moment = now_++;
    marked = std::max(marked, bytes);  // touching a part leaves the others in their place
    marks_.add(moment, marked);
  }

 private:
  static constexpr std::pair<size_t, double> kNever{std::numeric_limits<size_t>::max(), 0};

  const PlanData& plan_;
  double held_;  // no more than this is touched
  Marks marks_;
  std::vector<std::pair<size_t, double>> last_;  // of root buffers: moment, and what was marked there
  size_t now_ = 0;
};

}  // namespace

ByteCost byte_cost(double distance) {
  const auto& levels = predicted::kLevels;
  const auto* above = std::ranges::find_if(levels, [&](const auto& level) { return distance <= level.bytes; });
  if (above == std::end(levels)) return {std::end(levels)[-1].read, std::end(levels)[-1].write};
  if (above == std::begin(levels)) return {above->read, above->write};
  const auto* below = above - 1;  // between two, by the logarithm
  const double part = std::log(distance / below->bytes) / std::log(above->bytes / below->bytes);
  return {std::lerp(below->read, above->read, part), std::lerp(below->write, above->write, part)};
}

StepTraffic step_traffic(const PlanStep& step) {
  const Graph& group = step.group;
  std::vector<double> read = bytes_read(group);
  // What is updated where it lies is read and written in the rows that are updated.
  double updated = std::numeric_limits<double>::infinity();
  if (step.kind == PlanStep::Kind::scatter && step.operand_in_place) {
    const Node& scatter = *group.def(group.outputs[0]);
    updated = bytes_of(group, scatter.inputs[2]);
    double& operand = read[scatter.inputs[0]];
    operand = std::min(operand, updated);
  }
  StepTraffic result;
  const ByteCost in_memory = byte_cost(std::numeric_limits<double>::infinity());
  for (const ValueId v : group.inputs) result.read.push_back(read[v]);
  for (const ValueId v : group.outputs) result.written.push_back(std::min(bytes_of(group, v), updated));
  result.read_costs.assign(result.read.size(), in_memory.read);
  result.write_costs.assign(result.written.size(), in_memory.write);
  if (step.kind == PlanStep::Kind::scatter && step.form != ScatterForm::direct) {
    result.tables = step.partials * static_cast<double>(group.aval(group.outputs[0]).size()) *
                    static_cast<double>(size_of(step.table_dtype));
  }
  return result;
}

std::vector<StepTraffic> plan_traffic(const PlanData& plan, size_t held, const Streams& streams) {
  std::vector<StepTraffic> result;
  size_t touches = 0;
  for (const PlanStep& step : plan.steps) {
    touches += step.reads.size() + step.writes.size() + step.scratch.size();
    result.push_back(step_traffic(step));
  }
  if (plan.naive) return result;  // what a step makes is new memory

  Touches seen(plan, held, 2 * touches);
  const auto touch_all = [&](size_t s) {
    const PlanStep& step = plan.steps[s];
    for (size_t i = 0; i < step.reads.size(); ++i) seen.touch(step.reads[i], result[s].read[i]);
    for (size_t i = 0; i < step.writes.size(); ++i) seen.touch(step.writes[i], result[s].written[i]);
    for (const int b : step.scratch) seen.touch(b, static_cast<double>(plan.buffers[b].bytes));
  };
  const bool once = streams.length == 1;
  for (size_t s = 0; s < plan.steps.size() && !once; ++s) touch_all(s);  // the run before

  std::vector<double> streamed(plan.buffers.size());  // bytes of what a buffer is a slice of, until it is touched
  const auto stream = [&](const std::vector<int>& buffers, size_t first) {
    for (size_t i = first; i < buffers.size(); ++i) {
      const int root = seen.root_of(buffers[i]);
      streamed[root] = static_cast<double>(plan.buffers[root].bytes) * static_cast<double>(streams.length);
    }
  };
  stream(plan.inputs, streams.first_input);
  stream(plan.outputs, streams.first_output);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    StepTraffic& traffic = result[s];
    const auto cost = [&](int buffer, double bytes) {
      if (once && seen.is_first(buffer)) return byte_cost(std::numeric_limits<double>::infinity());
      return byte_cost(std::max(streamed[seen.root_of(buffer)], seen.distance(buffer, bytes)));
    };
    for (size_t i = 0; i < step.reads.size(); ++i) {
      traffic.read_costs[i] = cost(step.reads[i], traffic.read[i]).read;
    }
    for (size_t i = 0; i < step.writes.size(); ++i) {
      traffic.write_costs[i] = cost(step.writes[i], traffic.written[i]).write;
    }
    touch_all(s);
    for (const auto* buffers : {&step.reads, &step.writes}) {
      for (const int b : *buffers) streamed[seen.root_of(b)] = 0;
    }
  }
  return result;
}

}  // namespace neap::planner
