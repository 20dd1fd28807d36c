// What the jvp rules share. A rule runs inside a trace; a tangent without a value (`Array()`) is zero.
#pragma once

#include <neap/creation.h>
#include <neap/ops.h>

#include <optional>

#include "core/check.h"
#include "trace/graph/op_table.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/tracing.h"

namespace neap::autodiff {

using tracing::Arrays;
using tracing::Attr;
using tracing::Graph;
using tracing::IndexMode;
using tracing::Ints;
using tracing::Node;
using tracing::Op;
using tracing::wide;

inline bool is_zero(const Array& tangent) { return !tangent.impl(); }
inline Array or_zeros(const Array& tangent, const Array& like) { return is_zero(tangent) ? zeros_like(like) : tangent; }
/// Returns the sum of two tangents.
inline Array sum_of(const Array& a, const Array& b) { return is_zero(a) ? b : is_zero(b) ? a : a + b; }

inline Array widened(const Array& x) { return is_zero(x) ? x : convert(x, wide(x.dtype())); }

struct JvpSite {
  const Node& node;
  const Arrays& in;       // operands
  const Array& out;       // the result (not of scan)
  const Arrays& tangent;  // of the operands; at least one is not zero

  Array apply(const Arrays& operands) const { return tracing::apply(node.op, operands, node.attrs, node.loc); }
};

// The following return the tangent of the result.
Array jvp_elementwise(const JvpSite& site);
Array jvp_layout(const JvpSite& site);
Array jvp_reduce(const JvpSite& site);
Array jvp_sort(const JvpSite& site);
Array jvp_cumulative(const JvpSite& site);
Array jvp_bilinear(const JvpSite& site);  // of products and convolutions
Array jvp_gather(const JvpSite& site);
Array jvp_scatter(const JvpSite& site);
Array jvp_collective(const JvpSite& site);

/// ManyJvp holds values and tangents of a node with many results.
struct ManyJvp {
  Arrays out;
  Arrays tangent;
};
/// Runs one loop that carries both.
ManyJvp jvp_loop(const Node& node, const Arrays& in, const Arrays& tangent);
/// Runs one cond that gives both.
ManyJvp jvp_cond(const Node& node, const Arrays& in, const Arrays& tangent);
/// Differentiates a factorization; where it gives the values alone, it computes the vectors as well.
ManyJvp jvp_factor(const Node& node, const Arrays& in, const Arrays& tangent);
/// Uses the derivative that the call has of its own.
ManyJvp jvp_call(const Node& node, const Arrays& in, const Arrays& tangent);

/// Returns true [B] where the index row [B..., k] addresses an element; nullopt when every row does, by its dtype.
/// Negative indices count from the end. `extents` are those of the indexed axes.
std::optional<Array> in_range(const Array& indices, const Shape& extents);
/// Gathers, with 0 where the row is out of range and the mode drops it (any scatter mode).
Array gather_or_zero(const Array& x, const Array& indices, const Ints& axes, IndexMode scatter_mode);
/// Broadcasts a mask or an array over rows [B...] over the trailing axes of `shape`.
Array over_rows(const Array& rows, const Shape& shape);
IndexMode index_mode(const Node& node);
Array gather_axes(const Array& x, const Array& indices, const Ints& axes, IndexMode mode);
Array scatter_axes(Op op, const Array& x, const Array& indices, const Array& updates, const Ints& axes, IndexMode mode);

}  // namespace neap::autodiff
