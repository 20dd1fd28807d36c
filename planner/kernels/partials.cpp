#include "planner/kernels/partials.h"

#include <algorithm>

#include "planner/kernels/convolution.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/dot_scratch.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/fourier.h"
#include "planner/kernels/sort.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Partial results let threads work apart and take memory. These numbers decide bits, and no measurement of them is
// recorded: neap-cost's "sum", "scatter" and "scatter of cos" take the time, of a GPU `neap-bench --device vulkan`.
constexpr int64_t kReducePart = 65536;               // elements of one partial result, at least
constexpr int64_t kReducePartGpu = 16384;            // the same on a GPU
constexpr int64_t kFewColumns = 512;                 // results side by side that are too few for threads to share out
constexpr int64_t kRowsOfPart = 64;                  // of a partial result of columns, at least
constexpr size_t kTableBytes = size_t{32} << 20;     // that any plan may spend on tables
constexpr int64_t kFewAdditions = int64_t{1} << 22;  // additions from which on four tables are worth it, else two
constexpr int64_t kPartInOrder = 4096;               // rows that one thread of a GPU adds in order
constexpr int64_t kMaxPartsInOrder = 256;            // tables of a scatter whose rows are added in order on a GPU
constexpr int64_t kMaxCount = int64_t{1} << 32;      // rows that a count of u32 cannot hold

bool is_argreduce(Op op) { return op_info(op).family == Family::argreduce; }

// Whether the reduction of an array of this shape goes down columns: the elements of one result lie apart.
bool goes_down(const Node& node, const Shape& shape) {
  for (int64_t axis = std::ssize(shape); axis-- > 0;) {
    if (shape[axis] > 1)
      return std::ranges::find(node.attrs.ints(Attr::axes), axis) == node.attrs.ints(Attr::axes).end();
  }
  return false;
}

int reduce_partials(const Graph& group, const Target& target) {
  int64_t operand = 0, kept = 0, rows = 0;
  bool columns = !target.gpu;
  for (const ValueId v : group.outputs) {
    const Node& node = *group.def(v);
    if (is_argreduce(node.op)) return 1;  // a partial argmax would need its index beside it
    if (node.inputs.size() == 2 || has_mark(node, Mark::short_product)) return 1;  // in order; of few terms
    operand = group.aval(node.inputs[0]).size();
    kept = group.aval(v).size();
    rows = std::max(rows, whole_rows(group, node));
    // Of f64 the order of a sum shows, and that of slices is the whole's.
    columns = columns && goes_down(node, group.aval(node.inputs[0]).shape) && group.aval(v).dtype != DType::f64;
  }
  if (kept == 0 || rows >= (columns ? kFewColumns : kManyRows)) return 1;
  if (rows >= kManyRows || (columns && rows > 1)) {
    const int64_t most = std::min<int64_t>(operand / kept / kRowsOfPart, target.reduce_partials);
    return static_cast<int>(std::clamp<int64_t>(operand / kReducePart, 1, std::max<int64_t>(1, most)));
  }
  const int64_t part = target.gpu ? kReducePartGpu : kReducePart;
  return static_cast<int>(std::clamp<int64_t>(operand / kept / part, 1, target.reduce_partials));
}

bool is_splat(const Graph& group, ValueId v) {
  while (const Node* node = group.def(v)) {
    if (node->op == Op::constant) return true;
    if (node->op == Op::broadcast_in_dim && group.aval(node->inputs[0]).size() == 1) return true;
    if (node->op != Op::reshape && node->op != Op::broadcast_in_dim) return false;
    v = node->inputs[0];
  }
  return false;
}

