// These elements have a place or value that is computed: gather's indices and random numbers.
#include <algorithm>
#include <array>
#include <limits>

#include "backends/lower_expr.h"
#include "core/check.h"

namespace neap::backends {

using scalar::Opcode;
using scalar::X;
using tracing::Attr;
using tracing::IndexMode;
using tracing::Node;
using tracing::Op;

namespace {

// What a read out of range gives in mode fill_or_drop.
X fill_value(scalar::Dag& dag, DType type) {
  if (is_float(type)) return dag.constant(std::numeric_limits<double>::quiet_NaN(), type);
  if (is_signed(type)) return dag.integer(std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(type)), type);
  return dag.integer(type == bool_ ? 1 : -1, type);
}

// Whether the type holds all of the range.
bool holds(DType type, Range range) {
  if (!is_integer(type)) return false;
  const int bits = static_cast<int>(8 * size_of(type)) - (is_signed(type) ? 1 : 0);
  const int64_t highest = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  return range.within(is_signed(type) ? -highest - 1 : 0, highest);
}

}  // namespace

std::optional<IndexExpr> ElementBuilder::counted(tracing::ValueId v, const Coords& coords) {
  int ops = 32;
  return counted(v, coords, ops);
}

std::optional<IndexExpr> ElementBuilder::counted(tracing::ValueId v, Coords coords, int& ops) {
  const Node* node = graph_.def(v);
  if (!node || ops-- <= 0) return std::nullopt;
  const Shape& shape = graph_.aval(v).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) coords[d] = {};
  }
  if (std::optional<Coords> from = moved(*node, coords)) return counted(node->inputs[0], std::move(*from), ops);
  std::optional<IndexExpr> result = arithmetic(*node, coords, ops);
  if (result && !holds(graph_.aval(v).dtype, index_.range(*result))) return std::nullopt;  // it would wrap
  return result;
}

std::optional<IndexExpr> ElementBuilder::arithmetic(const Node& node, const Coords& coords, int& ops) {
  switch (node.op) {
    case Op::constant: {
      const auto* integer = std::get_if<int64_t>(node.attrs.find(Attr::value));
      return integer ? std::optional(IndexAlgebra::constant(*integer)) : std::nullopt;
    }
    case Op::iota: return coords[node.attrs.integer(Attr::axis)];
    case Op::convert: return counted(node.inputs[0], coords, ops);
    case Op::concatenate: {
      const int64_t axis = node.attrs.integer(Attr::axis);
      if (!coords[axis].is_constant()) return std::nullopt;
      Coords from = coords;
      for (const tracing::ValueId piece : node.inputs) {
        const int64_t extent = graph_.aval(piece).shape[axis];
        if (from[axis].constant < extent) return counted(piece, std::move(from), ops);
        from[axis].constant -= extent;
      }
      return std::nullopt;
    }
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::maximum:
    case Op::minimum: break;
    default: return std::nullopt;
  }
  const std::optional<IndexExpr> a = counted(node.inputs[0], coords, ops);
  const std::optional<IndexExpr> b = a ? counted(node.inputs[1], coords, ops) : std::nullopt;
  constexpr Range kSmall{-(int64_t{1} << 31), int64_t{1} << 31};  // products of two fit
  const auto is_small = [&](const IndexExpr& x) { return index_.range(x).within(kSmall.lo, kSmall.hi); };
  if (!b || !is_small(*a) || !is_small(*b)) return std::nullopt;
  if (node.op == Op::add) return index_.add(*a, *b);
  if (node.op == Op::subtract) return index_.sub(*a, *b);
  if (!a->is_constant() && !b->is_constant()) return std::nullopt;
  const IndexExpr& x = a->is_constant() ? *b : *a;
  const int64_t c = a->is_constant() ? a->constant : b->constant;
  if (node.op == Op::multiply) return index_.scale(x, c);
  const Range range = index_.range(x);
  return node.op == Op::maximum ? index_.clamp(x, c, std::max(range.hi, c)) : index_.clamp(x, std::min(range.lo, c), c);
}

