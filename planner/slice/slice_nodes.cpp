#include "planner/slice/slice_nodes.h"

#include <utility>

#include "planner/plan/marks.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr std::source_location kNowhere{};

// The first element of the axis in a slice that starts at `offset` (a scalar) of the region's axis.
ValueId scaled(Graph& g, ValueId offset, int64_t block) {
  if (block == 1) return offset;
  return g.add(Op::multiply, {offset, g.constant(static_cast<double>(block), DType::i64, {})}, {}, kNowhere);
}

// Indices less `offset` in one column: they count in the slice.
ValueId counted_from(Graph& g, ValueId indices, int64_t column, ValueId offset) {
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

// Keys of a slice: the words of a block each, which are philox's bits in order and the halves of threefry's u64.
ValueId split_keys(Graph& g, const Node& node, ValueId key, Shape shape, ValueId offset) {
  if (const int64_t words = g.aval(key).shape.back(); words == 4) {
    Shape full = node.attrs.ints(Attr::shape);
    shape.push_back(words), full.push_back(words);
    const ValueId none = g.constant(0, DType::i64, {1});
    const ValueId start = g.add(Op::concatenate, {offset, none}, {{Attr::axis, int64_t{0}}}, node.loc);
    return g.add(Op::random_bits, {key, start},
                 {{Attr::shape, shape}, {Attr::dtype, DType::u32}, {Attr::full_shape, full}}, node.loc);
  }
  const ValueId bits = g.add(
      Op::random_bits, {key, offset},
      {{Attr::shape, shape}, {Attr::dtype, DType::u64}, {Attr::full_shape, node.attrs.ints(Attr::shape)}}, node.loc);
  Shape whole = g.aval(bits).shape;
  const ValueId high = g.add(Op::shift_right, {bits, g.constant(32, DType::u64, whole)}, {}, node.loc);
  const auto last = std::ssize(whole);
  whole.push_back(1);
  std::vector<ValueId> words;
  for (const ValueId word : {high, bits}) {
    words.push_back(g.add(Op::reshape, {convert_to(g, word, DType::u32)}, {{Attr::shape, whole}}, node.loc));
  }
  return g.add(Op::concatenate, words, {{Attr::axis, last}}, node.loc);
}

}  // namespace

ValueId start_of(Graph& g, ValueId offset, int64_t rank, int64_t axis) {
  const Shape shape{rank};
  const ValueId axes =
      g.add(Op::iota, {}, {{Attr::dtype, DType::i64}, {Attr::shape, shape}, {Attr::axis, int64_t{0}}}, kNowhere);
  const ValueId here = g.add(Op::equal, {axes, g.constant(static_cast<double>(axis), DType::i64, shape)}, {}, kNowhere);
  const ValueId spread = g.add(Op::broadcast_in_dim, {offset}, {{Attr::shape, shape}, {Attr::axes, Ints{}}}, kNowhere);
  return g.add(Op::select, {here, spread, g.constant(0, DType::i64, shape)}, {}, kNowhere);
}

ValueId convert_to(Graph& g, ValueId v, DType dtype) {
  return g.aval(v).dtype == dtype ? v : g.add(Op::convert, {v}, {{Attr::dtype, dtype}}, kNowhere);
}

Shape sliced_shape(Shape shape, Cut cut, int64_t size) {
  shape[cut.axis] = size * cut.block;
  return shape;
}

ValueId slice_of(Graph& g, ValueId v, Cut cut, SliceAt at) {
  const Shape& shape = g.aval(v).shape;
  const Shape part = sliced_shape(shape, cut, at.size);
  const ValueId start = start_of(g, scaled(g, at.offset, cut.block), std::ssize(part), cut.axis);
  return g.add(Op::dynamic_slice, {v, start}, {{Attr::shape, part}}, kNowhere);
}

ValueId write_slice(Graph& g, const Graph& from, const Node& node, std::vector<ValueId> inputs, Cut cut, SliceAt at) {
  const int64_t axis = cut.axis;
  const int64_t size = at.size * cut.block;
  Attrs attrs = node.attrs;
  const auto resize = [&](Attr key, int64_t i) {
    Ints shape = attrs.ints(key);
    shape[i] = size;
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
      const ValueId count = g.add(Op::iota, {}, attrs, node.loc);
      const ValueId spread = g.add(Op::broadcast_in_dim, {scaled(g, at.offset, cut.block)},
                                   {{Attr::shape, g.aval(count).shape}, {Attr::axes, Ints{}}}, node.loc);
      return convert_to(g, g.add(Op::add, {count, spread}, {}, node.loc), dtype);
    }
    case Op::random_split: {
      const int64_t batch = from.aval(node.inputs[0]).ndim() - 1;
      if (axis < batch) break;
      resize(Attr::shape, axis - batch);
      const Ints& shape = attrs.ints(Attr::shape);
      const ValueId first = scaled(g, at.offset, cut.block);
      return split_keys(g, node, inputs[0], shape, start_of(g, first, std::ssize(shape), axis - batch));
    }
    case Op::random_bits: {
      const int64_t batch = from.aval(node.inputs[0]).ndim() - 1;
      if (axis < batch) break;  // each key draws as before
      attrs.set(Attr::full_shape, attrs.ints(Attr::shape));
      resize(Attr::shape, axis - batch);
      const auto rank = std::ssize(attrs.ints(Attr::shape));
      inputs.push_back(start_of(g, scaled(g, at.offset, cut.block), rank, axis - batch));
      break;
    }
    case Op::reduce_sum:
    case Op::reduce_prod:
      if (!attrs.has(Attr::full_shape)) attrs.set(Attr::full_shape, from.aval(node.inputs[0]).shape);
      break;
    case Op::dot_general:
      if (axis > 0) set_mark(attrs, Mark::dot_slice);
      break;
    default: {
      if (node.op == Op::scatter_add && !attrs.has(Attr::full_shape)) {
        attrs.set(Attr::full_shape, from.aval(node.inputs[2]).shape);
      }
      const int64_t column = counting_column(from, node, cut);
      if (column >= 0) inputs[1] = counted_from(g, inputs[1], column, scaled(g, at.offset, cut.block));
      break;
    }
  }
  return g.add(node.op, std::move(inputs), std::move(attrs), node.loc);
}

}  // namespace neap::planner
