#include "planner/rewrite/compact_updates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "planner/kernels/partials.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kMostRows = int64_t{1} << 30;  // i32 counts them

// table - factor * G or table + factor * G, and the scatters that make G, the first into zeros.
struct Update {
  ValueId table;
  bool subtracts = false;
  std::optional<double> factor;
  std::vector<const Node*> scatters;
};

class Compacter {
 public:
  Compacter(const Graph& from, const Target& target) : from_(from), uses_(count_uses(from)) {
    size_t held = 0;
    for (const ValueId v : from.inputs) held += from.aval(v).bytes();
    for (const ValueId v : from.outputs) held += from.aval(v).bytes();
    table_budget_ = table_budget(held);
    if (target.gpu) return;  // sums of updates are taken in any order there
    for (const Node& node : from.nodes) {
      if (auto update = match(node)) updates_.emplace(node.out(), *std::move(update));
    }
  }

  std::optional<Graph> run() {
    if (updates_.empty()) return std::nullopt;
    renamed_ = copy_inputs(to_, from_);
    for (const Node& node : from_.nodes) {
      const auto it = updates_.find(node.out());
      if (it == updates_.end()) {
        append_renamed(to_, from_, node, renamed_);
      } else {
        renamed_[node.out()] = apply(it->second);
      }
    }
    for (const ValueId v : from_.outputs) to_.outputs.push_back(renamed_[v]);
    return eliminate_dead_code(to_);
  }

 private:
  std::optional<double> literal(ValueId v) const {
    if (const Node* node = from_.def(v); node && node->op == Op::constant) return node->attrs.real(Attr::value);
    return std::nullopt;
  }

  std::optional<Update> match(const Node& node) const {
    if (node.op != Op::subtract && node.op != Op::add) return std::nullopt;
    const bool subtracts = node.op == Op::subtract;
    if (auto update = match(node.inputs[0], node.inputs[1], subtracts)) return update;
    return subtracts ? std::nullopt : match(node.inputs[1], node.inputs[0], subtracts);
  }

  // Rows without an update must stay as they are, to the sign of a zero: what they get is x - 0 or x + -0.
  std::optional<Update> match(ValueId table, ValueId change, bool subtracts) const {
    const Aval& aval = from_.aval(table);
    if (aval.dtype != DType::f32 && aval.dtype != DType::f64) return std::nullopt;
    Update update{table, subtracts, {}, {}};
    if (const Node* product = from_.def(change); product && product->op == Op::multiply && uses_[change] == 1) {
      for (const size_t i : {0, 1}) {
        if (update.factor) break;
        update.factor = literal(product->inputs[i]);
        change = product->inputs[1 - i];
      }
      if (!update.factor || !std::isfinite(*update.factor)) return std::nullopt;
    }
    if (std::signbit(update.factor.value_or(1)) == subtracts) return std::nullopt;
    int64_t rows = 0;
    for (const Node* node = from_.def(change); node; node = from_.def(node->inputs[0])) {
      if (!in_order(*node) || uses_[node->out()] != 1) return std::nullopt;
      update.scatters.push_back(node);
      rows += from_.aval(node->inputs[1]).size();
      const auto start = literal(node->inputs[0]);
      if (!start) continue;
      if (*start != 0 || std::signbit(*start) || rows == 0 || 2 * rows > std::min(aval.shape[0], kMostRows))
        return std::nullopt;
      std::ranges::reverse(update.scatters);
      return update;
    }
    return std::nullopt;
  }

  // Whether the updates of whole rows are added one after the other, so that they can be elsewhere too.
  bool in_order(const Node& node) const {
    if (node.op != Op::scatter_add || node.attrs.ints(Attr::axes) != Ints{0}) return false;
    const Aval& table = from_.aval(node.out());
    return from_.aval(node.inputs[1]).size() < kDirectRows ||
           static_cast<size_t>(table.size()) * sizeof(double) > table_budget_;
  }

