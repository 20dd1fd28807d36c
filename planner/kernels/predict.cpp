#include "planner/kernels/predict.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/kernels/cost.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/sort.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A body's arena of so few bytes stays in a cache, and reading or writing it costs this share of what memory costs:
// half a MiB of a core's own cache, 16 MiB of the shared one. neap-cost's "add" shows the shares by its sizes.
struct Cache {
  size_t bytes;
  double share;
};
constexpr Cache kCaches[] = {{size_t{1} << 20, 0.25}, {size_t{16} << 20, 0.5}};

double share_in_caches(size_t arena_bytes) {
  for (const Cache& cache : kCaches) {
    if (arena_bytes <= cache.bytes) return cache.share;
  }
  return 1;
}

// The units of a product: its arithmetic, what it packs (each tile packs its rows of both operands), and its result,
// which is added to once for every block of terms.
double dot_units(const DotForm& form) {
  const DotTiles tiles = dot_tiles(form);
  const auto m = static_cast<double>(form.m), n = static_cast<double>(form.n), k = static_cast<double>(form.k);
  const double packed = static_cast<double>(tiles.count_n) * m * k + static_cast<double>(tiles.count_m) * k * n;
  const double idle = predicted::kThreads / std::min<double>(predicted::kThreads, tiles.slots);  // threads
  return idle * static_cast<double>(form.batch) *
         (predicted::kDotMultiply * m * n * k + predicted::kDotPack * packed + predicted::kDotResult * m * n);
}

// The units of an element of a sorted row.
double sort_units(const SortForm& form) {
  switch (sort_layout(form).selection) {
    case Selection::none: return predicted::kSortPass * sort_passes(form);
    case Selection::digits: return predicted::kSelectPass * (1 + std::min(2, sort_passes(form, kSelectDigitBits)));
    default: return predicted::kSelect;
  }
}

// Elements that a reduction reads in rows shorter than a vector; 0 where none does.
int64_t in_short_rows(const Graph& group) {
  for (const Node& node : group.nodes) {
    if (op_info(node.op).family != Family::reduce) continue;
    const Shape& shape = group.aval(node.inputs[0]).shape;
    const Ints& axes = node.attrs.ints(Attr::axes);
    double row = 1;  // elements that are reduced innermost
    auto axis = std::ssize(shape);
    while (axis > 0 && std::ranges::count(axes, axis - 1) > 0) row *= static_cast<double>(shape[--axis]);
    if (axis > 0 && row > 1 && row < kLanes) return group.aval(node.inputs[0]).size();
  }
  return 0;
}

// The cost of an element that a reduction reads.
double fold_cost(const Graph& group, const Node& node) {
  if (op_info(node.op).family != Family::reduce) return predicted::kFold;
  const Ints& axes = node.attrs.ints(Attr::axes);
  const Shape& shape = group.aval(node.inputs[0]).shape;
  if (axes.size() == shape.size()) return predicted::kFold;
  if (std::ranges::count(axes, 0) > 0) return predicted::kFoldLeading;
  auto last = std::ssize(shape) - 1;
  while (last > 0 && shape[last] == 1) --last;
  return std::ranges::count(axes, last) > 0 ? predicted::kFold : predicted::kFoldMiddle;
}

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

// The same of each value of a group for its results.
std::vector<double> times_computed(const Graph& group) {
  std::vector<double> times(group.values.size(), 1);
  for (auto node = group.nodes.rbegin(); node != group.nodes.rend(); ++node) {
    const double of_operands = times[node->out()] * repeats(group, *node);
    for (const ValueId v : node->inputs) times[v] = std::max(times[v], of_operands);
  }
  return times;
}

// The cost of an element that a scatter updates: a row's position is computed once.
double update_cost(const Graph& group, const Node& node) {
  const auto rows = static_cast<double>(group.aval(node.inputs[1]).size()) /
                    static_cast<double>(std::max<int64_t>(1, group.aval(node.inputs[1]).shape.back()));
  const double in_row = static_cast<double>(group.aval(node.inputs[2]).size()) / std::max(1.0, rows);
  const double alone = element_cost(group, node);
  return std::min(alone, predicted::kUpdate + (alone - predicted::kUpdate) / std::max(1.0, in_row));
}

// What a step reads of each input: no more than its slices, where nothing else reads it.
std::vector<double> bytes_read(const Graph& group) {
  const auto bytes = [&](ValueId v) { return static_cast<double>(group.aval(v).bytes()); };
  std::vector<double> read(group.values.size()), sliced(group.values.size());
  std::vector<bool> whole(group.values.size(), false);
  for (const Node& node : group.nodes) {
    const bool slices = node.op == Op::slice || node.op == Op::dynamic_slice;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (slices && i == 0)
        sliced[v] += bytes(node.out());
      else
        whole[v] = true;
    }
  }
  for (const ValueId v : group.inputs) {
    read[v] = whole[v] || sliced[v] == 0 ? bytes(v) : std::min(bytes(v), sliced[v]);
  }
  return read;
}