void choose_scatter(PlanStep& step, size_t table_budget, const Target& target) {
  step.form = ScatterForm::direct;
  step.partials = 1;
  if (step.unique_indices) return;
  const Graph& group = step.group;
  const Node& node = *group.def(group.outputs[0]);
  const Aval& out = group.aval(node.out());
  const Aval& updates = group.aval(node.inputs[2]);
  const Aval& indices = group.aval(node.inputs[1]);
  const int64_t own_rows = index_rows(indices);
  // A slice is added up as the whole is: the same form, and no part ends where the whole has none.
  const bool sliced = node.attrs.has(Attr::full_shape);
  const Shape& whole = sliced ? node.attrs.ints(Attr::full_shape) : updates.shape;
  const int64_t rows = sliced ? element_count({whole.begin(), whole.begin() + indices.ndim() - 1}) : own_rows;
  const int64_t additions = element_count(whole);
  const double share = static_cast<double>(updates.size()) / static_cast<double>(std::max<int64_t>(1, additions));
  const double results = static_cast<double>(out.size()) / (sliced && share > 0 ? share : 1);
  if (sliced) table_budget = kTableBytes;
  if (target.gpu && node.op == Op::scatter_set && rows > 1 && rows < kMaxCount - 1) {
    step.form = ScatterForm::winners;
    step.table_dtype = DType::u32;
    return;
  }
  const bool counts = node.op == Op::scatter_add && is_splat(group, node.inputs[2]) && is_float(out.dtype);
  step.in_order = target.gpu && target.deterministic && is_float(out.dtype) && !(counts && rows >= kDirectRows) &&
                  (node.op == Op::scatter_add || node.op == Op::scatter_mul);
  if (node.op != Op::scatter_add || rows < kDirectRows || has_mark(node, Mark::in_order)) return;
  step.form = counts ? ScatterForm::counts : ScatterForm::tables;
  step.table_dtype = counts ? DType::u32 : is_float(out.dtype) ? DType::f64 : out.dtype;
  const auto least = counts ? static_cast<int>(rows / kMaxCount + 1) : 1;  // a count fits u32
  if (target.gpu && !target.wide_atomics && !counts && !step.in_order) {
    if (!is_float(out.dtype) || size_of(out.dtype) > 2) {
      step.form = ScatterForm::direct;
      return;
    }
    step.table_dtype = DType::f32;  // a half stops growing after few additions
  }
  const bool cheap_tables = counts || !is_float(out.dtype);
  const int wanted = step.in_order ? static_cast<int>(std::min(rows / kPartInOrder, kMaxPartsInOrder))
                     : target.gpu
                         ? std::max(least, counts && static_cast<double>(rows) >= results ? target.count_tables : 1)
                     : cheap_tables && additions >= kFewAdditions ? 4
                                                                  : 2;
  for (step.partials = wanted; step.partials >= least; --step.partials) {
    const double bytes = static_cast<double>(tables_of(step).in_scratch) * results * size_of(step.table_dtype);
    if (bytes > static_cast<double>(table_budget)) continue;
    if (rows != own_rows && is_float(out.dtype) && !counts && !step.in_order) step.partials = 1;
    return;
  }
  step.form = ScatterForm::direct;
  step.partials = 1;
}

}  // namespace

DType accumulator_of(const Graph& graph, const Node& reduction) {
  DType element = graph.aval(reduction.inputs[0]).dtype;
  if (element == DType::f16 || element == DType::bf16) element = DType::f32;
  if (reduction.op != Op::reduce_sum && reduction.op != Op::reduce_prod) return element;
  if (has_mark(reduction, Mark::short_product)) return element;
  if (is_float(element)) return DType::f64;
  // Integers wrap: more bits than the result has change none of it.
  const bool is_narrow = is_integer(element) && size_of(element) <= 4;
  return is_signed(element) ? (is_narrow ? DType::i32 : DType::i64) : is_narrow ? DType::u32 : DType::u64;
}

bool adds_in_order(const Graph& graph, const Node& reduction) {
  if (!has_mark(reduction, Mark::short_product)) return false;
  const AttrValue* full = reduction.attrs.find(Attr::full_shape);
  return goes_down(reduction, full ? std::get<Ints>(*full) : graph.aval(reduction.inputs[0]).shape);
}

