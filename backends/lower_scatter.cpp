// A scatter's outer loop is over the rows of the indices and its inner one over the window of each, or, for small
// windows, all updates are one flat loop.
//
//   direct  the operand's elements, unless they are there already; then the updates, in order, straight into the
//   output;
//           in any order where no element is updated twice, and in one pass where each is updated once
//   tables  partial sums of fixed ranges of rows in tables that start at zero; then operand + sum of the tables
//   counts  the same with counts of rows; then operand + c * sum of the counts, rounded once
//   winners the operand's elements; a table of the last row that updates each element; then those rows, in any order
#include <cmath>

#include "backends/lower.h"
#include "core/check.h"
#include "planner/kernels/partials.h"
#include "trace/graph/op_table.h"

namespace neap::backends {
namespace {

using planner::ScatterForm;
using scalar::Dag;
using scalar::Opcode;
using scalar::X;
using tracing::Attr;
using tracing::Graph;
using tracing::IndexMode;
using tracing::Node;
using tracing::Op;

// Elements from which on a window has a loop of its own: it computes the row's place once, but its vectors are short.
// No measurement is recorded; neap-cost's "scatter rows" has windows of 64.
constexpr int64_t kWindowLoop = 8;

Combine combine_of(Op op) {
  switch (op) {
    case Op::scatter_set: return Combine::set;
    case Op::scatter_add: return Combine::add;
    case Op::scatter_mul: return Combine::mul;
    case Op::scatter_min: return Combine::min;
    case Op::scatter_max: return Combine::max;
    default: break;
  }
  NEAP_CHECK(false, "{} is no scatter", tracing::name(op));
  __builtin_unreachable();
}

class ScatterStep {
 public:
  explicit ScatterStep(const planner::PlanStep& step)
      : step_(step),
        graph_(step.group),
        node_(scatter_node()),
        operand_(node_.inputs[0]),
        indices_(node_.inputs[1]),
        updates_(node_.inputs[2]),
        out_(graph_.aval(graph_.outputs[0])),
        output_(static_cast<int>(graph_.inputs.size())),
        tables_(planner::tables_of(step)) {
    const Shape& updates = graph_.aval(updates_).shape;
    const auto rank = graph_.aval(indices_).ndim() - 1;
    rows_.assign(updates.begin(), updates.begin() + rank);
    window_.assign(updates.begin() + rank, updates.end());
    if (tables_.in_scratch > 0) scratch_.push_back(tables_.dtype);
  }

  std::vector<Launch> lower() const {
    if (out_.size() == 0) return {};
    if (graph_.aval(updates_).size() == 0 || step_.form == ScatterForm::direct) return direct();
    return step_.form == ScatterForm::winners ? winners() : tables();
  }

 private:
  const Node& scatter_node() const {
    NEAP_CHECK(graph_.outputs.size() == 1 && graph_.def(graph_.outputs[0]), "{}: not one scatter", step_.op);
    return *graph_.def(graph_.outputs[0]);
  }
  bool is_zero(X x) const { return x.dag->is_constant(x) && (*x.dag)[x.id].imm == 0; }
  bool operand_is_zero() const {
    Dag dag;
    ElementBuilder elements(graph_, dag);
    return is_zero(
        elements.value(operand_, elements.index().unflatten(elements.index().loop(1, out_.size()), out_.shape)));
  }

  std::vector<Launch> direct() const {
    std::vector<Launch> launches;
    const bool updated = graph_.aval(updates_).size() > 0;
    if (updated && once()) {
      launches.push_back(launch_of(scatter_kernel(output_, out_.dtype, Pass::store_once)));
      return launches;
    }
    const bool clear = updated && !step_.operand_in_place && operand_is_zero();
    if (!step_.operand_in_place && !clear) {
      launches.push_back(launch_of(
          best_map(step_, scratch_, out_.shape, [&](ElementBuilder& e, const IndexExpr& flat, Kernel& kernel) {
            add_store(e, kernel, output_, flat, e.value(operand_, e.index().unflatten(flat, out_.shape)));
          })));
    }
    if (updated) {
      launches.push_back(launch_of(scatter_kernel(output_, out_.dtype)));
      launches.back().in_order = step_.in_order;
      if (clear) launches.back().zero_fill.push_back(output_);
    }
    return launches;
  }

  // Whether each element is written once, with all that it becomes.
  bool once() const {
    const bool sum = node_.op == Op::scatter_add && out_.dtype != bool_;
    return step_.covering && !step_.operand_in_place && (sum || node_.op == Op::scatter_set);
  }