// The traffic of a scatter's tables, which are filled with zeros and added up.
double tables_traffic(const PlanStep& step) {
  if (step.kind != PlanStep::Kind::scatter || step.form == ScatterForm::direct) return 0;
  const double elements = static_cast<double>(step.group.aval(step.group.outputs[0]).size());
  return step.partials * elements * static_cast<double>(size_of(step.table_dtype)) *
         (predicted::kRead + predicted::kWrite);
}

}  // namespace

double predict_seconds(const PlanStep& step, const std::vector<double>& share) {
  const Graph& group = step.group;
  if (step.kind == PlanStep::Kind::scan) {
    const Attrs& attrs = group.nodes[0].attrs;
    const double length =
        attrs.has(Attr::length) ? static_cast<double>(attrs.integer(Attr::length)) : predicted::kTrips;
    return length * (step.body ? step.body->predicted_seconds : 0);
  }
  const auto size = [&](ValueId v) { return static_cast<double>(group.aval(v).size()); };
  const auto bytes = [&](ValueId v) { return static_cast<double>(group.aval(v).bytes()); };
  double units = 0, traffic = tables_traffic(step);
  std::vector<double> read = bytes_read(group);
  const int64_t short_rows = in_short_rows(group);
  const std::vector<double> times = times_computed(group);
  for (const Node& node : group.nodes) {
    const Family family = op_info(node.op).family;
    const bool folds = family == Family::reduce || family == Family::argreduce;
    if (family == Family::gather) {
      const double rows =
          size(node.inputs[1]) / static_cast<double>(std::max<int64_t>(1, group.aval(node.inputs[1]).shape.back()));
      const double row_bytes = bytes(node.out()) / std::max(1.0, rows);
      double& table = read[node.inputs[0]];
      table = std::min(table, rows * std::max(predicted::kLine, row_bytes));
      units += predicted::kGather * rows + size(node.out());
      continue;
    }
    if (folds) {
      units += fold_cost(group, node) * size(node.inputs[0]);
      continue;
    }
    const ValueId domain = family == Family::scatter ? node.inputs[2] : node.out();
    const bool in_short_row = short_rows > 0 && group.aval(domain).size() == short_rows;
    const double scalar = in_short_row ? kLanes : 1;
    units += (family == Family::scatter ? update_cost(group, node) : element_cost(group, node)) * size(domain) *
             scalar * times[node.out()];
  }
  // What is updated where it lies is read and written in the rows that are updated.
  double updated = std::numeric_limits<double>::infinity();
  if (step.kind == PlanStep::Kind::scatter && step.operand_in_place) {
    const Node& scatter = *group.def(group.outputs[0]);
    updated = bytes(scatter.inputs[2]);
    double& operand = read[scatter.inputs[0]];
    operand = std::min(operand, updated);
  }
  const auto share_of = [&](int buffer) { return share.empty() ? 1 : share[buffer]; };
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    traffic += predicted::kRead * read[group.inputs[i]] * share_of(step.reads[i]);
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    traffic += predicted::kWrite * std::min(bytes(group.outputs[i]), updated) * share_of(step.writes[i]);
  }
  if (step.kind == PlanStep::Kind::dot) {  // it reads as it packs, and multiplies then
    units += dot_units(dot_form(group, group.nodes[0])) + std::exchange(traffic, 0);
  }
  if (step.kind == PlanStep::Kind::factor) {
    const factor::Form form = factor_form(group, group.nodes[0]);
    units += predicted::kFactorFlop * static_cast<double>(form.batch) * factor::flops(form);
    if (step.host) {
      traffic += (predicted::kRead + predicted::kWrite) * static_cast<double>(step.host->sent + step.host->returned);
    }
  }
  if (step.kind == PlanStep::Kind::cumulative) {
    const CumulativeForm form = cumulative_form(group, group.nodes[0]);
    units += (form.inner == 1 ? predicted::kCumulateRow : predicted::kCumulate) * static_cast<double>(form.size());
  }
  if (step.kind == PlanStep::Kind::sort) {
    const SortForm form = sort_form(group, group.nodes[0]);
    units += sort_units(form) * static_cast<double>(form.rows) * static_cast<double>(form.length);
  }
  return (std::max(units, traffic) / predicted::kThreads + predicted::kStep) / kUnitsPerSecond;
}

void predict(PlanData& plan) {
  plan.predicted_seconds = 0;
  for (const PlanStep& step : plan.steps) plan.predicted_seconds += predict_seconds(step);
}

void predict_body(PlanData& body) {
  std::vector<double> share(body.buffers.size(), 1);
  for (size_t b = 0; b < share.size(); ++b) {
    if (body.buffers[b].offset >= 0) share[b] = share_in_caches(body.arena_bytes);
  }
  body.predicted_seconds = 0;
  for (const PlanStep& step : body.steps) body.predicted_seconds += predict_seconds(step, share);
}

}  // namespace neap::planner