ElementBuilder::Located ElementBuilder::locate(tracing::ValueId indices, const Coords& batch, const tracing::Ints& axes,
                                               const Shape& shape, IndexMode mode, bool clamped) {
  Located out{{}, Condition::of(true)};
  for (size_t column = 0; column < axes.size(); ++column) {
    const int64_t extent = shape[axes[column]];
    Coords at = batch;
    at.push_back(IndexAlgebra::constant(static_cast<int64_t>(column)));
    if (const auto known = counted(indices, at); known && index_.range(*known).within(0, extent - 1)) {
      out.coords.push_back(*known);
      continue;
    }
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
      if (holds(stored, {0, extent})) x = dag_.select(dag_.binary(Opcode::lt, last, x), last, x);
    } else if (mode == IndexMode::fill_or_drop && (counts_back || holds(stored, {0, extent}))) {
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

std::vector<X> ElementBuilder::block(tracing::ValueId key, const Coords& batch, X high, X low) {
  std::vector<X> words;
  for (int64_t i = 0; i < graph_.aval(key).shape.back(); ++i) {
    Coords at = batch;
    at.push_back(IndexAlgebra::constant(i));
    words.push_back(value(key, std::move(at)));
  }
  if (words.size() == 2) {
    const auto [first, second] = scalar::threefry2x32(words[0], words[1], high, low);
    return {first, second};
  }
  const auto made = scalar::philox4x32({words[0], words[1]}, {low, high, words[2], words[3]});
  return {made.begin(), made.end()};
}

std::vector<X> ElementBuilder::block(tracing::ValueId key, const Coords& batch, const IndexExpr& number) {
  if (index_.range(number).within(0, std::numeric_limits<uint32_t>::max())) {
    return block(key, batch, dag_.integer(0, u32), index_.emit(number, u32));
  }
  const X wide = index_.emit(number, i64);
  return block(key, batch, dag_.convert(dag_.binary(Opcode::shr, wide, dag_.integer(32, i64)), u32),
               dag_.convert(wide, u32));
}

X ElementBuilder::word(std::span<const X> words, const IndexExpr& which) {
  X chosen = words.back();
  for (size_t i = words.size() - 1; i-- > 0;) {
    chosen = index_.select(index_.equals(which, static_cast<int64_t>(i)), words[i], chosen);
  }
  return chosen;
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
  const DType type = node.attrs.dtype(Attr::dtype);
  const bool philox = graph_.aval(node.inputs[0]).shape.back() == 4;
  const int64_t elements = !philox ? 1 : type == u64 ? 2 : 4;  // of a block
  const std::vector<X> words = block(node.inputs[0], batch, index_.div(flat, elements));
  const IndexExpr at = index_.mod(flat, elements);
  if (type == u64) {
    const auto part = [&](size_t i) {
      return dag_.convert(philox ? word(std::array{words[i], words[i + 2]}, at) : words[i], u64);
    };
    return dag_.binary(Opcode::bit_or, dag_.binary(Opcode::shl, part(0), dag_.integer(32, u64)), part(1));
  }
  return dag_.convert(philox ? word(words, at) : dag_.binary(Opcode::bit_xor, words[0], words[1]), type);
}

X ElementBuilder::random_split(const Node& node, const Coords& coords) {
  const int64_t batch_rank = graph_.aval(node.inputs[0]).ndim() - 1;
  const Coords batch(coords.begin(), coords.begin() + batch_rank);
  const Coords position(coords.begin() + batch_rank, coords.end() - 1);
  const IndexExpr flat = index_.flatten(position, node.attrs.ints(Attr::shape));
  return word(block(node.inputs[0], batch, flat), coords.back());
}

X ElementBuilder::random_fold_in(const Node& node, const Coords& coords) {
  const Coords batch(coords.begin(), coords.end() - 1);
  const X data = value(node.inputs[1], batch);
  return word(block(node.inputs[0], batch, dag_.integer(0, u32), data), coords.back());
}

}  // namespace neap::backends
