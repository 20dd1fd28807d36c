#include "planner/place/account.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "planner/kernels/cost.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/sort.h"
#include "planner/place/place.h"
#include "planner/place/place_split.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kCacheBytes = size_t{16} << 20;  // what lies in as little stays in caches,
constexpr double kCachedShare = 0.5;              // and is as much cheaper to read and write
constexpr size_t kNear = 10'000;                  // of the bound: how far from it will do, nearly

bool is_input(const PlanBuffer& buffer) {
  return buffer.storage == Storage::argument || buffer.storage == Storage::captured;
}

// Which buffers lie in the arena, and how they are placed.
struct Arena {
  std::vector<int> members;
  std::vector<Block> blocks;
  size_t beside = 0;                                  // bytes held outside it
  size_t total = std::numeric_limits<size_t>::max();  // once it is laid out
  Placement placement;
  std::vector<size_t> allocations;  // where it is more than one

  size_t bound() const { return beside + live_bytes_bound(blocks); }
  // In allocations of at most so many bytes; 0: in one.
  void lay_out(size_t largest, Placing placing, SharedPlacing* shared) {
    const size_t least = live_bytes_bound(blocks);
    placement = place(blocks, {.enough = placing == Placing::near ? least + least / kNear : 0, .shared = shared});
    if (largest > 0 && placement.extent > largest) {
      SplitPlacement split = place_split(blocks, largest);
      placement.offsets = std::move(split.offsets);
      placement.extent = std::accumulate(split.extents.begin(), split.extents.end(), size_t{0});
      allocations = std::move(split.extents);
    }
    total = beside + placement.extent;
  }

  // As low as could be, all over each other.
  void lay_out_nowhere() {
    placement.offsets.assign(blocks.size(), 0);
    placement.extent = live_bytes_bound(blocks);
    total = beside + placement.extent;
  }

  void add(const PlanData& plan, int b, size_t alignment) {
    const PlanBuffer& buffer = plan.buffers[b];
    members.push_back(b);
    blocks.push_back({buffer.first, buffer.last, (buffer.bytes + alignment - 1) / alignment * alignment});
  }
};

Arena collect(const PlanData& plan, bool with_outputs, const Target& target) {
  Arena arena;
  for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.alias_of >= 0 || is_input(buffer) || buffer.last < buffer.first) continue;
    if (buffer.storage != Storage::output || with_outputs) arena.add(plan, b, target.alignment);
  }
  return arena;
}

// Of what lies there, not of what alignment adds.
size_t live_bound(const PlanData& plan, const Arena& arena) {
  std::vector<Block> blocks = arena.blocks;
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].bytes = plan.buffers[arena.members[i]].bytes;
  return live_bytes_bound(blocks);
}

void use_arena(PlanData& plan, const Arena& arena) {
  plan.arena_bytes = arena.placement.extent;
  plan.arena_blocks = arena.allocations;
  for (size_t i = 0; i < arena.members.size(); ++i) {
    plan.buffers[arena.members[i]].offset = arena.placement.offsets[i];
  }
  for (PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0) {
      const int64_t whole = plan.buffers[buffer.alias_of].offset;
      buffer.offset = whole < 0 ? -1 : whole + buffer.alias_offset;
    }
  }
}

size_t sum_of(const PlanData& plan, Storage storage) {
  size_t bytes = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.storage == storage && buffer.alias_of < 0) bytes += buffer.bytes;
  }
  return bytes;
}

// bytes_added and bytes_live of each step, `held` bytes being there throughout. Holes that placing could not fill count
// at every step, so that the peak step's bytes are the peak.
void count_steps(PlanData& plan, size_t held) {
  const int count = static_cast<int>(plan.steps.size());
  std::vector<size_t> added(count, 0), starts(count + 1, 0), stops(count + 1, 0);
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.alias_of >= 0 || is_input(buffer) || buffer.first >= count) continue;
    added[buffer.first] += buffer.bytes;
    if (!plan.naive && buffer.offset < 0) continue;  // an output of its own: held throughout
    starts[buffer.first] += buffer.bytes;
    stops[std::min(buffer.last, count - 1) + 1] += buffer.bytes;
  }
  size_t live = 0, most = 0;
  for (int s = 0; s < count; ++s) {
    live = live + starts[s] - stops[s];
    most = std::max(most, live);
    plan.steps[s].bytes_added = added[s];
    plan.steps[s].bytes_live = held + live;
  }
  const size_t holes = plan.naive ? 0 : plan.arena_bytes - most;
  for (PlanStep& step : plan.steps) step.bytes_live += holes;
}

// Elements that a reduction reads in rows shorter than a vector; 0 where none does.
int64_t in_short_rows(const Graph& group) {
  for (const Node& node : group.nodes) {
    if (op_info(node.op).family != Family::reduce) continue;
    const Shape& shape = group.aval(node.inputs[0]).shape;
    const Ints& axes = node.attrs.ints(Attr::axes);
    double row = 1;  // what is folded innermost
    auto axis = std::ssize(shape);
    while (axis > 0 && std::ranges::count(axes, axis - 1) > 0) row *= static_cast<double>(shape[--axis]);
    if (axis > 0 && row > 1 && row < kLanes) return group.aval(node.inputs[0]).size();
  }
  return 0;
}

// Of an element that a reduction reads.
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

// Of a scatter's tables, which are filled with zeros and added up.
double tables_traffic(const PlanStep& step) {
  if (step.kind != PlanStep::Kind::scatter || step.form == ScatterForm::direct) return 0;
  const double elements = static_cast<double>(step.group.aval(step.group.outputs[0]).size());
  return step.parts * elements * static_cast<double>(size_of(step.table_dtype)) *
         (predicted::kRead + predicted::kWrite);
}

