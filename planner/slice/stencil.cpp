#include "planner/slice/stencil.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/slice/slice_nodes.h"
#include "planner/slice/split_axis.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kBandBytes = size_t{1} << 20;  // a band and what is computed of it stay in a cache
constexpr int64_t kFewestBands = 8, kMostShift = 16;
constexpr size_t kMostRows = 400;  // values of a band, each at each of its shifts
constexpr Cut kRows{0};

using Values = std::vector<ValueId>;

// A roll along axis 0: row i is row i - by of the value.
struct Roll {
  ValueId of = no_value;
  int64_t by = 0;
};

// The rows [begin, end) of a value, where the node gives nothing else.
bool is_rows(const Graph& g, ValueId v, ValueId& of, int64_t& begin, int64_t& end) {
  const Node* node = g.def(v);
  if (!node || node->op != Op::slice) return false;
  const Ints &start = node->attrs.ints(Attr::start), &limit = node->attrs.ints(Attr::limit);
  const Shape& shape = g.aval(node->inputs[0]).shape;
  if (std::ranges::any_of(node->attrs.ints(Attr::stride), [](int64_t s) { return s != 1; })) return false;
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    if (start[axis] != 0 || limit[axis] != shape[axis]) return false;
  }
  of = node->inputs[0], begin = start[0], end = limit[0];
  return true;
}

std::optional<Roll> roll_of(const Graph& g, const Node& node) {
  if (node.op != Op::concatenate || node.attrs.integer(Attr::axis) != 0 || node.inputs.size() != 2) return std::nullopt;
  ValueId a = no_value, b = no_value;
  int64_t a_begin = 0, a_end = 0, b_begin = 0, b_end = 0;
  if (!is_rows(g, node.inputs[0], a, a_begin, a_end) || !is_rows(g, node.inputs[1], b, b_begin, b_end))
    return std::nullopt;
  const int64_t rows = g.aval(a).shape[0];
  if (a != b || b_begin != 0 || a_end != rows || a_begin != b_end) return std::nullopt;
  const int64_t by = rows - a_begin;  // the last ones come first
  return Roll{a, by <= rows / 2 ? by : by - rows};
}

// What is computed of a table in a loop's body, to be written over it.
class Bands {
 public:
  Bands(const Graph& graph, ValueId table, ValueId result)
      : graph_(graph),
        table_(table),
        result_(result),
        rows_(graph.aval(table).shape[0]),
        depends_(graph.values.size()) {
    depends_[table] = true;
    for (const Node& node : graph.nodes) {
      const bool any = std::ranges::any_of(node.inputs, [&](ValueId v) { return depends_[v]; });
      for (const ValueId v : node.outputs) depends_[v] = any;
    }
  }

