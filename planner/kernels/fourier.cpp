#include "planner/kernels/fourier.h"

namespace neap::planner {

using namespace tracing;

FourierForm fourier_form(const Graph& graph, const Node& node) {
  FourierForm form;
  form.kind = node.op == Op::rfft_pairs    ? FourierKind::from_reals
              : node.op == Op::irfft_pairs ? FourierKind::to_reals
                                           : FourierKind::pairs;
  const bool to_reals = form.kind == FourierKind::to_reals;
  const Aval& of_times = graph.aval(to_reals ? node.out() : node.inputs[0]);  // as long as the transform
  const int64_t axis = node.attrs.integer(Attr::axis), axes = of_times.ndim() - (form.kind == FourierKind::pairs);
  form.dtype = of_times.dtype;
  form.length = of_times.shape[axis];
  for (int64_t d = 0; d < axes; ++d) {
    if (d != axis) (d < axis ? form.outer : form.inner) *= of_times.shape[d];
  }
  form.reverse = node.attrs.integer(Attr::reverse) != 0;
  return form;
}

}  // namespace neap::planner
