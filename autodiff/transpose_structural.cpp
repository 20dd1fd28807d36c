// Transposition of the ops that are computed and moved element by element, and of products.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "autodiff/transpose_rules.h"

namespace neap::autodiff {
namespace {

Array transpose_broadcast(const TransposeSite& site) {
  const Shape& from = site.shape(0);
  const Shape& to = site.ct().shape();
  const Ints& axes = site.node.attrs.ints(Attr::axes);
  Ints summed;
  for (int64_t axis = 0; axis < static_cast<int64_t>(to.size()); ++axis) {
    const auto source = std::ranges::find(axes, axis);
    if (source == axes.end() || from[source - axes.begin()] != to[axis]) summed.push_back(axis);
  }
  const Array total = summed.empty() ? site.ct() : sum(site.ct(), summed);
  return reshape(total, from);
}

Array transpose_slice(const TransposeSite& site) {
  const Shape& whole = site.shape(0);
  const Ints& start = site.node.attrs.ints(Attr::start);
  const Ints& stride = site.node.attrs.ints(Attr::stride);
  Ints high, interior;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t n = site.ct().shape()[i];
    if (n == 0) return {};
    high.push_back(whole[i] - (start[i] + (n - 1) * stride[i] + 1));
    interior.push_back(stride[i] - 1);
  }
  return pad(site.ct(), start, high, 0, interior);
}

Arrays transpose_pad(const TransposeSite& site) {
  const Shape& shape = site.shape(0);
  const Ints& low = site.node.attrs.ints(Attr::low);
  const Ints& high = site.node.attrs.ints(Attr::high);
  const Ints& interior = site.node.attrs.ints(Attr::interior);
  Arrays result(2);
  if (site.linear[0] && element_count(shape) > 0) {
    Ints back_low, back_high, stride;
    for (size_t i = 0; i < shape.size(); ++i) {
      back_low.push_back(-low[i]);
      back_high.push_back(-high[i]);
      stride.push_back(interior[i] + 1);
    }
    const Array cut = pad(site.ct(), back_low, back_high, 0);
    result[0] = strided_slice(cut, Shape(shape.size(), 0), cut.shape(), stride);
  }
  if (site.linear[1]) {
    const Array padding = pad(zeros(shape, DType::bool_), low, high, full({}, true, DType::bool_), interior);
    result[1] = sum(select(padding, site.ct(), zeros_like(site.ct())));
  }
  return result;
}

Arrays transpose_concatenate(const TransposeSite& site) {
  const int64_t axis = site.node.attrs.integer(Attr::axis);
  Arrays result(site.in.size());
  int64_t begin = 0;
  for (size_t i = 0; i < site.in.size(); ++i) {
    const int64_t end = begin + site.shape(i)[axis];
    if (site.linear[i]) result[i] = slice_in_dim(site.ct(), begin, end, axis);
    begin = end;
  }
  return result;
}

// Returns the cotangent of x in x . y: it contracts what y keeps, batches what was batched, then puts x's axes in
// order.
Array transpose_dot_side(const TransposeSite& site, bool left) {
  const tracing::Attrs& attrs = site.node.attrs;
  const Ints& x_batch = attrs.ints(left ? Attr::lhs_batch : Attr::rhs_batch);
  const Ints& y_batch = attrs.ints(left ? Attr::rhs_batch : Attr::lhs_batch);
  const Ints& x_contract = attrs.ints(left ? Attr::lhs_contract : Attr::rhs_contract);
  const Ints& y_contract = attrs.ints(left ? Attr::rhs_contract : Attr::lhs_contract);
  const Array& y = site.in[left ? 1 : 0];
  const auto kept = [](int64_t ndim, const Ints& batch, const Ints& contract) {
    Ints axes;
    for (int64_t axis = 0; axis < ndim; ++axis)
      if (std::ranges::find(batch, axis) == batch.end() && std::ranges::find(contract, axis) == contract.end())
        axes.push_back(axis);
    return axes;
  };
  const Ints x_kept = kept(static_cast<int64_t>(site.shape(left ? 0 : 1).size()), x_batch, x_contract);
  const Ints y_kept = kept(y.ndim(), y_batch, y_contract);
  Ints ct_batch(x_batch.size()), ct_y(y_kept.size());
  std::iota(ct_batch.begin(), ct_batch.end(), 0);
  std::iota(ct_y.begin(), ct_y.end(), static_cast<int64_t>(x_batch.size() + (left ? x_kept.size() : 0)));
  const Array product = dot_general(site.ct(), y, ct_y, y_kept, ct_batch, y_batch);

  // Its axes: batch, x's kept, then y's contracted ones in ascending order, each of which pairs with one of x's.
  Ints order = x_batch;
  order.insert(order.end(), x_kept.begin(), x_kept.end());
  Ints by_y(y_contract.size());
  std::iota(by_y.begin(), by_y.end(), 0);
  std::ranges::sort(by_y, {}, [&](int64_t i) { return y_contract[i]; });
  for (const int64_t i : by_y) order.push_back(x_contract[i]);
  return transpose(product, tracing::inverse(order));
}

}  // namespace

