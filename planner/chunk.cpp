#include "planner/chunk.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"
#include "planner/builder.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

constexpr std::source_location kNowhere{};

// How partial results over the sliced axis combine: f64 for sums of floats, as in one kernel.
struct Fold {
  Op combine;
  DType dtype;
  AttrValue initial;
};

AttrValue typed(DType dtype, double value) {
  return is_float(dtype) ? AttrValue(value) : AttrValue(static_cast<int64_t>(value));
}

int64_t lowest_integer(DType dtype) { return is_signed(dtype) ? -(int64_t{1} << (8 * size_of(dtype) - 2)) * 2 : 0; }
int64_t highest_integer(DType dtype) {  // of u64: all bits, as int64
  if (dtype == DType::bool_) return 1;
  return is_signed(dtype) ? -(lowest_integer(dtype) + 1)
                          : static_cast<int64_t>(~uint64_t{0} >> (64 - 8 * size_of(dtype)));
}

Fold fold_of(const Graph& graph, const Node& node) {
  const DType dtype = graph.aval(node.out()).dtype;
  const DType wide = is_float(dtype) ? DType::f64 : dtype;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (node.op) {
    case Op::reduce_prod: return {Op::multiply, wide, typed(wide, 1)};
    case Op::reduce_max:
      return {Op::maximum, dtype, is_float(dtype) ? AttrValue(-kInf) : AttrValue(lowest_integer(dtype))};
    case Op::reduce_min:
      return {Op::minimum, dtype, is_float(dtype) ? AttrValue(kInf) : AttrValue(highest_integer(dtype))};
    case Op::reduce_any: return {Op::bitwise_or, dtype, AttrValue(int64_t{0})};
    case Op::reduce_all: return {Op::bitwise_and, dtype, AttrValue(int64_t{1})};
    default: return {Op::add, wide, typed(wide, 0)};
  }
}

ValueId convert_to(Graph& g, ValueId v, DType dtype) {
  return g.aval(v).dtype == dtype ? v : g.add(Op::convert, {v}, {{Attr::dtype, dtype}}, kNowhere);
}

// The first element of the axis in a slice that starts at `offset` (a scalar) of the region's axis.
ValueId scaled(Graph& g, ValueId offset, int64_t block) {
  if (block == 1) return offset;
  return g.add(Op::multiply, {offset, g.constant(static_cast<double>(block), DType::i64, {})}, {}, kNowhere);
}

// i64[rank] with `offset`, a scalar, at `axis` and zeros elsewhere.
ValueId offset_vector(Graph& g, ValueId offset, int64_t rank, int64_t axis) {
  const Shape shape{rank};
  const ValueId axes =
      g.add(Op::iota, {}, {{Attr::dtype, DType::i64}, {Attr::shape, shape}, {Attr::axis, int64_t{0}}}, kNowhere);
  const ValueId here = g.add(Op::equal, {axes, g.constant(static_cast<double>(axis), DType::i64, shape)}, {}, kNowhere);
  const ValueId spread = g.add(Op::broadcast_in_dim, {offset}, {{Attr::shape, shape}, {Attr::axes, Ints{}}}, kNowhere);
  return g.add(Op::select, {here, spread, g.constant(0, DType::i64, shape)}, {}, kNowhere);
}

// Writes one region: its scan and what is left over.
class RegionWriter {
 public:
  RegionWriter(const Graph& graph, const Region& region, int64_t chunks, Graph& result, std::vector<ValueId>& renamed)
      : graph_(graph), region_(region), renamed_(renamed), result_(result) {
    length_ = slice_length(region, chunks);
    count_ = region.extent / length_;
    tail_ = region.extent - count_ * length_;
    for (const ValueId v : region.inside) members_.push_back(v);
    for (const auto& [v, cut] : region.cut) {
      if (!std::ranges::binary_search(region.inputs, v)) members_.push_back(v);
    }
    members_.insert(members_.end(), region.folded.begin(), region.folded.end());
    std::ranges::sort(members_);
  }

  const Region& region() const { return region_; }
  bool enter() { return !std::exchange(entered_, true); }