  // Whether it can be: finds the shifts, and what is read as a whole.
  bool analyze(size_t fewest_bytes) {
    const Aval& aval = graph_.aval(table_);
    if (graph_.aval(result_) != aval || aval.bytes() < fewest_bytes || !depends_[result_] || result_ == table_)
      return false;
    if (!visit(result_, 0) || halo_ == 0) return false;
    const auto row_bytes = static_cast<int64_t>(aval.bytes()) / rows_;
    const int64_t wanted = static_cast<int64_t>(kBandBytes) / std::max<int64_t>(1, row_bytes);
    length_ = std::max(halo_, std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, rows_ / kFewestBands)));
    if (rows_ / length_ < 2) return false;
    count_ = (rows_ - 1) / length_;
    if (rows_ - count_ * length_ < halo_) --count_;
    return true;
  }

  // Writes it into `g`, where the names of what it is of are `renamed`.
  ValueId write(Graph& g, const Values& renamed) const {
    const ValueId table = renamed[table_];
    const std::source_location loc = graph_.def(result_)->loc;
    Graph body;
    body.name = "band";
    std::map<ValueId, ValueId> inside, outside;
    Values operands;
    for (const ValueId v : wholes_) {
      operands.push_back(renamed[v]);
      outside[v] = renamed[v];
      inside[v] = body.add_input(graph_.aval(v));
    }
    const auto constants = std::ssize(operands);
    // The rows before the band and the first of all, as they were; one carry, so that the table is read no more later.
    const ValueId edges = stored(g, joined(g, {rows_of(g, table, rows_ - halo_, rows_), rows_of(g, table, 0, halo_)}));
    operands.insert(operands.end(), {table, edges, g.constant(0, DType::i64, {})});
    const ValueId own = body.add_input(g.aval(table)), kept = body.add_input(g.aval(edges));
    const ValueId offset = body.add_input({{}, DType::i64});
    const ValueId below = stored(body, slice_of(body, own, kRows, {offset, length_ + halo_}));
    const ValueId window = joined(body, {rows_of(body, kept, 0, halo_), below});
    const ValueId band = emit(body, inside, window, {offset, length_});
    const ValueId step = body.constant(static_cast<double>(length_), DType::i64, {});
    const ValueId before = rows_of(body, window, length_, length_ + halo_);
    body.outputs = {put(body, own, band, offset), joined(body, {before, rows_of(body, kept, halo_, 2 * halo_)}),
                    body.add(Op::add, {offset, step}, {}, loc)};
    const NodeId id = g.add_node(Op::scan, std::move(operands),
                                 {{Attr::body, std::make_shared<const Graph>(std::move(body))},
                                  {Attr::length, count_},
                                  {Attr::num_consts, constants},
                                  {Attr::num_carry, int64_t{3}},
                                  {Attr::reverse, int64_t{0}}},
                                 loc);
    const Values carries = g.nodes[id].outputs;
    const int64_t done = count_ * length_;
    const ValueId at = g.constant(static_cast<double>(done), DType::i64, {});
    const ValueId left = stored(g, rows_of(g, carries[0], done, rows_));
    const ValueId last = joined(g, {rows_of(g, carries[1], 0, halo_), left, rows_of(g, carries[1], halo_, 2 * halo_)});
    return put(g, carries[0], emit(g, outside, last, {at, rows_ - done}), at);
  }

 private:
  static ValueId rows_of(Graph& g, ValueId v, int64_t begin, int64_t end) { return append_slice(g, v, 0, begin, end); }
  // Rows as they were, while the table is written.
  static ValueId stored(Graph& g, ValueId rows) {
    set_mark(g.nodes[g.values[rows].def].attrs, Mark::materialize);
    return rows;
  }
  static ValueId joined(Graph& g, Values parts) {
    return g.add(Op::concatenate, std::move(parts), {{Attr::axis, int64_t{0}}}, {});
  }
  static ValueId put(Graph& g, ValueId table, ValueId band, ValueId offset) {
    const ValueId start = start_of(g, offset, g.aval(table).ndim(), 0);
    return g.add(Op::dynamic_update_slice, {table, band, start}, {}, {});
  }

  bool read_whole(ValueId v) {
    if (depends_[v]) return false;
    if (std::ranges::find(wholes_, v) == wholes_.end()) wholes_.push_back(v);
    return true;
  }

  // Rows of `v`, each `shift` after those of the band.
  bool visit(ValueId v, int64_t shift) {
    if (std::abs(shift) > kMostShift) return false;
    if (v == table_) {
      halo_ = std::max(halo_, std::abs(shift));
      return true;
    }
    if (!seen_.insert({v, shift}).second) return true;
    if (seen_.size() > kMostRows) return false;
    if (graph_.aval(v).ndim() == 0 || graph_.aval(v).shape[0] != rows_) return false;
    const Node* node = graph_.def(v);
    if (node && node->op == Op::constant) return true;
    if (!depends_[v]) return shift == 0 && read_whole(v);
    if (const std::optional<Roll> roll = roll_of(graph_, *node)) return visit(roll->of, shift - roll->by);
    const Family family = op_info(node->op).family;
    const bool along_rows = family == Family::elementwise || family == Family::convert || family == Family::layout;
    if (!along_rows || node->op == Op::dynamic_slice || node->op == Op::dynamic_update_slice) return false;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Cut cut = operand_cut(graph_, *node, kRows, i);
      if (cut == kWhole ? !read_whole(node->inputs[i]) : cut != kRows || !visit(node->inputs[i], shift)) return false;
    }
    return true;
  }

  ValueId emit(Graph& g, const std::map<ValueId, ValueId>& wholes, ValueId window, SliceAt at) const {
    std::map<std::pair<ValueId, int64_t>, ValueId> known;
    return emit(g, wholes, window, at, result_, 0, known);
  }

  // What visit() found, of a window that begins `halo_` rows before the band.
  ValueId emit(Graph& g, const std::map<ValueId, ValueId>& wholes, ValueId window, SliceAt at, ValueId v, int64_t shift,
               std::map<std::pair<ValueId, int64_t>, ValueId>& known) const {
    if (v == table_) return rows_of(g, window, halo_ + shift, halo_ + shift + at.size);
    if (const auto it = known.find({v, shift}); it != known.end()) return it->second;
    const Node* node = graph_.def(v);
    ValueId made = no_value;
    if (!depends_[v] && !(node && node->op == Op::constant)) {
      made = slice_of(g, wholes.at(v), kRows, at);
    } else if (const std::optional<Roll> roll = roll_of(graph_, *node)) {
      made = emit(g, wholes, window, at, roll->of, shift - roll->by, known);
    } else {
      Values inputs;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const ValueId x = node->inputs[i];
        const bool whole = operand_cut(graph_, *node, kRows, i) == kWhole;
        inputs.push_back(whole ? wholes.at(x) : emit(g, wholes, window, at, x, shift, known));
      }
      made = write_slice(g, graph_, *node, std::move(inputs), kRows, at);
    }
    known[{v, shift}] = made;
    return made;
  }

  const Graph& graph_;
  ValueId table_, result_;
  int64_t rows_;
  std::vector<bool> depends_;  // of each value, on the table
  std::set<std::pair<ValueId, int64_t>> seen_;
  Values wholes_;  // read as wholes, or in slices
  int64_t halo_ = 0, length_ = 0, count_ = 0;
};

