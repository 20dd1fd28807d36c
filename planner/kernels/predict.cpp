#include "planner/kernels/predict.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/buffer.h"
#include "planner/kernels/convolution.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/fourier.h"
#include "planner/kernels/sort.h"
#include "planner/kernels/traffic.h"
#include "planner/plan/queries.h"
#include "trace/graph/collective.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Half as many numbers of f64 are in a vector.
double width_of(DType dtype) { return size_of(dtype) == 8 ? 2 : 1; }

// The units of a product: its arithmetic, what it packs (each tile packs its rows of both operands), and its result,
// which is added to once for every block of terms.
double dot_units(const DotForm& form, const DotTiles& tiles) {
  const auto m = static_cast<double>(form.m), n = static_cast<double>(form.n), k = static_cast<double>(form.k);
  const double packed = static_cast<double>(tiles.count_n) * m * k + static_cast<double>(tiles.count_m) * k * n;
  return static_cast<double>(form.batch) *
         (width_of(form.dtype) * (predicted::kDotMultiply * m * n * k + predicted::kDotPack * packed) +
          predicted::kDotResult * m * n);
}

// The same of transforms: points of passes by a radix take as long as its sums are many.
double fourier_units(const FourierForm& form) {
  const FourierLayout layout = fourier_layout(form);
  double passes = 2;  // what reads and writes
  for (const int64_t n : {layout.rows, layout.columns}) {
    for (const int radix : radices_of(n)) passes += radix > 8 ? radix / 4.0 : 1;
  }
  const double lanes = static_cast<double>(fourier_lanes(form.dtype)) / predicted::kFourierLanes;
  const double points = static_cast<double>(form.outer * form.points()) * static_cast<double>(form.inner);
  return predicted::kFourierPass * passes * points / lanes;
}

// The same of a convolution, whose tiles multiply what lies between their columns as well.
double convolution_units(const ConvolutionForm& form, const ConvolutionTiles& tiles) {
  const double terms = static_cast<double>(form.in) * static_cast<double>(form.window_size());
  const double sums = static_cast<double>(tiles.out) * static_cast<double>(tiles.run * tiles.runs);
  const double blocks = terms / static_cast<double>(tiles.block.terms(form));
  const double windows = static_cast<double>(tiles.by_group ? tiles.batch : 1) * static_cast<double>(tiles.out);
  const double packed = blocks * static_cast<double>(tiles.slab) + windows * terms;
  return static_cast<double>(tiles.count) *
         (predicted::kTile +
          width_of(form.dtype) * (predicted::kDotMultiply * sums * terms + predicted::kDotPack * packed) +
          predicted::kDotResult * sums);
}

