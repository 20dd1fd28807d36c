// Derivatives of collectives. They are those of what all ranks compute together, as one function of what all ranks
// have: a sum over ranks goes back as a sum over ranks. Where a function of one array meets the ranks that all have it,
// at pvary and pinvariant, cotangents are of that one array.
#include "autodiff/transpose_rules.h"

#include "trace/graph/mesh.h"
#include "trace/tracing/rank_tree.h"

namespace neap::autodiff {
namespace {

Array collective(Op op, const Array& x, const Node& node) {
  return tracing::apply(op, {x}, {{Attr::mesh_axis, node.attrs.mesh_axis()}}, node.loc);
}

// Ranks that share the extreme share its derivative, too.
Array extreme(const JvpSite& site) {
  const Array here = equal(site.in[0], site.out);
  const DType dtype = site.out.dtype();
  const Array count = collective(Op::psum, convert(here, wide(dtype)), site.node);
  const Array total =
      collective(Op::psum, select(here, widened(site.tangent[0]), zeros(site.out.shape(), wide(dtype))), site.node);
  return convert(total / count, dtype);
}

}  // namespace

Array jvp_collective(const JvpSite& site) {
  if (site.node.op == Op::pmax || site.node.op == Op::pmin) return extreme(site);
  Arrays operands = site.in;
  operands[0] = site.tangent[0];
  return site.apply(operands);
}

Array transpose_collective(const TransposeSite& site) {
  const Node& node = site.node;
  const Array& ct = site.ct();
  switch (node.op) {
    case Op::psum: return collective(Op::psum, ct, node);
    case Op::pvary: return collective(Op::pinvariant, collective(Op::psum, ct, node), node);
    case Op::all_gather:  // the sum of what each rank has for this one
      return tracing::tree_over_ranks(Op::psum, collective(Op::all_to_all, ct, node));
    case Op::all_to_all: return collective(Op::all_to_all, ct, node);
    case Op::ragged_all_to_all: {  // the same rows back
      tracing::Attrs attrs = node.attrs;
      attrs.set(Attr::length, site.shape(0)[0]);
      attrs.set(Attr::adds, 1);
      return tracing::apply(node.op, {ct, site.in[3], site.in[4], site.in[1], site.in[2]}, std::move(attrs), node.loc);
    }
    case Op::ppermute: {
      const Ints& sources = node.attrs.ints(Attr::permutation);
      Ints back(sources.size(), -1);
      for (size_t r = 0; r < sources.size(); ++r)
        if (sources[r] >= 0) back[static_cast<size_t>(sources[r])] = static_cast<int64_t>(r);
      tracing::Attrs attrs = node.attrs;
      attrs.set(Attr::permutation, std::move(back));
      return tracing::apply(Op::ppermute, {ct}, std::move(attrs), node.loc);
    }
    case Op::pinvariant: {  // all ranks have it: the first one passes it on
      const Array rank = tracing::apply(Op::axis_index, {}, {{Attr::mesh_axis, node.attrs.mesh_axis()}}, node.loc);
      return where(rank == 0, collective(Op::pvary, ct, node), zeros_like(ct));
    }
    default: not_linear(node);
  }
}

}  // namespace neap::autodiff
