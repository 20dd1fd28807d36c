// Elements whose place or value is computed: gather's indices and random numbers.
#include <limits>

#include "backends/lower_expr.h"
#include "core/check.h"

namespace neap::backends {

using scalar::Opcode;
using scalar::X;
using tracing::Attr;
using tracing::IndexMode;
using tracing::Node;

namespace {

// What a read out of range gives in mode fill_or_drop.
X fill_value(scalar::Dag& dag, DType type) {
  if (is_float(type)) return dag.constant(std::numeric_limits<double>::quiet_NaN(), type);
  if (is_signed(type)) return dag.integer(std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(type)), type);
  return dag.integer(type == bool_ ? 1 : -1, type);
}

// Whether an integer of this type can be `extent` or more.
bool may_reach(DType type, int64_t extent) {
  const auto digits = static_cast<int>(8 * size_of(type)) - (is_signed(type) ? 1 : 0);
  return digits >= 63 || (int64_t{1} << digits) > extent;
}

}  // namespace

ElementBuilder::Located ElementBuilder::locate(tracing::ValueId indices, const Coords& batch, const tracing::Ints& axes,
                                               const Shape& shape, IndexMode mode, bool clamped) {
  Located out{{}, Condition::of(true)};
  for (size_t column = 0; column < axes.size(); ++column) {
    const int64_t extent = shape[axes[column]];
    Coords at = batch;
    at.push_back(IndexAlgebra::constant(static_cast<int64_t>(column)));
    X x = value(indices, std::move(at));
    const DType stored = x.type();
    const bool counts_back = is_signed(stored);
    const bool fits = size_of(stored) < 8 && extent <= std::numeric_limits<int32_t>::max();
    const DType type = counts_back ? (fits ? i32 : i64) : (fits ? u32 : u64);
    x = dag_.convert(x, type);
    const X zero = dag_.integer(0, type);
    if (counts_back) {
      x = dag_.select(dag_.binary(Opcode::lt, x, zero), dag_.binary(Opcode::add, x, dag_.integer(extent, type)), x);
    }
    if (mode == IndexMode::clip) {
      const X last = dag_.integer(extent - 1, type);
      if (counts_back) x = dag_.select(dag_.binary(Opcode::lt, x, zero), zero, x);
      if (may_reach(stored, extent)) x = dag_.select(dag_.binary(Opcode::lt, last, x), last, x);
    } else if (mode == IndexMode::fill_or_drop && (counts_back || may_reach(stored, extent))) {
      const DType unsigned_type = fits ? u32 : u64;  // below zero is far above
      const X valid = dag_.binary(Opcode::lt, dag_.convert(x, unsigned_type), dag_.integer(extent, unsigned_type));
      const bool known = dag_.is_constant(valid);
      out.valid = index_.both(
          out.valid, known ? Condition::of(dag_.constant_integer(valid) != 0) : Condition{std::nullopt, valid});
      if (clamped) x = dag_.select(valid, x, zero);
    }
    // An axis of one element has one coordinate, and none that is out of range is ever used.
    out.coords.push_back(extent <= 1 ? IndexExpr{} : index_.opaque(x, {0, extent - 1}));
  }
  return out;
}

X ElementBuilder::gather(const Node& node, const Coords& coords) {
  const Aval& operand = graph_.aval(node.inputs[0]);
  const Aval& indices = graph_.aval(node.inputs[1]);
  const tracing::Ints& axes = node.attrs.ints(Attr::axes);
  if (operand.size() == 0) return fill_value(dag_, operand.dtype);
  const auto batch_end = coords.begin() + (indices.ndim() - 1);
  Located located = locate(node.inputs[1], Coords(coords.begin(), batch_end), axes, operand.shape,
                           static_cast<IndexMode>(node.attrs.integer(Attr::mode)), /*clamped=*/true);
  if (located.valid.never()) return fill_value(dag_, operand.dtype);
  Coords from;
  auto window = batch_end;
  size_t column = 0;
  for (int64_t d = 0; d < operand.ndim(); ++d) {
    const bool indexed = column < axes.size() && axes[column] == d;
    from.push_back(indexed ? located.coords[column++] : *window++);
  }
  X x = value(node.inputs[0], std::move(from));
  return located.valid.always() ? x : index_.select(located.valid, x, fill_value(dag_, operand.dtype));
}