// The units of an element of a sorted row. A pass writes elements to as many places as there are digits.
double sort_units(const SortForm& form, const predicted::Machine& machine) {
  switch (sort_layout(form).selection) {
    case Selection::none: {
      const auto element = static_cast<double>(size_of(form.dtype) + (form.indices ? sizeof(int32_t) : 0));
      const double far = byte_cost(2 * element * static_cast<double>(form.length), machine).write;
      const double moved = predicted::kScattered * element * (far - byte_cost(0, machine).write);
      return sort_passes(form) * (predicted::kSortPass + moved / machine.unit);
    }
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

// The last axis along which there is more than one element; else the first, -1 without axes.
int64_t innermost(const Shape& shape) {
  auto last = std::ssize(shape) - 1;
  while (last > 0 && shape[last] == 1) --last;
  return last;
}

// The cost of an element that a reduction reads.
double fold_cost(const Graph& group, const Node& node) {
  if (op_info(node.op).family != Family::reduce) return predicted::kFold;
  const Ints& axes = node.attrs.ints(Attr::axes);
  const Shape& shape = group.aval(node.inputs[0]).shape;
  const auto folds = [&](int64_t axis) { return std::ranges::count(axes, axis) > 0; };
  return shape.empty() || folds(0) || folds(innermost(shape)) ? predicted::kFold : predicted::kFoldMiddle;
}

// The cost of an element that a scatter updates: a row's position is computed once.
double update_cost(const Graph& group, const Node& node) {
  const auto rows = static_cast<double>(index_rows(group.aval(node.inputs[1])));
  const double in_row = static_cast<double>(group.aval(node.inputs[2]).size()) / std::max(1.0, rows);
  return predicted::kUpdate + (predicted::kScatter - predicted::kUpdate) / std::max(1.0, in_row);
}

// Tells whether neighbours in the result are from other rows of the operand.
bool moves_rows(const Graph& group, const Node& node) {
  if (node.op != Op::transpose) return false;
  const Ints& order = node.attrs.ints(Attr::permutation);
  const int64_t last = innermost(group.aval(node.out()).shape);
  return last >= 0 && innermost(group.aval(node.inputs[0]).shape) > order[last];
}

// Tells whether keys are made of other keys, and written.
bool stores_keys(const Graph& group, const Node& node) {
  return (node.op == Op::random_split || node.op == Op::random_fold_in) && group.aval(node.inputs[0]).ndim() > 1 &&
         std::ranges::count(group.outputs, node.out()) > 0;
}

// The units of a word of such a key.
double key_word(const Node& node) {
  return node.op == Op::random_split ? predicted::kSplitWord : predicted::kFoldedWord;
}

// The units of a factorization: its arithmetic, most of it in products, and what it does for each element of the
// matrix.
double factor_units(const factor::Form& form, const predicted::Machine& machine) {
  const auto m = static_cast<double>(form.m), n = static_cast<double>(form.n);
  const double flops = factor::flops(form) * machine.product / machine.unit;
  const auto cost = [&](double flop, double element) { return flop * flops + element * m * n; };
  switch (form.kind) {
    case factor::Kind::cholesky: return cost(0.8, 300);
    case factor::Kind::cholesky_tangent: return cost(0.6, 400);
    case factor::Kind::cholesky_cotangent: return cost(0.95, 560);
    case factor::Kind::solve: return cost(0.6, 160) + 25 * m * m;
    case factor::Kind::lu: return cost(0.7, 800);
    case factor::Kind::qr: return cost(0.85, 1600) + 4e4 * n;
    case factor::Kind::eigh: return cost(0.45, 4500) + 6e4 * n;
    case factor::Kind::svd: return cost(1, 5000) + 1.4e5 * n;
  }
  return 0;
}

// The units of what a group computes, element by element, on a machine.
double group_units(const Graph& group, const std::vector<double>& times, const predicted::Machine& machine) {
  const auto size = [&](ValueId v) { return static_cast<double>(group.aval(v).size()); };
  const int64_t short_rows = in_short_rows(group);
  double units = 0, splits = 0;
  for (const Node& node : group.nodes) {
    const Family family = op_info(node.op).family;
    if (node.op == Op::random_split && !stores_keys(group, node)) {
      splits += element_cost(group, node) * size(node.out()) * times[node.out()];
      continue;
    }
    if (family == Family::gather) {
      const auto rows = static_cast<double>(index_rows(group.aval(node.inputs[1])));
      units += (predicted::kGather * rows + size(node.out())) * times[node.out()];
      continue;
    }
    if (family == Family::reduce || family == Family::argreduce) {
      units += fold_cost(group, node) * size(node.inputs[0]) * times[node.out()];
      continue;
    }
    const ValueId domain = family == Family::scatter ? node.inputs[2] : node.out();
    const bool in_short_row = short_rows > 0 && group.aval(domain).size() == short_rows;
    const double cost = family == Family::scatter  ? update_cost(group, node)
                        : moves_rows(group, node)  ? predicted::kTranspose
                        : stores_keys(group, node) ? key_word(node) * machine.split / machine.unit
                                                   : element_cost(group, node);
    units += cost * size(domain) * (in_short_row ? kLanes : 1) * times[node.out()];
  }
  return machine.unit * units + machine.split * splits;
}

double trips(const Node& loop) {
  return loop.attrs.has(Attr::length) ? static_cast<double>(loop.attrs.integer(Attr::length)) : predicted::kTrips;
}

// Of a step that is no loop.
double predict_seconds(const PlanStep& step, const StepTraffic& bytes, const predicted::Machine& machine) {
  const Graph& group = step.group;
  const ByteCost of_tables = byte_cost(bytes.tables, machine);
  double units = 0, products = 0, traffic = bytes.tables * (of_tables.read + of_tables.write) + bytes.at_places;
  for (size_t i = 0; i < bytes.read.size(); ++i) traffic += bytes.read[i] * bytes.read_costs[i];
  for (size_t i = 0; i < bytes.written.size(); ++i) traffic += bytes.written[i] * bytes.write_costs[i];
  double threads = predicted::kThreads;  // that have something to do
  if (step.kind == PlanStep::Kind::dot) {
    const DotForm form = dot_form(group, group.nodes[0]);
    const DotTiles tiles = dot_tiles(form);
    products += dot_units(form, tiles);
    threads = std::min<double>(threads, tiles.slots);
  }
  if (step.kind == PlanStep::Kind::convolution) {
    const ConvolutionForm form = convolution_form(group, group.nodes[0]);
    const ConvolutionTiles tiles = convolution_tiles(form);
    products += convolution_units(form, tiles);
    threads = std::min<double>(threads, tiles.slots);
  }
  if (step.kind == PlanStep::Kind::factor) {
    const factor::Form form = factor_form(group, group.nodes[0]);
    units += static_cast<double>(form.batch) * factor_units(form, machine);
    if (step.host) {
      const ByteCost in_memory = byte_cost(std::numeric_limits<double>::infinity(), machine);
      traffic += static_cast<double>(step.host->sent + step.host->returned) * (in_memory.read + in_memory.write);
    }
  }
  if (step.kind == PlanStep::Kind::cumulative) {
    const CumulativeForm form = cumulative_form(group, group.nodes[0]);
    units += (form.inner == 1 ? predicted::kCumulateRow : predicted::kCumulate) * static_cast<double>(form.size());
  }
  if (step.kind == PlanStep::Kind::fourier) units += fourier_units(fourier_form(group, group.nodes[0]));
  if (step.kind == PlanStep::Kind::sort) {
    const SortForm form = sort_form(group, group.nodes[0]);
    units += sort_units(form, machine) * static_cast<double>(form.rows) * static_cast<double>(form.length);
  }
  units = machine.unit * units + machine.product * products + group_units(group, bytes.times, machine);
  const bool packs = step.kind == PlanStep::Kind::dot || step.kind == PlanStep::Kind::convolution;
  if (packs) units += std::exchange(traffic, 0);  // they read as they pack, and multiply then
  const double all = std::max(units, traffic) + predicted::kBeside * std::min(units, traffic);
  const double shared = all / threads + machine.unit * predicted::kFork;
  return (std::min(all, shared) + machine.unit * predicted::kStep) / predicted::kUnitsPerSecond;
}

// What a body holds, beside what its loop does.
size_t held_by(const PlanData& body) {
  size_t held = body.arena_bytes;
  for (const PlanBuffer& b : body.buffers) {
    if (b.alias_of < 0 && b.offset < 0) held += b.bytes;
  }
  return held;
}

double sum_of(const std::vector<double>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

// The seconds of steps one after the other: of messages that are under way meanwhile, what is left of them.
void hide_messages(const PlanData& plan, std::vector<double>& seconds) {
  double now = 0, sent = 0;  // when the messages so far are
  std::map<int, double> ends;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const double messages = message_seconds(step);
    if (step.phase == PlanStep::Phase::end) {
      seconds[s] = std::max(0.0, ends.at(step.writes[0]) - now);
    } else if (messages > 0) {
      sent = std::max(sent, now) + messages;
      const bool begins = step.phase == PlanStep::Phase::begin;
      if (begins) ends[step.writes[0]] = sent;
      seconds[s] = begins ? predicted::kHandOver : seconds[s] + sent - now;
    }
    now += seconds[s];
  }
}

// Without another machine the times of bodies are those that they were planned with.
std::vector<double> steps_on(const predicted::Machine* other, const PlanData& plan, size_t held,
                             const CountedLoop* loop) {
  const predicted::Machine machine = other ? *other : predicted::Machine();
  const std::vector<StepTraffic> traffic = plan_traffic(plan, held, loop, machine);
  const auto body_seconds = [&](const PlanStep& step) {
    if (!other) return step.body->predicted_seconds;
    const CountedLoop inner(step.group.nodes[0].attrs);
    return sum_of(steps_on(other, *step.body, held_by(*step.body), &inner));
  };
  std::vector<double> seconds;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.kind == PlanStep::Kind::scan) {
      seconds.push_back(step.body ? trips(step.group.nodes[0]) * body_seconds(step) : 0);
    } else {
      seconds.push_back(predict_seconds(step, traffic[s], machine));
    }
  }
  hide_messages(plan, seconds);
  return seconds;
}

}  // namespace