  /// Names in the result what leaves the region; its inputs have their names.
  void write() {
    Graph body;
    body.name = "slice";
    Names inner;
    std::vector<ValueId> consts, inits, xs, stacked_inputs;
    std::vector<ValueId> cut;  // inputs of which the body takes a slice
    for (const ValueId v : region_.inputs) {
      const bool in_slices = region_.cut.contains(v);
      if (in_slices && tail_ == 0 && leading(v)) {
        xs.push_back(v);
        continue;
      }
      consts.push_back(renamed_[v]);
      inner[v] = body.add_input(graph_.aval(v));
      if (in_slices) cut.push_back(v);
    }
    std::vector<ValueId> carries;
    for (const ValueId v : region_.folded) {
      const Fold fold = fold_of(graph_, *graph_.def(v));
      const Shape& shape = graph_.aval(v).shape;
      inits.push_back(result_.add(
          Op::constant, {}, {{Attr::value, fold.initial}, {Attr::dtype, fold.dtype}, {Attr::shape, shape}}, kNowhere));
      carries.push_back(body.add_input({shape, fold.dtype}));
    }
    inits.push_back(result_.constant(0, DType::i64, {}));
    const ValueId offset = body.add_input({{}, DType::i64});
    for (const ValueId v : xs) {
      Shape shape = sliced(v, length_);
      inner[v] = body.add_input({shape, graph_.aval(v).dtype});
      shape.insert(shape.begin(), count_);
      stacked_inputs.push_back(result_.add(Op::reshape, {renamed_[v]}, {{Attr::shape, shape}}, kNowhere));
    }
    for (const ValueId v : cut) {
      const auto [axis, block] = region_.cut.at(v);
      const ValueId start = offset_vector(body, scaled(body, offset, block), graph_.aval(v).ndim(), axis);
      inner[v] = body.add(Op::dynamic_slice, {inner[v], start}, {{Attr::shape, sliced(v, length_)}}, kNowhere);
    }
    emit_slice(body, inner, offset, length_);
    for (size_t j = 0; j < carries.size(); ++j) {
      const ValueId v = region_.folded[j];
      const Fold fold = fold_of(graph_, *graph_.def(v));
      body.outputs.push_back(body.add(fold.combine, {carries[j], inner.at(v)}, {}, graph_.def(v)->loc));
    }
    const ValueId step = body.constant(static_cast<double>(length_), DType::i64, {});
    body.outputs.push_back(body.add(Op::add, {offset, step}, {}, kNowhere));
    for (const ValueId v : region_.joined) body.outputs.push_back(inner.at(v));

    const ValueId first = region_.joined.empty() ? region_.folded[0] : region_.joined[0];
    Attrs attrs{{Attr::length, count_},
                {Attr::num_consts, std::ssize(consts)},
                {Attr::num_carry, std::ssize(inits)},
                {Attr::reverse, int64_t{0}},
                {Attr::name, std::string("chunked")},
                {Attr::body, std::make_shared<const Graph>(std::move(body))}};
    std::vector<ValueId> operands = std::move(consts);
    operands.insert(operands.end(), inits.begin(), inits.end());
    operands.insert(operands.end(), stacked_inputs.begin(), stacked_inputs.end());
    const NodeId id = result_.add_node(Op::scan, std::move(operands), std::move(attrs), graph_.def(first)->loc);
    const std::vector<ValueId> outputs = result_.nodes[id].outputs;
    join(outputs);
  }

 private:
  using Names = std::unordered_map<ValueId, ValueId>;

  Shape sliced(ValueId v, int64_t size) const {
    Shape shape = graph_.aval(v).shape;
    const Cut cut = region_.cut.at(v);
    shape[cut.axis] = size * cut.block;
    return shape;
  }

  bool leading(ValueId v) const {
    const Shape& shape = graph_.aval(v).shape;
    const auto end = shape.begin() + region_.cut.at(v).axis;
    return std::all_of(shape.begin(), end, [](int64_t extent) { return extent == 1; });
  }

  // The region's nodes for elements [offset, offset + size) of the axis; `names` holds the inputs, sliced where they
  // are.
  void emit_slice(Graph& g, Names& names, ValueId offset, int64_t size) const {
    for (const ValueId v : members_) {
      const Node& node = *graph_.def(v);
      std::vector<ValueId> inputs;
      for (const ValueId x : node.inputs) inputs.push_back(names.at(x));
      const auto at = region_.cut.find(v);
      if (at == region_.cut.end()) {
        names[v] = std::ranges::binary_search(region_.folded, v)
                       ? emit_fold(g, node, std::move(inputs))
                       : g.add(node.op, std::move(inputs), node.attrs, node.loc);
      } else {
        names[v] = emit_member(g, node, std::move(inputs), at->second, offset, size);
      }
    }
  }

