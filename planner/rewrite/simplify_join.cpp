// These are the rules of concatenate: an array that was split and joined again is that array. The tuple form of gather,
// x[{i, j, k}] with i, j, k columns of one index array, becomes the row form so.
#include <algorithm>

#include "planner/rewrite/builder.h"

namespace neap::planner {

using namespace tracing;

namespace {

// Pieces of a join that goes into another: without a limit a chain of joins would take quadratic time
// (neap-plan-speed's "joins").
constexpr size_t kMostPieces = 64;

// A piece as a unit-stride range of one axis of an array, possibly under another shape.
struct Range {
  ValueId source;
  int64_t axis, start, limit;
  bool reshaped;
};

std::optional<Range> as_range(const Builder& b, ValueId piece) {
  bool reshaped = false;
  if (const Node* node = b.match(piece, Op::reshape)) {
    piece = node->inputs[0];
    reshaped = true;
  }
  const Node* node = b.match(piece, Op::slice);
  if (!node) return std::nullopt;
  const Shape& shape = b.aval(node->inputs[0]).shape;
  const Ints& start = node->attrs.ints(Attr::start);
  const Ints& limit = node->attrs.ints(Attr::limit);
  std::optional<Range> range;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (node->attrs.ints(Attr::stride)[i] != 1) return std::nullopt;
    if (start[i] == 0 && limit[i] == shape[i]) continue;
    if (range) return std::nullopt;
    range = Range{node->inputs[0], static_cast<int64_t>(i), start[i], limit[i], reshaped};
  }
  return range;
}

ValueId range_of(Builder& b, const Range& range, int64_t limit, std::source_location loc) {
  Ints start(b.aval(range.source).shape.size(), 0), end = b.aval(range.source).shape, stride(start.size(), 1);
  start[range.axis] = range.start;
  end[range.axis] = limit;
  return b.add(Op::slice, {range.source}, {{Attr::start, start}, {Attr::limit, end}, {Attr::stride, stride}}, loc);
}

// The array of which all pieces are consecutive ranges, else no_value.
ValueId rejoin(Builder& b, const Term& term, int64_t axis, const Shape& shape) {
  const auto first = as_range(b, term.inputs[0]);
  if (!first) return no_value;
  const bool last_axes = first->axis + 1 == b.aval(first->source).ndim() && axis + 1 == std::ssize(shape);
  if (!last_axes && (first->reshaped || first->axis != axis)) return no_value;
  int64_t limit = first->start;
  for (const ValueId piece : term.inputs) {
    const auto range = as_range(b, piece);
    if (!range || range->source != first->source || range->axis != first->axis || range->start != limit)
      return no_value;
    if (!last_axes && range->reshaped) return no_value;
    if (range->limit - range->start != b.aval(piece).shape[axis]) return no_value;
    limit = range->limit;
  }
  const ValueId joined = range_of(b, *first, limit, term.loc);
  return b.reshape(joined, shape, term.loc);
}

}  // namespace

ValueId simplify_join(Builder& b, const Term& term) {
  if (term.op != Op::concatenate) return no_value;
  const int64_t axis = term.attrs.integer(Attr::axis);
  std::vector<ValueId> pieces;
  Shape shape = b.aval(term.inputs[0]).shape;
  shape[axis] = 0;
  for (const ValueId piece : term.inputs) {  // without empty pieces, and of nested joins their pieces
    shape[axis] += b.aval(piece).shape[axis];
    const Node* inner = b.match(piece, Op::concatenate);
    const bool few = inner && inner->inputs.size() <= kMostPieces;
    if (few && inner->attrs.integer(Attr::axis) == axis) {
      pieces.insert(pieces.end(), inner->inputs.begin(), inner->inputs.end());
    } else if (b.aval(piece).shape[axis] > 0) {
      pieces.push_back(piece);
    }
  }
  if (pieces.size() == 1) return pieces[0];
  if (pieces.empty()) return term.inputs.size() == 1 ? term.inputs[0] : no_value;
  if (pieces != term.inputs) return b.add(Op::concatenate, pieces, term.attrs, term.loc);

  if (const ValueId v = rejoin(b, term, axis, shape); v != no_value) return v;

  const Node* first = b.match(pieces[0], Op::constant);
  const auto value_of = [](const Node& node) { return Attrs{{Attr::value, *node.attrs.find(Attr::value)}}; };
  const auto equals_first = [&](ValueId v) {  // as attributes compare: by bits, 0 is not -0
    const Node* node = b.match(v, Op::constant);
    return node && value_of(*node) == value_of(*first);
  };
  if (first && std::ranges::all_of(pieces, equals_first)) {
    const AttrValue value = *first->attrs.find(Attr::value);
    return b.constant(value, b.aval(pieces[0]).dtype, shape, term.loc);
  }

  // One conversion after the join instead of one for each piece.
  std::vector<ValueId> sources;
  for (const ValueId piece : pieces) {
    const Node* node = b.match(piece, Op::convert);
    if (!node || (!sources.empty() && b.aval(node->inputs[0]).dtype != b.aval(sources[0]).dtype)) return no_value;
    sources.push_back(node->inputs[0]);
  }
  const DType dtype = b.aval(pieces[0]).dtype;
  const ValueId joined = b.add(Op::concatenate, std::move(sources), term.attrs, term.loc);
  return b.add(Op::convert, {joined}, {{Attr::dtype, dtype}}, term.loc);
}

}  // namespace neap::planner