// Of a body: what lies in a small arena is in the caches when the next step reads it.
void predict_cached(PlanData& body) {
  std::vector<double> share(body.buffers.size(), 1);
  for (size_t b = 0; b < share.size(); ++b) {
    if (body.buffers[b].offset >= 0 && body.arena_bytes <= kCacheBytes) share[b] = kCachedShare;
  }
  body.predicted_seconds = 0;
  for (const PlanStep& step : body.steps) body.predicted_seconds += predict_seconds(step, share);
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
  std::vector<double> read(group.values.size());  // bytes of each input
  for (const ValueId v : group.inputs) read[v] = bytes(v);
  const int64_t short_rows = in_short_rows(group);
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
    const ValueId domain = node.op == Op::scatter_add ? node.inputs[2] : node.out();
    const bool scattered = step.kind == PlanStep::Kind::scatter && family == Family::elementwise;
    const bool in_short_row = short_rows > 0 && group.aval(domain).size() == short_rows;
    const double scalar = scattered ? predicted::kScatterScalar : in_short_row ? kLanes : 1;
    units += element_cost(group, node) * size(domain) * scalar;
  }
  const auto share_of = [&](int buffer) { return share.empty() ? 1 : share[buffer]; };
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    traffic += predicted::kRead * read[group.inputs[i]] * share_of(step.reads[i]);
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    traffic += predicted::kWrite * bytes(group.outputs[i]) * share_of(step.writes[i]);
  }
  if (step.kind == PlanStep::Kind::dot) {
    const DotForm form = dot_form(group, group.nodes[0]);
    units += predicted::kDotMultiply * static_cast<double>(form.batch) * static_cast<double>(form.m) *
             static_cast<double>(form.n) * static_cast<double>(form.k);
  }
  if (step.kind == PlanStep::Kind::factor) {
    const factor::Form form = factor_form(group, group.nodes[0]);
    units += predicted::kFactorFlop * static_cast<double>(form.batch) * factor::flops(form);
    if (step.host) {
      traffic += (predicted::kRead + predicted::kWrite) * static_cast<double>(step.host->sent + step.host->returned);
    }
  }
  if (step.kind == PlanStep::Kind::sort) {
    const SortForm form = sort_form(group, group.nodes[0]);
    units +=
        predicted::kSortPass * sort_passes(form) * static_cast<double>(form.rows) * static_cast<double>(form.length);
  }
  return (std::max(units, traffic) / predicted::kThreads + predicted::kStep) / kUnitsPerSecond;
}

void predict(PlanData& plan) {
  plan.predicted_seconds = 0;
  for (const PlanStep& step : plan.steps) plan.predicted_seconds += predict_seconds(step);
}

void account(PlanData& plan, const Target& target, Placing placing, SharedPlacing* shared) {
  predict(plan);
  for (PlanBuffer& buffer : plan.buffers) buffer.offset = -1;
  const size_t inputs = sum_of(plan, Storage::argument) + sum_of(plan, Storage::captured);
  const size_t outputs = sum_of(plan, Storage::output);
  Arena slab = collect(plan, true, target);
  const size_t bound = slab.bound();
  plan.lower_bound_bytes = inputs + (target.alignment > 64 ? live_bound(plan, slab) : bound);
  if (plan.naive) {
    count_steps(plan, inputs);
    plan.peak_bytes = plan.lower_bound_bytes;
    return;
  }
  Arena apart = collect(plan, false, target);
  apart.beside = outputs;
  const size_t apart_bound = apart.bound(), largest = target.largest_allocation;
  const bool slab_first = target.carves && bound < apart_bound;
  if (placing == Placing::nowhere) {
    plan.slab = slab_first;
    (slab_first ? slab : apart).lay_out_nowhere();
  } else {
    // Placing can take long: what the other's bytes rule out is not placed.
    if (slab_first) slab.lay_out(largest, placing, shared);
    if (slab.total >= apart_bound) apart.lay_out(largest, placing, shared);
    if (target.carves && !slab_first && apart.total > bound) slab.lay_out(largest, placing, shared);
    plan.slab = slab.total < apart.total;
  }
  use_arena(plan, plan.slab ? slab : apart);
  const size_t held = inputs + (plan.slab ? 0 : outputs);
  plan.peak_bytes = held + plan.arena_bytes;
  count_steps(plan, held);
}

size_t held_beside(const PlanData& plan, const Target& target) {
  return sum_of(plan, Storage::argument) + sum_of(plan, Storage::captured) +
         (target.carves ? 0 : sum_of(plan, Storage::output));
}

void account_body(PlanData& body, int num_carry, const Target& target, SharedPlacing* shared) {
  const int last = std::max(0, static_cast<int>(body.steps.size()) - 1);
  for (int j = 0; j < num_carry; ++j) {
    PlanBuffer& carry = body.buffers[body.outputs[j]];
    if (carry.alias_of >= 0) continue;
    carry.storage = Storage::intermediate;  // its bytes are copied out after the last step
    carry.last = last;
  }
  body.slab = true;
  Arena arena = collect(body, false, target);
  arena.lay_out(0, Placing::best, shared);  // it lies in the one outside, in one piece
  use_arena(body, arena);
  body.lower_bound_bytes = live_bound(body, arena);
  body.peak_bytes = body.arena_bytes;
  count_steps(body, 0);
  predict_cached(body);
}

}  // namespace neap::planner
