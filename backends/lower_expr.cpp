#include "backends/lower_expr.h"

#include <limits>

#include "core/check.h"
#include "trace/graph/op_table.h"

namespace neap::backends {

using scalar::Opcode;
using scalar::X;
using tracing::Attr;
using tracing::Node;
using tracing::Op;

size_t ElementBuilder::KeyHash::operator()(const Key& key) const {
  size_t h = static_cast<size_t>(key.value);
  for (const IndexExpr& c : key.coords) h = h * 0x9e3779b97f4a7c15ull + (h >> 31) + c.hash();
  return h;
}

X constant(scalar::Dag& dag, const tracing::Attrs& attrs, DType type) {
  const tracing::AttrValue* value = attrs.find(Attr::value);
  NEAP_CHECK(value, "constant without a value");
  if (const auto* integer = std::get_if<int64_t>(value)) return dag.convert(dag.integer(*integer, i64), type);
  return dag.constant(attrs.real(Attr::value), type);
}

X ElementBuilder::value(tracing::ValueId v, Coords coords) {
  const Shape& shape = graph_.aval(v).shape;
  NEAP_DCHECK(coords.size() == shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) coords[d] = {};
    NEAP_DCHECK(index_.range(coords[d]).within(0, shape[d] - 1), "axis {} of value {}: [{}, {}]", d, v,
                index_.range(coords[d]).lo, index_.range(coords[d]).hi);
  }
  Key key{v, std::move(coords)};
  if (auto it = known_.find(key); it != known_.end()) return it->second;
  X x = build(v, key.coords);
  known_.emplace(std::move(key), x);
  return x;
}

X ElementBuilder::build(tracing::ValueId v, const Coords& coords) {
  const tracing::Value& value = graph_.values[v];
  if (value.def == tracing::no_node) return input(value.index, value.aval, coords);
  const Node& node = graph_.nodes[value.def];
  const auto family = tracing::op_info(node.op).family;
  if (family != tracing::Family::elementwise && family != tracing::Family::convert) return structural(node, coords);
  X operands[3];
  NEAP_CHECK(node.inputs.size() <= 3);
  for (size_t i = 0; i < node.inputs.size(); ++i) operands[i] = this->value(node.inputs[i], coords);
  return scalar::apply_op(node.op, {operands, node.inputs.size()}, value.aval.dtype);
}

X ElementBuilder::structural(const Node& node, const Coords& coords) {
  switch (node.op) {
    case Op::constant: return backends::constant(dag_, node.attrs, graph_.aval(node.out()).dtype);
    case Op::iota: return iota(node, coords);
    case Op::broadcast_in_dim:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::reverse: return value(node.inputs[0], *moved(node, coords));
    case Op::pad: return pad(node, coords);
    case Op::concatenate: return concatenate(node, coords);
    case Op::dynamic_slice: return dynamic_slice(node, coords);
    case Op::dynamic_update_slice: return dynamic_update_slice(node, coords);
    case Op::gather: return gather(node, coords);
    case Op::random_bits: return random_bits(node, coords);
    case Op::random_split: return random_split(node, coords);
    case Op::random_fold_in: return random_fold_in(node, coords);
    default: break;
  }
  NEAP_CHECK(false, "{} inside a fused group", tracing::name(node.op));
  __builtin_unreachable();
}

std::optional<Coords> ElementBuilder::moved(const Node& node, const Coords& coords) {
  switch (node.op) {
    case Op::broadcast_in_dim: {
      Coords from;
      for (int64_t axis : node.attrs.ints(Attr::axes)) from.push_back(coords[axis]);
      return from;
    }
    case Op::reshape: {
      const IndexExpr flat = index_.flatten(coords, graph_.aval(node.out()).shape);
      return index_.unflatten(flat, graph_.aval(node.inputs[0]).shape);
    }
    case Op::transpose: {
      const tracing::Ints& permutation = node.attrs.ints(Attr::permutation);
      Coords from(coords.size());
      for (size_t d = 0; d < coords.size(); ++d) from[permutation[d]] = coords[d];
      return from;
    }
    case Op::slice: {
      const tracing::Ints& start = node.attrs.ints(Attr::start);
      const tracing::Ints& stride = node.attrs.ints(Attr::stride);
      Coords from(coords.size());
      for (size_t d = 0; d < coords.size(); ++d) from[d] = index_.add(index_.scale(coords[d], stride[d]), start[d]);
      return from;
    }
    case Op::reverse: {
      const Shape& shape = graph_.aval(node.inputs[0]).shape;
      Coords from = coords;
      for (int64_t axis : node.attrs.ints(Attr::axes)) {
        from[axis] = index_.add(index_.scale(coords[axis], -1), shape[axis] - 1);
      }
      return from;
    }
    default: return std::nullopt;
  }
}