double message_seconds(const PlanStep& step) {
  if (step.kind != PlanStep::Kind::host) return 0;
  const Node& node = step.group.nodes[0];
  const std::vector<Aval> operands = step.group.avals(node.inputs);
  if (!sends_messages(node, operands)) return 0;
  const int64_t ranks = node.attrs.mesh_axis()->size;
  return predicted::kExchange * static_cast<double>(exchanges(node.op, operands[0], ranks)) +
         predicted::kSentByte * static_cast<double>(sent_bytes(node.op, operands[0], ranks));
}

std::vector<double> predict_steps(const PlanData& plan, size_t held, const CountedLoop* loop) {
  return steps_on(nullptr, plan, held, loop);
}

double predict_on(const predicted::Machine& machine, const PlanData& plan) {
  return sum_of(steps_on(&machine, plan, plan.peak_bytes, nullptr));
}

double move_seconds(const PlanData& plan) {
  if (!plan.slab || plan.naive) return 0;
  std::set<int> roots;
  for (const int b : plan.outputs) roots.insert(plan.root(b));
  std::vector<Piece> results;
  for (const int b : roots) {
    const PlanBuffer& buffer = plan.buffers[b];
    if (buffer.offset >= 0 && buffer.bytes > 0) results.push_back({static_cast<size_t>(buffer.offset), buffer.bytes});
  }
  const Moves moves = moves_of_carve(plan.arena_bytes, results);
  return predicted::kMove * static_cast<double>(moves.runs) + predicted::kMovedByte * static_cast<double>(moves.bytes);
}

void predict(PlanData& plan, size_t held) { plan.predicted_seconds = sum_of(predict_steps(plan, held)); }

void predict_body(PlanData& body, const CountedLoop& loop) {
  body.predicted_seconds = sum_of(predict_steps(body, held_by(body), &loop));
}

}  // namespace neap::planner
