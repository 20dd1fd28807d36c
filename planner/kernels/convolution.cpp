#include "planner/kernels/convolution.h"

#include <utility>

#include "core/check.h"
#include "trace/graph/convolution.h"

namespace neap::planner {

using namespace tracing;

ConvolutionForm convolution_form(const Graph& graph, const Node& node) {
  const ConvolutionView view{node.attrs};
  const Shape &lhs = graph.aval(node.inputs[0]).shape, &rhs = graph.aval(node.inputs[1]).shape,
              &out = graph.aval(node.out()).shape;
  NEAP_CHECK(view.space() <= 3, "{} axes of space", view.space());
  ConvolutionForm form;
  form.dtype = graph.aval(node.out()).dtype;
  form.groups = lhs[view.lhs()[0]];
  form.batch = lhs[view.lhs()[1]];
  form.in = lhs[view.lhs()[2]];
  form.out = rhs[view.rhs()[1]];
  const size_t first = 3 - view.space();
  for (size_t i = 0; i < view.space(); ++i) {
    const Window w = view.window(i, rhs[view.rhs()[3 + i]]);
    NEAP_CHECK(w.interior == 0, "zeros between elements");
    form.space[first + i] = {lhs[view.lhs()[3 + i]], w.size, out[view.out()[3 + i]], w.stride, w.dilation, w.low};
  }
  const Ints of_lhs = row_major_strides(lhs), of_rhs = row_major_strides(rhs), of_out = row_major_strides(out);
  form.lhs = {of_lhs[view.lhs()[0]], of_lhs[view.lhs()[1]], 0, of_lhs[view.lhs()[2]], {}};
  form.rhs = {of_rhs[view.rhs()[0]], 0, of_rhs[view.rhs()[1]], of_rhs[view.rhs()[2]], {}};
  form.result = {of_out[view.out()[0]], of_out[view.out()[1]], of_out[view.out()[2]], 0, {}};
  for (size_t i = 0; i < view.space(); ++i) {
    form.lhs.space[first + i] = of_lhs[view.lhs()[3 + i]];
    form.rhs.space[first + i] = of_rhs[view.rhs()[3 + i]];
    form.result.space[first + i] = of_out[view.out()[3 + i]];
  }
  // Steps that are never made do not count, and axes of one element come first.
  for (ConvolutionForm::Space& s : form.space) {
    if (s.count == 1) s.stride = 1;
    if (s.window == 1) s.dilation = 1;
  }
  const auto is_one = [&](size_t i) { return form.space[i] == ConvolutionForm::Space{}; };
  for (size_t rounds = 0; rounds < 2; ++rounds) {
    for (size_t i = 0; i < 2; ++i) {
      if (is_one(i) || !is_one(i + 1)) continue;
      std::swap(form.space[i], form.space[i + 1]);
      for (ConvolutionForm::Strides* s : {&form.lhs, &form.rhs, &form.result}) std::swap(s->space[i], s->space[i + 1]);
    }
  }
  form.adds = node.inputs.size() == 3;
  if (node.attrs.has(Attr::full_shape)) form.whole_in = node.attrs.ints(Attr::full_shape)[view.lhs()[2]];
  return form;
}

}  // namespace neap::planner
