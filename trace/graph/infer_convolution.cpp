#include <algorithm>

#include "trace/graph/convolution.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {

int64_t Window::count(int64_t extent) const {
  const int64_t all = padded(extent).value();
  const Size one = reach();
  return !one.fits() || all < one.value() ? 0 : (all - one.value()) / stride + 1;
}

Attrs convolution_attrs(Ints lhs, Ints rhs, Ints out, std::span<const Window> windows) {
  const auto list = [&](int64_t Window::* member) {
    Ints all;
    for (const Window& w : windows) all.push_back(w.*member);
    return all;
  };
  return {{Attr::lhs_axes, std::move(lhs)},          {Attr::rhs_axes, std::move(rhs)},
          {Attr::out_axes, std::move(out)},          {Attr::stride, list(&Window::stride)},
          {Attr::dilation, list(&Window::dilation)}, {Attr::low, list(&Window::low)},
          {Attr::high, list(&Window::high)},         {Attr::interior, list(&Window::interior)}};
}

// Users meet conv_general's checks (trace/library/convolution.cpp); what gets here without them is a fault of ours.
Aval infer_convolution(const Site& site) {
  if (site.in.size() != 2 && site.in.size() != 3) throw InternalError("convolution: two or three operands");
  const ConvolutionView view{site.attrs};
  const int64_t rank = site.in[0].ndim();
  for (const Attr attr : {Attr::lhs_axes, Attr::rhs_axes, Attr::out_axes}) {
    const Ints& axes = site.attrs.ints(attr);
    if (std::ssize(axes) != rank || rank < 3) throw InternalError("convolution: not one role for each axis");
    site.check_axes(axes, rank, /*ascending=*/false);
  }
  for (const Attr attr : {Attr::stride, Attr::dilation, Attr::low, Attr::high, Attr::interior}) {
    site.check_length(site.attrs.ints(attr), rank - 3, attr);
    const int64_t least = attr == Attr::stride || attr == Attr::dilation ? 1 : 0;
    const bool is_padding = attr == Attr::low || attr == Attr::high;
    if (!is_padding && std::ranges::any_of(site.attrs.ints(attr), [&](int64_t n) { return n < least; }))
      throw InternalError("convolution: a step of 0");
  }
  const Shape &x = site.in[0].shape, &w = site.in[1].shape;
  if (site.in[1].ndim() != rank || x[view.lhs()[0]] != w[view.rhs()[0]] || x[view.lhs()[2]] != w[view.rhs()[2]])
    throw InternalError("convolution: groups or features that are not equally many");
  site.check_same_dtype();
  Shape shape(static_cast<size_t>(rank));
  shape[view.out()[0]] = x[view.lhs()[0]];
  shape[view.out()[1]] = x[view.lhs()[1]];
  shape[view.out()[2]] = w[view.rhs()[1]];
  for (size_t i = 0; i < view.space(); ++i) {
    const int64_t size = w[view.rhs()[3 + i]];
    if (size < 1) throw InternalError("convolution: an empty window");
    shape[view.out()[3 + i]] = view.window(i, size).count(x[view.lhs()[3 + i]]);
  }
  if (site.in.size() == 3 && site.in[2].shape != shape) throw InternalError("convolution: another shape to add to");
  return {site.check_shape(shape), site.in[0].dtype};
}

}  // namespace neap::tracing