std::optional<Graph> update_carries(const LoopView& loop, size_t fewest_bytes) {
  const Graph& body = loop.body;
  std::map<NodeId, std::pair<ValueId, Bands>> found;  // by what makes the result
  for (size_t i = 0; i < loop.carries; ++i) {
    const ValueId table = body.inputs[loop.consts + i], result = body.outputs[i];
    if (body.aval(table).ndim() == 0 || !body.def(result)) continue;
    Bands bands(body, table, result);
    if (bands.analyze(fewest_bytes)) found.try_emplace(body.values[result].def, result, std::move(bands));
  }
  if (found.empty()) return std::nullopt;
  Graph updated;
  Values renamed = copy_inputs(updated, body);
  for (const Node& node : body.nodes) {
    append_renamed(updated, body, node, renamed);
    const auto it = found.find(body.values[node.outputs[0]].def);
    if (it != found.end()) renamed[it->second.first] = it->second.second.write(updated, renamed);
  }
  for (const ValueId v : body.outputs) updated.outputs.push_back(renamed[v]);
  return eliminate_dead_code(updated);
}

}  // namespace

std::optional<Graph> update_in_bands(const Graph& graph, size_t fewest_bytes) {
  Graph result = graph;
  bool changed = false;
  for (Node& node : result.nodes) {
    if (!is_loop(node.op)) continue;
    const auto replace = [&](std::optional<Graph> body) {
      if (!body) return;
      node.attrs.set(Attr::body, std::make_shared<const Graph>(*std::move(body)));
      changed = true;
    };
    replace(update_in_bands(*node.attrs.graph(Attr::body), fewest_bytes));
    replace(update_carries(LoopView(node), fewest_bytes));
  }
  if (!changed) return std::nullopt;
  return result;
}

}  // namespace neap::planner