  static ValueId emit_fold(Graph& g, const Node& node, std::vector<ValueId> inputs) {
    const DType dtype = g.aval(inputs[0]).dtype;
    const bool sums = node.op == Op::reduce_sum || node.op == Op::reduce_prod;
    if (sums && is_float(dtype)) inputs[0] = convert_to(g, inputs[0], DType::f64);
    const ValueId partial = g.add(node.op, std::move(inputs), node.attrs, node.loc);
    return node.op == Op::dot_general && is_float(dtype) ? convert_to(g, partial, DType::f64) : partial;
  }

  ValueId emit_member(Graph& g, const Node& node, std::vector<ValueId> inputs, Cut cut, ValueId offset,
                      int64_t size) const {
    const int64_t axis = cut.axis;
    size *= cut.block;
    Attrs attrs = node.attrs;
    const auto resize = [&](Attr key, int64_t at) {
      Ints shape = attrs.ints(key);
      shape[at] = size;
      attrs.set(key, std::move(shape));
    };
    switch (node.op) {
      case Op::constant:
      case Op::broadcast_in_dim:
      case Op::reshape: resize(Attr::shape, axis); break;
      case Op::slice: resize(Attr::limit, axis); break;
      case Op::iota: {
        resize(Attr::shape, axis);
        if (attrs.integer(Attr::axis) != axis) break;
        const DType dtype = attrs.dtype(Attr::dtype);
        attrs.set(Attr::dtype, DType::i64);
        const ValueId from = g.add(Op::iota, {}, attrs, node.loc);
        const ValueId spread = g.add(Op::broadcast_in_dim, {scaled(g, offset, cut.block)},
                                     {{Attr::shape, g.aval(from).shape}, {Attr::axes, Ints{}}}, node.loc);
        return convert_to(g, g.add(Op::add, {from, spread}, {}, node.loc), dtype);
      }
      case Op::random_bits: {
        const int64_t batch = graph_.aval(node.inputs[0]).ndim() - 1;
        if (axis < batch) break;  // each key draws as before
        attrs.set(Attr::full_shape, attrs.ints(Attr::shape));
        resize(Attr::shape, axis - batch);
        const auto rank = std::ssize(attrs.ints(Attr::shape));
        inputs.push_back(offset_vector(g, scaled(g, offset, cut.block), rank, axis - batch));
        break;
      }
      default: {
        const int64_t column = counting_column(graph_, node, cut);
        if (column >= 0) inputs[1] = counted_from(g, inputs[1], column, scaled(g, offset, cut.block));
        break;
      }
    }
    return g.add(node.op, std::move(inputs), std::move(attrs), node.loc);
  }

  // Indices less `offset` in one column: they count in the slice.
  static ValueId counted_from(Graph& g, ValueId indices, int64_t column, ValueId offset) {
    const auto [shape, dtype] = g.aval(indices);
    const int64_t last = std::ssize(shape) - 1;
    const ValueId columns =
        g.add(Op::iota, {}, {{Attr::dtype, DType::i64}, {Attr::shape, shape}, {Attr::axis, last}}, kNowhere);
    const ValueId here =
        g.add(Op::equal, {columns, g.constant(static_cast<double>(column), DType::i64, shape)}, {}, kNowhere);
    const ValueId spread = g.add(Op::broadcast_in_dim, {convert_to(g, offset, dtype)},
                                 {{Attr::shape, shape}, {Attr::axes, Ints{}}}, kNowhere);
    const ValueId less = g.add(Op::select, {here, spread, g.constant(0, dtype, shape)}, {}, kNowhere);
    return g.add(Op::subtract, {indices, less}, {}, kNowhere);
  }