Arrays transpose_elementwise(const TransposeSite& site) {
  const Array& ct = site.ct();
  const auto& linear = site.linear;
  const auto only_one = [&] {
    if (linear[0] && linear[1]) not_linear(site.node);
  };
  switch (site.node.op) {
    case Op::negative: return {-ct};
    case Op::add: return {ct, ct};
    case Op::subtract: return {ct, linear[1] ? -ct : Array()};
    case Op::multiply: only_one(); return linear[0] ? Arrays{ct * site.in[1], {}} : Arrays{{}, ct * site.in[0]};
    case Op::divide:
      if (linear[1]) not_linear(site.node);
      return {ct / site.in[1], {}};
    case Op::select: {
      if (linear[0]) not_linear(site.node);
      const Array zero = zeros_like(ct);
      return {
          {}, linear[1] ? select(site.in[0], ct, zero) : Array(), linear[2] ? select(site.in[0], zero, ct) : Array()};
    }
    default: break;
  }
  not_linear(site.node);
}

Array transpose_cumsum(const TransposeSite& site) {
  tracing::Attrs attrs = site.node.attrs;
  attrs.set(Attr::reverse, int64_t{attrs.integer(Attr::reverse) == 0});
  return tracing::apply(Op::cumsum, {site.ct()}, std::move(attrs), site.node.loc);
}

Arrays transpose_layout(const TransposeSite& site) {
  const Array& ct = site.ct();
  switch (site.node.op) {
    case Op::broadcast_in_dim: return {transpose_broadcast(site)};
    case Op::reshape: return {reshape(ct, site.shape(0))};
    case Op::transpose: return {transpose(ct, tracing::inverse(site.node.attrs.ints(Attr::permutation)))};
    case Op::slice: return {transpose_slice(site)};
    case Op::pad: return transpose_pad(site);
    case Op::concatenate: return transpose_concatenate(site);
    case Op::reverse: return {reverse(ct, site.node.attrs.ints(Attr::axes))};
    case Op::dynamic_slice: return {tracing::with_window_at(site.zeros_of(0), ct, site.in[1], site.node.loc), {}};
    case Op::dynamic_update_slice:
      return {site.linear[0] ? tracing::with_window_at(ct, site.zeros_of(1), site.in[2], site.node.loc) : Array(),
              site.linear[1] ? tracing::window_at(ct, site.in[2], site.shape(1), site.node.loc) : Array(),
              {}};
    default: break;
  }
  not_linear(site.node);
}

Arrays transpose_dot(const TransposeSite& site) {
  if (site.linear[0] && site.linear[1]) not_linear(site.node);
  Arrays result(2);
  result[site.linear[0] ? 0 : 1] = transpose_dot_side(site, site.linear[0]);
  return result;
}

}  // namespace neap::autodiff
