// The cotangents of a convolution's operands are convolutions, as those of a product are products.
#include <vector>

#include "autodiff/transpose_rules.h"
#include "trace/graph/convolution.h"

namespace neap::autodiff {
namespace {

using tracing::ConvolutionView;
using tracing::Window;

std::vector<Window> windows_of(const TransposeSite& site) {
  const ConvolutionView view{site.node.attrs};
  std::vector<Window> windows;
  for (size_t i = 0; i < view.space(); ++i) windows.push_back(view.window(i, site.shape(1)[view.rhs()[3 + i]]));
  return windows;
}

Array convolved(const TransposeSite& site, const Array& x, const Array& w, const tracing::Attrs& attrs) {
  return tracing::apply(Op::convolution, {x, w}, attrs, site.node.loc);
}

// Each element has a share in the windows that it is in: the window turns round, and steps change places with the
// zeros between elements.
Array to_operand(const TransposeSite& site) {
  const ConvolutionView view{site.node.attrs};
  const Ints &lhs = view.lhs(), &rhs = view.rhs(), &out = view.out();
  std::vector<Window> windows = windows_of(site);
  Ints turned;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window w = windows[i];
    const int64_t extent = site.shape(0)[lhs[3 + i]], count = site.ct().shape()[out[3 + i]];
    Window& back = windows[i];
    back.stride = w.interior + 1;
    back.interior = w.stride - 1;
    back.low = w.reach().value() - 1 - w.low;
    back.high = w.dilated(extent).value() - back.dilated(count).value() + w.low;
    turned.push_back(rhs[3 + i]);
  }
  Ints roles = rhs;
  std::swap(roles[1], roles[2]);
  const Array& w = site.in[1];
  return convolved(site, site.ct(), turned.empty() ? w : reverse(w, turned),
                   tracing::convolution_attrs(out, roles, lhs, windows));
}

// What each element of the window was multiplied by is as far apart as its elements are, and added up in windows as
// large as the result.
Array to_window(const TransposeSite& site) {
  const ConvolutionView view{site.node.attrs};
  Ints lhs = view.lhs(), rhs = view.out(), out = view.rhs();
  std::swap(lhs[1], lhs[2]);  // features of the operand are the new batch, and examples are added up
  std::swap(rhs[1], rhs[2]);
  std::swap(out[1], out[2]);
  std::vector<Window> windows = windows_of(site);
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window w = windows[i];
    Window& back = windows[i];
    back.size = site.ct().shape()[view.out()[3 + i]];
    back.stride = w.dilation;
    back.dilation = w.stride;
    const int64_t needed = (Size(w.size - 1) * w.dilation + back.reach()).value();
    back.high = needed - w.dilated(site.shape(0)[view.lhs()[3 + i]]).value() - w.low;
  }
  return convolved(site, site.in[0], site.ct(), tracing::convolution_attrs(lhs, rhs, out, windows));
}

}  // namespace

Arrays transpose_convolution(const TransposeSite& site) {
  if (site.linear[0] && site.linear[1]) not_linear(site.node);
  const size_t operand = site.linear[0] ? 0 : 1;
  Arrays result(2);
  const bool nothing = element_count(site.ct().shape()) == 0 || element_count(site.shape(operand)) == 0;
  result[operand] = nothing ? site.zeros_of(operand) : operand == 0 ? to_operand(site) : to_window(site);
  return result;
}

}  // namespace neap::autodiff