X ElementBuilder::input(int number, const Aval& aval, const Coords& coords) {
  return dag_.load(number, aval.dtype, index_.emit(index_.flatten(coords, aval.shape)));
}

X ElementBuilder::iota(const Node& node, const Coords& coords) {
  const X position = index_.emit(coords[node.attrs.integer(Attr::axis)]);
  const DType type = graph_.aval(node.out()).dtype;
  return scalar::apply_op(Op::convert, {&position, 1}, type);
}

X ElementBuilder::pad(const Node& node, const Coords& coords) {
  const tracing::Ints& low = node.attrs.ints(Attr::low);
  const tracing::Ints& interior = node.attrs.ints(Attr::interior);
  const Shape& shape = graph_.aval(node.inputs[0]).shape;
  Condition inside = Condition::of(true);
  Coords from(coords.size());
  for (size_t d = 0; d < coords.size() && !inside.never(); ++d) {
    const int64_t step = interior[d] + 1;
    const int64_t top = (shape[d] - 1) * step;
    const IndexExpr position = index_.add(coords[d], -low[d]);
    inside = index_.both(inside, index_.in_range(position, 0, top));
    if (inside.never()) break;
    const IndexExpr clamped = index_.clamp(position, 0, top);
    inside = index_.both(inside, index_.equals(index_.mod(clamped, step), 0));
    from[d] = index_.div(clamped, step);
  }
  if (inside.never()) return value(node.inputs[1], {});
  X x = value(node.inputs[0], std::move(from));
  return inside.always() ? x : index_.select(inside, x, value(node.inputs[1], {}));
}

// A chain of selects over the pieces that the coordinate may fall in: often just one.
X ElementBuilder::concatenate(const Node& node, const Coords& coords) {
  const int64_t axis = node.attrs.integer(Attr::axis);
  const IndexExpr& along = coords[axis];
  const Range range = index_.range(along);
  struct Piece {
    tracing::ValueId value;
    int64_t begin, extent;
  };
  std::vector<Piece> pieces;
  int64_t begin = 0;
  for (tracing::ValueId v : node.inputs) {
    const int64_t extent = graph_.aval(v).shape[axis];
    if (range.lo < begin + extent && begin <= range.hi && extent > 0) pieces.push_back({v, begin, extent});
    begin += extent;
  }
  NEAP_CHECK(!pieces.empty());
  std::optional<X> out;
  for (size_t i = pieces.size(); i-- > 0;) {
    const Piece& piece = pieces[i];
    Coords from = coords;
    from[axis] = index_.clamp(index_.add(along, -piece.begin), 0, piece.extent - 1);
    X x = value(piece.value, std::move(from));
    out = out ? index_.select(index_.less(along, piece.begin + piece.extent), x, *out) : x;
  }
  return *out;
}

IndexExpr ElementBuilder::start(tracing::ValueId vector, int64_t axis, int64_t limit) {
  if (limit == 0) return {};
  const X position = value(vector, {IndexAlgebra::constant(axis)});
  if (dag_[position.id].op == scalar::Opcode::constant) {  // of i64, as infer says
    return IndexAlgebra::constant(std::clamp(static_cast<int64_t>(dag_[position.id].imm), int64_t{0}, limit));
  }
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return index_.clamp(index_.opaque(position, {-kMax - 1, kMax}), 0, limit);
}

X ElementBuilder::dynamic_slice(const Node& node, const Coords& coords) {
  const Shape& shape = graph_.aval(node.inputs[0]).shape;
  const Shape& window = graph_.aval(node.out()).shape;
  Coords from(coords.size());
  for (size_t d = 0; d < coords.size(); ++d) {
    from[d] = index_.add(coords[d], start(node.inputs[1], static_cast<int64_t>(d), shape[d] - window[d]));
  }
  return value(node.inputs[0], std::move(from));
}

X ElementBuilder::dynamic_update_slice(const Node& node, const Coords& coords) {
  const Shape& shape = graph_.aval(node.out()).shape;
  const Shape& window = graph_.aval(node.inputs[1]).shape;
  if (element_count(window) == 0) return value(node.inputs[0], coords);
  Condition inside = Condition::of(true);
  Coords from(coords.size());
  for (size_t d = 0; d < coords.size(); ++d) {
    const IndexExpr first = start(node.inputs[2], static_cast<int64_t>(d), shape[d] - window[d]);
    const IndexExpr position = index_.sub(coords[d], first);
    inside = index_.both(inside, index_.in_range(position, 0, window[d] - 1));
    from[d] = index_.clamp(position, 0, window[d] - 1);
  }
  if (inside.never()) return value(node.inputs[0], coords);
  X x = value(node.inputs[1], std::move(from));
  return inside.always() ? x : index_.select(inside, x, value(node.inputs[0], coords));
}

}  // namespace neap::backends
