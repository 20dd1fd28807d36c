// This builds the expression of one element of any value of a graph, at symbolic coordinates.
//
// Elements are pulled from the roots: an elementwise op asks its operands for the same coordinates, a layout op for
// others, a gather for coordinates that the kernel computes, and a graph input becomes a load. Nothing between is
// stored. Every load is inside its buffer whatever the data are: a value that a select drops is loaded at clamped
// coordinates.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/lower_index.h"
#include "trace/graph/graph.h"
#include "trace/scalar/scalar.h"

namespace neap::backends {

using Coords = std::vector<IndexExpr>;  // one for each axis, each within its extent

class ElementBuilder {
 public:
  /// Makes a builder for a kernel whose buffer i is input i of the graph.
  ElementBuilder(const tracing::Graph& graph, scalar::Dag& dag) : graph_(graph), dag_(dag), index_(dag) {}

  IndexAlgebra& index() { return index_; }

  /// Returns the element of `v`, which has at least one, at these coordinates.
  scalar::X value(tracing::ValueId v, Coords coords);

  /// Returns the integer at these coordinates as an index expression, if counting and arithmetic of a few ops give it.
  std::optional<IndexExpr> counted(tracing::ValueId v, const Coords& coords);

  /// Says where a row of indices points in an operand.
  struct Located {
    Coords coords;    // of the indexed axes, in their order
    Condition valid;  // all in range; mode fill_or_drop only
  };
  /// Finds where the indices of row `batch` of a gather or scatter point in an operand of shape `shape`. With
  /// `clamped`, the coordinates stay in range where they are not valid.
  Located locate(tracing::ValueId indices, const Coords& batch, const tracing::Ints& axes, const Shape& shape,
                 tracing::IndexMode mode, bool clamped);

 private:
  scalar::X build(tracing::ValueId v, const Coords& coords);
  scalar::X structural(const tracing::Node& node, const Coords& coords);
  /// Returns the coordinates of the element of its operand that an op moves here, if that is all it does.
  std::optional<Coords> moved(const tracing::Node& node, const Coords& coords);
  std::optional<IndexExpr> counted(tracing::ValueId v, Coords coords, int& ops);
  std::optional<IndexExpr> arithmetic(const tracing::Node& node, const Coords& coords, int& ops);
  scalar::X input(int number, const Aval& aval, const Coords& coords);
  scalar::X iota(const tracing::Node& node, const Coords& coords);
  scalar::X pad(const tracing::Node& node, const Coords& coords);
  scalar::X concatenate(const tracing::Node& node, const Coords& coords);
  scalar::X dynamic_slice(const tracing::Node& node, const Coords& coords);
  scalar::X dynamic_update_slice(const tracing::Node& node, const Coords& coords);
  scalar::X gather(const tracing::Node& node, const Coords& coords);
  scalar::X random_bits(const tracing::Node& node, const Coords& coords);
  scalar::X random_split(const tracing::Node& node, const Coords& coords);
  scalar::X random_fold_in(const tracing::Node& node, const Coords& coords);

  /// Returns entry `axis` of a start vector, clamped to [0, limit].
  IndexExpr start(tracing::ValueId vector, int64_t axis, int64_t limit);
  /// Returns block `number` of a generator's words under the key of batch row `batch`: two of threefry, four of philox.
  std::vector<scalar::X> block(tracing::ValueId key, const Coords& batch, const IndexExpr& number);
  std::vector<scalar::X> block(tracing::ValueId key, const Coords& batch, scalar::X high, scalar::X low);
  scalar::X word(std::span<const scalar::X> words, const IndexExpr& which);

  struct Key {
    tracing::ValueId value;
    Coords coords;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  const tracing::Graph& graph_;
  scalar::Dag& dag_;
  IndexAlgebra index_;
  std::unordered_map<Key, scalar::X, KeyHash> known_;
};

/// Makes a constant of any dtype from a node's `value` attribute.
scalar::X constant(scalar::Dag& dag, const tracing::Attrs& attrs, DType type);

}  // namespace neap::backends