ScatterTables tables_of(const PlanStep& step) {
  if (step.form == ScatterForm::direct) return {.dtype = step.table_dtype};
  if (step.form == ScatterForm::winners) return {.dtype = DType::u32, .in_scratch = 1};
  ScatterTables tables{.dtype = step.form == ScatterForm::counts ? DType::u32 : step.table_dtype};
  const DType out = step.group.aval(step.group.outputs[0]).dtype;
  // Sums go on top of an operand that lies there; counts cannot.
  tables.first_in_output = size_of(tables.dtype) == size_of(out) && !(step.operand_in_place && tables.dtype != out);
  tables.in_scratch = step.partials - (tables.first_in_output ? 1 : 0);
  return tables;
}

size_t table_budget(size_t held_bytes) { return std::max(kTableBytes, held_bytes / 8); }

int64_t whole_rows(const Graph& graph, const Node& reduction) {
  if (!reduction.attrs.has(Attr::full_shape)) return graph.aval(reduction.out()).size();
  const Ints &whole = reduction.attrs.ints(Attr::full_shape), &axes = reduction.attrs.ints(Attr::axes);
  int64_t rows = 1;
  for (int64_t axis = 0; axis < std::ssize(whole); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) rows *= whole[axis];
  }
  return rows;
}

void choose_partials(PlanStep& step, size_t table_budget, const Target& target) {
  if (step.kind == PlanStep::Kind::reduce) step.partials = reduce_partials(step.group, target);
  if (step.kind == PlanStep::Kind::scatter) choose_scatter(step, table_budget, target);
}

std::vector<Aval> scratch_of(const PlanStep& step, const Target& target) {
  std::vector<Aval> scratch;
  const Graph& group = step.group;
  switch (step.kind) {
    case PlanStep::Kind::reduce:
      if (step.partials == 1) break;
      for (const ValueId v : group.outputs) {
        const Node& node = *group.def(v);
        scratch.push_back({{step.partials, group.aval(v).size()}, accumulator_of(group, node)});
      }
      break;
    case PlanStep::Kind::scatter: {
      const ScatterTables tables = tables_of(step);
      const int64_t elements = group.aval(group.outputs[0]).size();
      if (tables.in_scratch > 0) scratch.push_back({{tables.in_scratch, elements}, tables.dtype});
      break;
    }
    case PlanStep::Kind::dot:
      if (target.gpu) break;
      scratch.push_back({{static_cast<int64_t>(dot_scratch_bytes(dot_form(group, group.nodes[0])))}, DType::u8});
      break;
    case PlanStep::Kind::convolution:
      scratch.push_back(
          {{static_cast<int64_t>(convolution_scratch_bytes(convolution_form(group, group.nodes[0])))}, DType::u8});
      break;
    case PlanStep::Kind::fourier: {
      const auto bytes = static_cast<int64_t>(fourier_layout(fourier_form(group, group.nodes[0])).scratch_bytes());
      scratch.push_back({{bytes}, DType::u8});
      break;
    }
    case PlanStep::Kind::sort: return sort_scratch(sort_form(group, group.nodes[0]), target.gpu);
    case PlanStep::Kind::cumulative: return cumulative_scratch(cumulative_form(group, group.nodes[0]), target.gpu);
    case PlanStep::Kind::factor: {
      if (target.gpu && !target.host_memory) break;
      const auto bytes = static_cast<int64_t>(factor::layout(factor_form(group, group.nodes[0])).bytes());
      if (bytes > 0) scratch.push_back({{bytes}, DType::u8});
      break;
    }
    case PlanStep::Kind::scan:
      if (step.body && step.body->arena_bytes > 0) {
        scratch.push_back({{static_cast<int64_t>(step.body->arena_bytes)}, DType::u8});
      }
      break;
    case PlanStep::Kind::host:
    case PlanStep::Kind::map: break;
  }
  return scratch;
}

}  // namespace neap::planner