  std::vector<Launch> winners() const {
    NEAP_CHECK(node_.op == Op::scatter_set, "the winning rows of {}", tracing::name(node_.op));
    std::vector<Launch> launches = direct();
    Launch store = std::move(launches.back());
    launches.back() = launch_of(scatter_kernel(output_ + 1, u32, Pass::find_winners));
    launches.back().zero_fill = {output_ + 1};
    if (!store.zero_fill.empty()) launches.back().zero_fill.push_back(output_);
    launches.push_back(launch_of(scatter_kernel(output_, out_.dtype, Pass::store_winners)));
    return launches;
  }

  std::vector<Launch> tables() const {
    NEAP_CHECK(node_.op == Op::scatter_add, "tables of partial results of {}", tracing::name(node_.op));
    std::vector<Launch> launches;
    launches.push_back(launch_of(scatter_kernel(tables_.in_scratch > 0 ? output_ + 1 : output_, tables_.dtype)));
    Launch& scatter = launches.back();
    scatter.partials = step_.partials;
    scatter.in_order = step_.in_order;
    if (tables_.in_scratch > 0) scatter.zero_fill.push_back(output_ + 1);
    if (tables_.first_in_output) {
      if (tables_.in_scratch > 0) scatter.part0_operand = output_;
      if (!step_.operand_in_place) scatter.zero_fill.push_back(output_);
    }
    const bool operand_counted = step_.operand_in_place && tables_.first_in_output;
    const bool done = tables_.in_scratch == 0 && step_.form == ScatterForm::tables && tables_.dtype == out_.dtype &&
                      (operand_counted || operand_is_zero());
    if (!done) launches.push_back(launch_of(combining_kernel(operand_counted)));
    return launches;
  }

  enum class Pass : uint8_t { update, find_winners, store_winners, store_once };

  Kernel scatter_kernel(int table, DType type, Pass pass = Pass::update) const {
    Kernel kernel = kernel_of(step_, Kernel::Kind::scatter, scratch_);
    kernel.buffers[table].type = type;  // the output may hold counts for a while
    ElementBuilder elements(graph_, kernel.dag);
    IndexAlgebra& index = elements.index();
    const int64_t rows = element_count(rows_), window = element_count(window_);
    IndexExpr row, column;
    if (window >= kWindowLoop) {
      kernel.extent = {rows, window};
      row = index.loop(0, rows);
      column = index.loop(1, window);
    } else if (const int64_t run = rows_.empty() ? 1 : rows_.back();
               window == 1 && run >= kWindowLoop && step_.unique_indices && is_counted(elements)) {
      // Rows that lie side by side in the table do so along their last axis.
      kernel.extent = {rows / run, run};
      row = index.add(index.scale(index.loop(0, rows / run), run), index.loop(1, run));
    } else {
      kernel.extent = {1, rows * window};
      const IndexExpr flat = index.loop(1, rows * window);
      row = index.div(flat, window);
      column = index.mod(flat, window);
    }
    const Coords batch = index.unflatten(row, rows_), inner = index.unflatten(column, window_);
    const tracing::Ints& axes = node_.attrs.ints(Attr::axes);
    // An update out of range is clamped as a read is, promised not to happen, or (also in mode clip) dropped.
    auto mode = static_cast<IndexMode>(node_.attrs.integer(Attr::mode));
    if (mode == IndexMode::clamp_update)
      mode = IndexMode::clip;
    else if (mode == IndexMode::clip)
      mode = IndexMode::fill_or_drop;
    const auto located = elements.locate(indices_, batch, axes, out_.shape, mode, pass >= Pass::store_winners);
    Coords at;
    size_t indexed = 0, free = 0;
    for (int64_t d = 0; d < out_.ndim(); ++d) {
      const bool by_index = indexed < axes.size() && axes[indexed] == d;
      at.push_back(by_index ? located.coords[indexed++] : inner[free++]);
    }
    Scatter scatter{combine_of(node_.op), table, out_.size(), index.emit(index.flatten(at, out_.shape)).id, -1, -1,
                    step_.unique_indices};
    if (!located.valid.always()) {
      scatter.valid = located.valid.never() ? kernel.dag.constant_bits(0, bool_).id : located.valid.value.id;
    }
    if (pass == Pass::find_winners) {
      scatter.combine = Combine::max;
      scatter.value = index.emit(index.add(row, 1), u32).id;
    } else {
      scatter.value = update(elements, kernel.dag, batch, inner, type).id;
    }
    if (pass == Pass::store_once) {
      if (scatter.combine == Combine::add) scatter.value = sum(elements.value(operand_, at), scatter.value).id;
      scatter.combine = Combine::set;
    }
    if (pass == Pass::store_winners) {
      const X last = kernel.dag.load(output_ + 1, u32, {&kernel.dag, scatter.index});
      const X wins = kernel.dag.binary(Opcode::eq, last, index.emit(index.add(row, 1), u32));
      const X both = scatter.valid < 0 ? wins : kernel.dag.binary(Opcode::bit_and, {&kernel.dag, scatter.valid}, wins);
      scatter.valid = both.id;
      scatter.unique_indices = true;
    }
    kernel.scatters.push_back(scatter);
    return kernel;
  }