  // Names the scan's results, with those of the tail.
  void join(const std::vector<ValueId>& outputs) {
    Names tail;
    if (tail_ > 0) emit_tail(tail);
    size_t next = 0;
    for (const ValueId v : region_.folded) {
      ValueId total = outputs[next++];
      if (tail_ > 0) total = result_.add(fold_of(graph_, *graph_.def(v)).combine, {total, tail.at(v)}, {}, kNowhere);
      renamed_[v] = convert_to(result_, total, graph_.aval(v).dtype);
    }
    ++next;  // the offset
    for (const ValueId v : region_.joined) {
      ValueId whole = outputs[next++];
      const int64_t axis = region_.cut.at(v).axis;
      if (!leading(v)) {  // [count, ..., length, ...] to [..., count, length, ...]
        Ints permutation;
        for (int64_t i = 0; i < graph_.aval(v).ndim(); ++i) {
          if (i == axis) permutation.push_back(0);
          permutation.push_back(i + 1);
        }
        whole = result_.add(Op::transpose, {whole}, {{Attr::permutation, permutation}}, kNowhere);
      }
      whole = result_.add(Op::reshape, {whole}, {{Attr::shape, sliced(v, count_ * length_)}}, kNowhere);
      if (tail_ > 0) whole = result_.add(Op::concatenate, {whole, tail.at(v)}, {{Attr::axis, axis}}, kNowhere);
      renamed_[v] = whole;
    }
  }

  void emit_tail(Names& names) {
    for (const ValueId v : region_.inputs) {
      names[v] = renamed_[v];
      if (!region_.cut.contains(v)) continue;
      const Shape& shape = graph_.aval(v).shape;
      Ints start(shape.size(), 0), limit = shape, stride(shape.size(), 1);
      const auto [axis, block] = region_.cut.at(v);
      start[axis] = count_ * length_ * block;
      names[v] = result_.add(Op::slice, {renamed_[v]},
                             {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}}, kNowhere);
    }
    emit_slice(result_, names, result_.constant(static_cast<double>(count_ * length_), DType::i64, {}), tail_);
  }

  const Graph& graph_;
  const Region& region_;
  int64_t length_ = 0, count_ = 0, tail_ = 0;
  std::vector<ValueId> members_;  // computed in the region, ascending
  std::vector<ValueId>& renamed_;
  Graph& result_;
  bool entered_ = false;
};

class Chunker {
 public:
  Chunker(const Graph& graph, const std::vector<Region>& regions, int64_t chunks) : graph_(graph) {
    for (const Region& region : regions) {
      writers_.emplace_back(graph, region, chunks, result_, renamed_);
      for (const auto* list : {&region.folded, &region.joined}) {
        for (const ValueId v : *list) writer_of_.emplace(v, writers_.size() - 1);
      }
    }
  }

  std::optional<Graph> run() {
    renamed_ = copy_inputs(result_, graph_);
    for (const ValueId v : graph_.outputs) {
      if (!emit(v)) return std::nullopt;
      result_.outputs.push_back(renamed_[v]);
    }
    return eliminate_dead_code(result_);
  }

 private:
  // Depth first: operands before nodes, all of a region's inputs before its scan.
  bool emit(ValueId target) {
    std::vector<std::pair<ValueId, bool>> pending{{target, false}};
    while (!pending.empty()) {
      const auto [v, ready] = pending.back();
      pending.pop_back();
      if (renamed_[v] != no_value) continue;
      const auto it = writer_of_.find(v);
      RegionWriter* writer = it == writer_of_.end() ? nullptr : &writers_[it->second];
      if (ready) {
        if (writer) {
          writer->write();
        } else {
          append_renamed(result_, graph_, *graph_.def(v), renamed_);
        }
        continue;
      }
      if (writer && !writer->enter()) return false;  // the region needs what it makes
      pending.emplace_back(v, true);
      for (const ValueId x : writer ? writer->region().inputs : graph_.def(v)->inputs) {
        if (renamed_[x] == no_value) pending.emplace_back(x, false);
      }
    }
    return true;
  }

  const Graph& graph_;
  std::vector<ValueId> renamed_;
  Graph result_;
  std::vector<RegionWriter> writers_;
  std::unordered_map<ValueId, size_t> writer_of_;  // of what leaves a region
};

}  // namespace

int64_t slice_length(const Region& region, int64_t chunks) {
  const int64_t length = (region.extent + chunks - 1) / chunks;
  return std::min(region.extent, (length + region.unit - 1) / region.unit * region.unit);
}

std::optional<Graph> chunk(const Graph& graph, const std::vector<Region>& regions, int64_t chunks) {
  if (chunks < 1 || std::ranges::any_of(regions, [](const Region& r) { return r.extent < 1; })) return std::nullopt;
  return Chunker(graph, regions, chunks).run();
}

}  // namespace neap::planner
