// Batching of collectives: along another axis they take the batch with them; along the axis that is the batch they are
// operations on it, which compute what ranks would, to the bit.
#include <neap/error.h>
#include <neap/transforms.h>

#include <fmt/format.h>

#include "trace/graph/collective.h"
#include "trace/tracing/rank_tree.h"
#include "trace/vmap/vmap_rules.h"

namespace neap::tracing {
namespace {

// 1, 2, ..., count.
Shape shifted_axes(int64_t count) {
  Shape axes;
  for (int64_t i = 1; i <= count; ++i) axes.push_back(i);
  return axes;
}

// The shape of a mask for rows of so many axes.
Shape like_rows(Shape mask, int64_t axes) {
  mask.insert(mask.end(), static_cast<size_t>(axes), 1);
  return mask;
}

// Row sources[i] of x as row i, zeros where that is negative: runs of rows together.
Array taken(const Array& x, const Ints& sources) {
  std::vector<Array> parts;
  for (size_t i = 0; i < sources.size();) {
    const bool zero = sources[i] < 0;
    size_t end = i + 1;
    while (end < sources.size() && (zero ? sources[end] < 0 : sources[end] == sources[end - 1] + 1)) ++end;
    const auto count = static_cast<int64_t>(end - i);
    Shape shape = x.shape();
    shape[0] = count;
    parts.push_back(zero ? zeros(shape, x.dtype()) : slice_in_dim(x, sources[i], sources[i] + count, 0));
    i = end;
  }
  return parts.size() == 1 ? parts[0] : concatenate(parts, 0);
}

// The tree has a derivative of its own: that of pmax between processes, where ranks that are the largest share it.
Array extreme_over_ranks(const VmapSite& site) {
  const Array x = site.with_batch(0);
  const auto tree = [op = site.node.op](const Arrays& in) { return Arrays{tree_over_ranks(op, in[0])}; };
  if (!is_inexact(x.dtype())) return tree({x})[0];
  const auto rule = [&](const Arrays& in) {
    const Array here = equal(in[0], broadcast_in_dim(tree({in[0]})[0], x.shape(), shifted_axes(x.ndim() - 1)));
    const DType wide = combined_in(Op::psum, x.dtype());
    const Array shares = select(here, convert(in[1], wide), zeros(x.shape(), wide));
    return Arrays{
        convert(tree_over_ranks(Op::psum, shares) / tree_over_ranks(Op::psum, convert(here, wide)), x.dtype())};
  };
  return neap::detail::custom_jvp_of(tree, rule, {x}, site.node.loc)[0];
}

// Rows of all examples x [R, N, ...] as those of each, by the offsets and sizes [R, R] of what each sends to each other
// and gets of it. Rows that nothing comes to are zeros; those that come twice are of one of the ranks, or their sum.
Array ragged_over_ranks(const VmapSite& site) {
  const Array x = site.with_batch(0);
  const int64_t ranks = site.size, rows = x.shape()[1], result = site.node.attrs.integer(Attr::length);
  Shape shape = x.shape();
  shape[1] = result;
  if (rows == 0 || result == 0) return zeros(shape, x.dtype());
  // [R, 1, R]: of a rank that gets rows, what each other sends.
  const auto sent = [&](size_t operand) { return expand_dims(swapaxes(site.with_batch(operand), 0, 1), 1); };
  const auto received = [&](size_t operand) { return expand_dims(site.with_batch(operand), 1); };
  const Array place = iota({ranks, result, ranks}, 1, DType::i64) - received(3);
  const Array row = place + sent(1), sender = iota({ranks, result, ranks}, 2, DType::i64);
  const Array comes = place >= 0 && place < minimum(received(4), sent(2)) && row >= 0 && row < rows;
  const Array all_rows = reshape(x, after(ranks * rows, {shape.begin() + 2, shape.end()}));
  const Array from = min(select(comes, sender * rows + row, full(comes.shape(), ranks * rows, DType::i64)), {2});
  const auto of_rows = [&](const Array& mask) { return reshape(mask, like_rows(mask.shape(), x.ndim() - 2)); };
  const Array one = where(of_rows(from == ranks * rows), zeros({}, x.dtype()), take(all_rows, from, 0));
  if (site.node.attrs.integer_or(Attr::adds, 0) == 0) return one;
  // Rows of one rank stay what they are, -0 too.
  const Array each = take(all_rows, select(comes, sender * rows + row, zeros(comes.shape(), DType::i64)), 0);
  const Array several = sum(where(of_rows(comes), each, zeros({}, x.dtype())), {2});
  return where(of_rows(sum(convert(comes, DType::i32), {2}) > 1), several, one);
}

}  // namespace

Array vmap_collective(const VmapSite& site) {
  const Array& x = site.in[0];
  switch (site.node.op) {
    case Op::all_gather: return moveaxis(site.apply({x}, site.node.attrs), 1, 0);
    case Op::all_to_all:
    case Op::ragged_all_to_all: {
      Arrays operands = site.in;
      operands[0] = moveaxis(x, 0, 1);
      return moveaxis(site.apply(operands, site.node.attrs), 1, 0);
    }
    default: return site.apply({x}, site.node.attrs);
  }
}

void check_way(const VmapSite& site, std::string_view what) {
  if (!site.axis || !has_collectives(site.node, site.axis)) return;
  throw_user<UserError>(name(site.node.op),
                        fmt::format("{} may differ between the ranks along \"{}\", and collectives along it are in it",
                                    what, site.axis->name),
                        "one way for all ranks", "psum(), pmax() or pmin() it, or move the collectives out of it",
                        site.node.loc);
}

BatchedResults vmap_along(const VmapSite& site) {
  const AtLine line(site.node.loc);
  switch (site.node.op) {
    case Op::axis_index: return {{iota({site.size}, 0, DType::i32)}, {true}};
    case Op::psum: return {{tree_over_ranks(Op::psum, site.with_batch(0))}, {false}};
    case Op::pmax:
    case Op::pmin: return {{extreme_over_ranks(site)}, {false}};
    case Op::all_gather: return {{site.with_batch(0)}, {false}};
    case Op::all_to_all: return {{swapaxes(site.with_batch(0), 0, 1)}, {true}};
    case Op::ragged_all_to_all: return {{ragged_over_ranks(site)}, {true}};
    case Op::ppermute: return {{taken(site.with_batch(0), site.node.attrs.ints(Attr::permutation))}, {true}};
    case Op::pvary:
    case Op::pinvariant: return {{site.in[0]}, {site.batched[0]}};
    default: break;
  }
  throw InternalError("vmap: no rule along an axis of a mesh");
}

}  // namespace neap::tracing