  // Whether where each row goes follows from its number.
  bool is_counted(ElementBuilder& elements) const {
    const auto columns = static_cast<int64_t>(node_.attrs.ints(Attr::axes).size());
    Coords at = elements.index().unflatten(elements.index().loop(1, element_count(rows_)), rows_);
    at.emplace_back();
    for (int64_t column = 0; column < columns; ++column) {
      at.back() = IndexAlgebra::constant(column);
      if (!elements.counted(indices_, at)) return false;
    }
    return true;
  }

  // Operand and update, as a kernel that reads and writes the table adds them.
  X sum(X operand, int32_t update) const {
    Dag& dag = *operand.dag;
    const DType type = out_.dtype, working = type == f16 || type == bf16 ? f32 : type;
    return dag.convert(dag.binary(Opcode::add, dag.convert(operand, working), dag.convert({&dag, update}, working)),
                       type);
  }

  X update(ElementBuilder& elements, Dag& dag, const Coords& batch, const Coords& inner, DType type) const {
    if (step_.form == ScatterForm::counts) return dag.integer(1, type);
    Coords at = batch;
    at.insert(at.end(), inner.begin(), inner.end());
    return dag.convert(elements.value(updates_, std::move(at)), type);
  }

  // output = operand + what the tables hold, computed in the widest type of its kind.
  Kernel combining_kernel(bool operand_counted) const {
    const DType type = is_float(out_.dtype) ? f64 : is_signed(out_.dtype) ? i64 : u64;
    return best_map(step_, scratch_, out_.shape, [&](ElementBuilder& e, const IndexExpr& flat, Kernel& kernel) {
      Dag& dag = kernel.dag;
      const bool counts = step_.form == ScatterForm::counts;
      std::optional<X> total;
      auto add = [&](X x) { total = total ? dag.binary(Opcode::add, *total, x) : x; };
      auto add_table = [&](int buffer, const IndexExpr& at) {
        add(dag.convert(dag.load(buffer, tables_.dtype, e.index().emit(at)), counts ? u64 : type));
      };
      if (tables_.first_in_output) add_table(output_, flat);
      for (int64_t t = 0; t < tables_.in_scratch; ++t) add_table(output_ + 1, e.index().add(flat, t * out_.size()));
      if (counts) {
        // The update is one value wherever it is read.
        const X once = e.value(updates_, Coords(graph_.aval(updates_).shape.size()));
        const X product = dag.binary(Opcode::mul, dag.convert(*total, type), dag.convert(once, type));
        const bool finite = !is_float(type) || (dag.is_constant(once) && std::isfinite(dag.constant_value(once)));
        // What no row updates keeps its value: 0 times infinity would be NaN.
        const X some = dag.binary(Opcode::ne, *total, dag.integer(0, u64));
        total = finite ? product : dag.select(some, product, dag.constant(0, type));
      }
      if (!operand_counted) {
        const X operand = e.value(operand_, e.index().unflatten(flat, out_.shape));
        if (!is_zero(operand)) total = dag.binary(Opcode::add, dag.convert(operand, type), *total);
      }
      add_store(e, kernel, output_, flat, dag.convert(*total, out_.dtype));
    });
  }

  const planner::PlanStep& step_;
  const Graph& graph_;
  const Node& node_;
  tracing::ValueId operand_, indices_, updates_;
  const Aval& out_;
  int output_;  // operand number; scratch follows
  Shape rows_, window_;
  planner::ScatterTables tables_;
  std::vector<DType> scratch_;
};

}  // namespace

std::vector<Launch> lower_scatter(const planner::PlanStep& step) { return ScatterStep(step).lower(); }

}  // namespace neap::backends