std::pair<X, X> ElementBuilder::words(tracing::ValueId key, const Coords& batch, const IndexExpr& flat) {
  X key_words[2];
  for (int i = 0; i < 2; ++i) {
    Coords at = batch;
    at.push_back(IndexAlgebra::constant(i));
    key_words[i] = value(key, std::move(at));
  }
  X high = dag_.integer(0, u32), low;
  if (index_.range(flat).within(0, std::numeric_limits<uint32_t>::max())) {
    low = index_.emit(flat, u32);
  } else {
    const X wide = index_.emit(flat, i64);
    low = dag_.convert(wide, u32);
    high = dag_.convert(dag_.binary(Opcode::shr, wide, dag_.integer(32, i64)), u32);
  }
  return scalar::threefry2x32(key_words[0], key_words[1], high, low);
}

X ElementBuilder::word(const std::pair<X, X>& words, const IndexExpr& which) {
  return index_.select(index_.equals(which, 0), words.first, words.second);
}

X ElementBuilder::random_bits(const Node& node, const Coords& coords) {
  const int64_t batch_rank = graph_.aval(node.inputs[0]).ndim() - 1;
  const Coords batch(coords.begin(), coords.begin() + batch_rank);
  Coords position(coords.begin() + batch_rank, coords.end());
  const tracing::Ints& shape = node.attrs.ints(Attr::shape);
  const bool moved = node.inputs.size() > 1;
  const tracing::Ints& full = moved ? node.attrs.ints(Attr::full_shape) : shape;
  // An offset past the end counts on as the formula says; only the range of the result is assumed.
  IndexExpr flat = index_.flatten(position, full);
  if (moved) {
    flat = {};
    int64_t stride = 1;
    for (size_t d = full.size(); d-- > 0; stride *= full[d]) {
      IndexExpr at = position[d];
      if (full[d] > shape[d]) {
        const X offset = value(node.inputs[1], {IndexAlgebra::constant(static_cast<int64_t>(d))});
        at = index_.add(at, index_.opaque(offset, {0, full[d] - shape[d]}));
      }
      flat = index_.add(flat, index_.scale(at, stride));
    }
  }
  const auto [first, second] = words(node.inputs[0], batch, flat);
  const DType type = node.attrs.dtype(Attr::dtype);
  if (type == u64) {
    const X high = dag_.binary(Opcode::shl, dag_.convert(first, u64), dag_.integer(32, u64));
    return dag_.binary(Opcode::bit_or, high, dag_.convert(second, u64));
  }
  return dag_.convert(dag_.binary(Opcode::bit_xor, first, second), type);
}

X ElementBuilder::random_split(const Node& node, const Coords& coords) {
  const int64_t batch_rank = graph_.aval(node.inputs[0]).ndim() - 1;
  const Coords batch(coords.begin(), coords.begin() + batch_rank);
  const Coords position(coords.begin() + batch_rank, coords.end() - 1);
  const IndexExpr flat = index_.flatten(position, node.attrs.ints(Attr::shape));
  return word(words(node.inputs[0], batch, flat), coords.back());
}

X ElementBuilder::random_fold_in(const Node& node, const Coords& coords) {
  const Coords batch(coords.begin(), coords.end() - 1);
  X key_words[2];
  for (int i = 0; i < 2; ++i) {
    Coords at = batch;
    at.push_back(IndexAlgebra::constant(i));
    key_words[i] = value(node.inputs[0], std::move(at));
  }
  const X data = value(node.inputs[1], batch);
  return word(scalar::threefry2x32(key_words[0], key_words[1], dag_.integer(0, u32), data), coords.back());
}

}  // namespace neap::backends
