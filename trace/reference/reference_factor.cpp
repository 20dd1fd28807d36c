#include "trace/graph/factor.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {

HostValue reference_factor(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  std::vector<Aval> avals;
  for (const HostValue& x : in) avals.push_back(x.aval);
  const factor::Form form = factor_form(op, avals, attrs);
  HostValue result = make_value(std::move(out));
  const BufferPtr scratch = allocate(factor::layout(form).bytes(), "reference");
  factor::run(form, in[0].data->data(), in.back().data->data(), result.data->data(), scratch->data());
  return result;
}

}  // namespace neap::tracing