  ValueId add(Op op, std::vector<ValueId> inputs, Attrs attrs) {
    return to_.add(op, std::move(inputs), std::move(attrs), loc_);
  }
  ValueId constant(AttrValue value, DType dtype, Shape shape) {
    return add(Op::constant, {},
               {{Attr::value, std::move(value)}, {Attr::dtype, dtype}, {Attr::shape, std::move(shape)}});
  }
  // Rows [start, end).
  ValueId slice(ValueId v, int64_t start, int64_t end) { return append_slice(to_, v, 0, start, end, loc_); }
  ValueId reshape(ValueId v, Shape shape) { return add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}); }

  // All updates lie in one array, row by row; those of one row of the table are added up where the last of them lies,
  // and the others are zero.
  ValueId apply(const Update& update) {
    loc_ = update.scatters.front()->loc;
    const Aval table = to_.aval(renamed_[update.table]);
    int64_t total = 0;
    for (const Node* scatter : update.scatters) total += from_.aval(scatter->inputs[1]).size();
    const auto attrs = [](IndexMode mode) {
      return Attrs{{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(mode)}};
    };
    ValueId owner = constant(int64_t{0}, DType::i32, {table.shape[0]});
    const ValueId numbers =
        add(Op::iota, {}, {{Attr::dtype, DType::i32}, {Attr::shape, Shape{total}}, {Attr::axis, int64_t{0}}});
    struct Part {
      IndexMode mode;
      ValueId rows, updates;  // [B..., 1], [B..., ...]
      int64_t start, end;
      ValueId number, last;  // B
    };
    std::vector<Part> parts;
    for (int64_t start = 0; const Node* scatter : update.scatters) {
      const ValueId rows = renamed_[scatter->inputs[1]];
      const Shape& shape = to_.aval(rows).shape;
      const int64_t end = start + element_count(shape);
      const ValueId number = reshape(slice(numbers, start, end), Shape(shape.begin(), shape.end() - 1));
      parts.push_back({static_cast<IndexMode>(scatter->attrs.integer(Attr::mode)), rows, renamed_[scatter->inputs[2]],
                       start, end, number, no_value});
      start = end;
    }
    for (const Part& part : parts) owner = add(Op::scatter_set, {owner, part.rows, part.number}, attrs(part.mode));
    Shape compact = table.shape;
    compact[0] = total;
    ValueId sums = constant(0.0, table.dtype, compact);
    // Out of range, a read is clamped where updates are, and else gives a number that drops the update.
    const auto read = [&](ValueId from, const Part& part) {
      const bool clamps = part.mode == IndexMode::clamp_update;
      return add(Op::gather, {from, part.rows}, attrs(clamps ? IndexMode::clip : IndexMode::fill_or_drop));
    };
    for (Part& part : parts) {
      part.last = read(owner, part);
      sums = add(Op::scatter_add, {sums, reshape(part.last, to_.aval(part.rows).shape), part.updates},
                 marked(attrs(IndexMode::fill_or_drop), Mark::in_order));
    }
    const DType dtype = holds(DType::i32, table.shape[0]) ? DType::i32 : DType::i64;
    const ValueId all_rows =
        add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, Shape{table.shape[0]}}, {Attr::axis, int64_t{0}}});
    ValueId result = renamed_[update.table];
    for (const Part& part : parts) {
      const ValueId is_last = add(Op::equal, {part.last, part.number}, {});
      const ValueId none = constant(table.shape[0], dtype, to_.aval(part.number).shape);
      const ValueId row = add(Op::select, {is_last, read(all_rows, part), none}, {});
      ValueId change = reshape(slice(sums, part.start, part.end), to_.aval(part.updates).shape);
      if (update.factor) {
        const ValueId factor = constant(*update.factor, table.dtype, to_.aval(change).shape);
        change = add(Op::multiply, {factor, change}, {});
      }
      if (update.subtracts) change = add(Op::negative, {change}, {});
      result = add(Op::scatter_add, {result, reshape(row, to_.aval(part.rows).shape), change},
                   marked(attrs(IndexMode::fill_or_drop), Mark::unique_indices));
    }
    return result;
  }

  const Graph& from_;
  const std::vector<int> uses_;
  size_t table_budget_ = 0;
  std::map<ValueId, Update> updates_;
  Graph to_;
  std::vector<ValueId> renamed_;
  std::source_location loc_;
};

}  // namespace

std::optional<Graph> compact_updates(const Graph& simple, const Target& target) {
  return Compacter(simple, target).run();
}

}  // namespace neap::planner
